/* SPDX-License-Identifier: MIT */
#include "tests/unit/client/azure/azure_fixture.h"

static void failures_carry_their_reason(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.status = "503 Busy",
         .headers = "X-Ms-Request-Id: id-1\r\nretry-after: 2\r\nx-ms-error-code: ServerBusy\r\n"},
        {.status = "500 Error",
         .headers = "x-ms-retry-after-ms: 70\r\nretry-after: 2\r\n",
         .body = "{\"odata.error\":{\"code\":\"OperationTimedOut\",\"message\":{\"value\":\"Slow\\n"
                 "RequestId:7\"}}}"},
        {.status = "429 Many", .headers = "Retry-After-Ms: 80\r\n"},
        {.status = "403 No",
         .headers = "Date: Thu, 02 Jan 2025 03:04:06 GMT\r\n",
         .body =
             "<m:error><m:code>AuthenticationFailed</m:code><m:message>No.</m:message></m:error>"},
        {.status = "302 Found", .headers = "Location: http://127.0.0.1:1/\r\n"},
        {.status = "204 No Content"},
    };
    static const struct {
        int error, status, retry_after_ms;
        bool is_retryable;
        const char *code, *message, *request_id;
    } expected[] = {
        {-EBUSY, 503, 2000, true, "ServerBusy", "the service answered HTTP 503 without a reason",
         "id-1"},
        {-ETIMEDOUT, 500, 70, true, "OperationTimedOut", "Slow", ""},
        {-EBUSY, 429, 80, true, "", "the service answered HTTP 429 without a reason", ""},
        {-EACCES, 403, 0, false, "AuthenticationFailed", "No.", ""},
        {-EIO, 302, 0, false, "", "the service answered HTTP 302 without a reason", ""},
        {-EIO, 204, 0, false, "", "the service answered HTTP 204 without a reason", ""},
    };
    _cleanup_(end) struct fixture f;
    begin(&f, answers, ARRAY_SIZE(answers));
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        struct answer answer = {0};
        const struct query query = {.table = "tab", .range = RANGE_ALL, .top = 1};
        assert_int_equal(table_store_query(f.store, &query, &f.call, &answer), expected[i].error);
        const struct failure *failure = &f.call.failure;
        assert_int_equal(failure->error, expected[i].error);
        assert_int_equal(failure->http_status, expected[i].status);
        assert_int_equal(failure->retry_after_ms, expected[i].retry_after_ms);
        assert_int_equal(failure->is_retryable, expected[i].is_retryable);
        assert_string_equal(failure->code, expected[i].code);
        assert_string_equal(failure->message, expected[i].message);
        assert_string_equal(failure->request_id, expected[i].request_id);
        if (i == 3)
            assert_non_null(strstr(failure->advice, "key"));
    }
    assert_int_equal(f.server.requests, ARRAY_SIZE(answers)); /* one attempt each */
}

/* With the token of one table: what is advised depends on what was requested. */
static void a_refusal_is_explained_by_its_request(void **state)
{
    (void)state;
    static const struct canned refused = {.status = "403 No",
                                          .headers = "x-ms-error-code: AuthenticationFailed\r\n"};
    static const char other_table[] = "the SAS token is for another table";
    const struct connection_environment environment = {.sas_token = "tn=other&sp=r&sig=SECRET"};
    const struct query query = {.table = "tab", .range = RANGE_ALL, .top = 1};
    _cleanup_(end) struct fixture f;
    struct answer answer = {0};
    struct page *page = NULL;
    struct buffer names;
    begin_as(&f, &refused, 1, &environment);
    assert_int_equal(table_store_query(f.store, &query, &f.call, &answer), -EACCES);
    assert_non_null(strstr(f.call.failure.advice, other_table));
    assert_int_equal(table_store_get(f.store, "tab", B("p\0r"), &f.call, &page), -EACCES);
    assert_non_null(strstr(f.call.failure.advice, other_table));
    assert_int_equal(list_tables(&f, NULL, &names), -EACCES);
    assert_non_null(strstr(f.call.failure.advice, "cannot list"));
}

static void a_success_leaves_no_failure(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.status = "503 Busy"},
                                            {.status = "200 OK", .body = "{\"value\":[]}"}};
    _cleanup_(end) struct fixture f;
    struct buffer names;
    begin(&f, answers, 2);
    assert_int_equal(list_tables(&f, NULL, &names), -EBUSY);
    assert_int_equal(list_tables(&f, NULL, &names), 0);
    assert_int_equal(f.call.failure.error, 0);
    assert_int_equal(f.call.failure.http_status, 0);
}

static void no_failure_shows_the_sas(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.status = "400 Bad", .body = "<m:message>http://x/?" SAS " is bad</m:message>"},
        {.end = CANNED_CLOSE},
        {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", .end = CANNED_CLOSE},
        {.raw = "nonsense\r\n", .end = CANNED_CLOSE},
        {.status = "302 Found", .headers = "Location: http://127.0.0.1/?" SAS "\r\n"},
    };
    const struct connection_environment environment = {.sas_token = SAS};
    _cleanup_(end) struct fixture f;
    begin_as(&f, answers, ARRAY_SIZE(answers), &environment);
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        struct buffer names;
        assert_true(list_tables(&f, NULL, &names) < 0);
        assert_null(strstr(f.call.failure.message, "SECRET"));
        assert_null(strstr(f.call.failure.code, "SECRET"));
    }
}

/* A change may have been made all the same. */
static void expect_no_answer(struct fixture *f, int r, bool is_change)
{
    const struct failure *failure = &f->call.failure;
    assert_int_equal(r, -EPROTO);
    assert_int_equal(failure->http_status, 404);
    assert_string_equal(failure->code, "");
    assert_false(failure->is_retryable);
    assert_int_equal(failure->is_ambiguous, is_change);
    assert_non_null(strstr(failure->advice, "proxy"));
}

/* Whatever was asked: a proxy's page says nothing of the account. */
static void a_proxys_404_answers_nothing(void **state)
{
    (void)state;
    static const struct canned page = {
        .status = "404 Not Found",
        .headers = "Content-Type: text/html\r\n",
        .body = "<!DOCTYPE html><html><body>404 Not Found</body></html>"};
    static const struct canned empty = {.status = "404 Not Found"};
    const struct canned answers[] = {page, empty, page, page, empty, page, page, empty};
    const struct query query = {.table = "tab", .range = RANGE_ALL, .top = 1};
    const struct write deletes[] = {
        {.kind = WRITE_DELETE, .position = B("p\0r"), .if_match = B("*"), .text = B("")},
        {.kind = WRITE_DELETE, .position = B("p\0s"), .if_match = B("*"), .text = B("")}};
    _cleanup_(end) struct fixture f;
    struct answer answer = {0};
    struct page *row = NULL;
    struct buffer names;
    struct write_result results[2];
    begin(&f, answers, ARRAY_SIZE(answers));
    expect_no_answer(&f, table_store_query(f.store, &query, &f.call, &answer), false);
    expect_no_answer(&f, table_store_query(f.store, &query, &f.call, &answer), false);
    expect_no_answer(&f, table_store_get(f.store, "tab", B("p\0r"), &f.call, &row), false);
    expect_no_answer(&f, list_tables(&f, NULL, &names), false);
    buffer_finish(&names);
    expect_no_answer(&f, table_store_write(f.store, "tab", deletes, 1, &f.call, results), true);
    expect_no_answer(&f, table_store_write(f.store, "tab", deletes, 2, &f.call, results), true);
    expect_no_answer(&f, table_store_delete_table(f.store, "tab", &f.call), true);
    expect_no_answer(&f, table_store_create_table(f.store, "tab", &f.call), true);
    assert_int_equal(f.server.requests, ARRAY_SIZE(answers));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures_carry_their_reason),
        cmocka_unit_test(a_refusal_is_explained_by_its_request),
        cmocka_unit_test(a_success_leaves_no_failure),
        cmocka_unit_test(no_failure_shows_the_sas),
        cmocka_unit_test(a_proxys_404_answers_nothing),
    };
    return cmocka_run_group_tests(tests, init_libcurl, NULL);
}
