/* SPDX-License-Identifier: MIT */
/* azure_store's changes: what is sent, and what becomes of the answers. */
#include "tests/unit/client/azure/azure_fixture.h"

#define TABLE  "/devstoreaccount1/tab"
#define ENTITY TABLE "(PartitionKey='p',RowKey='r')"
#define ETAG   "W/\"datetime'1970-01-01T00%3A00%3A01.5Z'\""
#define TEXT   B("{\n  \"n\": 1\n}\n")
#define JSON   "{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"n\":1}"

static const struct write insert = {.position = B("p\0r"), .text = TEXT};

static int write_one(struct fixture *f, const struct write *write, struct write_result *ret)
{
    *ret = (struct write_result){.etag = "untouched"};
    return table_store_write(f->store, "tab", write, 1, &f->call, ret);
}

static const struct {
    struct write write;
    const char *request, *if_match, *prefer;
} kinds[] = {
    {{.kind = WRITE_INSERT, .position = B("p\0r"), .text = TEXT},
     "POST " TABLE "?timeout=19 HTTP/1.1",
     NULL,
     "return-no-content"},
    {{.kind = WRITE_REPLACE, .position = B("p\0r"), .if_match = B("W/\"x%3Ay\""), .text = TEXT},
     "PUT " ENTITY "?timeout=19 HTTP/1.1",
     "W/\"x%3Ay\"",
     NULL},
    {{.kind = WRITE_MERGE, .position = B("p\0r"), .if_match = B("*"), .text = TEXT},
     "PATCH " ENTITY "?timeout=19 HTTP/1.1",
     "*",
     NULL},
    {{.kind = WRITE_UPSERT_REPLACE, .position = B("p\0r"), .text = TEXT},
     "PUT " ENTITY "?timeout=19 HTTP/1.1",
     NULL,
     NULL},
    {{.kind = WRITE_UPSERT_MERGE, .position = B("p\0r"), .text = TEXT},
     "PATCH " ENTITY "?timeout=19 HTTP/1.1",
     NULL,
     NULL},
    {{.kind = WRITE_DELETE, .position = B("p\0r"), .if_match = B("*"), .text = B("")},
     "DELETE " ENTITY "?timeout=19 HTTP/1.1",
     "*",
     NULL},
};

static void every_kind_has_its_request(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.status = "204 No Content", .headers = "etag: " ETAG "\r\n"}};
    _cleanup_(end) struct fixture f;
    struct write_result result;
    begin(&f, answers, 1);
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        bool is_delete = kinds[i].write.kind == WRITE_DELETE;
        assert_int_equal(write_one(&f, &kinds[i].write, &result), 0);
        expect_request(&f, kinds[i].request);
        expect_header(&f, "If-Match", kinds[i].if_match);
        expect_header(&f, "Prefer", kinds[i].prefer);
        expect_header(&f, "Content-Type", is_delete ? NULL : "application/json");
        expect_header(&f, "Accept", "application/json;odata=minimalmetadata");
        expect_header(&f, "x-ms-version", "2020-12-06");
        expect_body(&f, is_delete ? "" : JSON);
        assert_string_equal(result.etag, is_delete ? "" : ETAG);
        assert_int_equal(result.timestamp, is_delete ? 0 : 15000000);
        assert_int_equal(f.call.failure.error, 0);
    }
}

/* As in sharedkey_vectors.json: the method and Content-Type are signed as they are sent. */
static void a_change_is_signed(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.status = "201 Created", .headers = "ETag: \"1\"\r\n", .body = "{}"}};
    struct fixture f;
    begin(&f, answers, 1);
    assert_int_equal(table_store_create_table(f.store, "mytable", &f.call), 0);
    expect_request(&f, "POST /devstoreaccount1/Tables?timeout=19 HTTP/1.1");
    expect_header(&f, "Prefer", "return-no-content");
    expect_header(&f, "Content-Type", "application/json");
    expect_body(&f, "{\"TableName\":\"mytable\"}");
    expect_header(&f, "Authorization",
                  "SharedKey devstoreaccount1:LkVsaolkhkzlFv1YU91Thd7xnCWHKczfA4u9I3Oe/5k=");
    end(&f);
}

static void a_time_that_the_etag_does_not_tell_is_unknown(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.status = "201 Created", .headers = "ETag: \"0x8D\"\r\n", .body = "{\"a\":1}"},
        {.status = "204 No Content"},
        {.status = "204 No Content", .headers = "x-ms-request-id: id-3\r\nETag:\r\n"},
    };
    _cleanup_(end) struct fixture f;
    struct write_result result;
    begin(&f, answers, 3);
    assert_int_equal(write_one(&f, &insert, &result), 0); /* the service ignored Prefer */
    assert_string_equal(result.etag, "\"0x8D\"");
    assert_int_equal(result.timestamp, 0);
    for (int i = 0; i < 2; i++) { /* without an ETag: it was made, in a version that is unknown */
        assert_int_equal(write_one(&f, &insert, &result), -EPROTO);
        assert_true(f.call.failure.is_ambiguous);
        assert_int_equal(f.call.failure.http_status, 204);
    }
    assert_string_equal(f.call.failure.request_id, "id-3");
}

static void a_refusal_is_what_the_service_says(void **state)
{
    (void)state;
    static const struct {
        const char *status, *code;
        int error;
        bool is_ambiguous, is_retryable;
    } cases[] = {
        {"409 Conflict", "EntityAlreadyExists", -EEXIST, false, false},
        {"404 Not Found", "TableNotFound", -ENOENT, false, false},
        {"429 Many", "TooManyRequests", -EBUSY, false, true},
        {"503 Busy", "ServerBusy", -EBUSY, true, true},
        {"200 OK", "", -EIO, true, false}, /* perhaps not the service */
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char headers[100];
        (void)snprintf(headers, sizeof(headers), "x-ms-error-code: %s\r\n", cases[i].code);
        const struct canned answers[] = {{.status = cases[i].status, .headers = headers}};
        _cleanup_(end) struct fixture f;
        struct write_result result;
        begin(&f, answers, 1);
        assert_int_equal(write_one(&f, &insert, &result), cases[i].error);
        assert_string_equal(result.etag, "untouched");
        assert_string_equal(f.call.failure.code, cases[i].code);
        assert_int_equal(f.call.failure.operation, -1);
        assert_int_equal(f.call.failure.is_ambiguous, cases[i].is_ambiguous);
        assert_int_equal(f.call.failure.is_retryable, cases[i].is_retryable);
        assert_int_equal(f.server.requests, 1);
    }
}

static void a_lost_answer_is_ambiguous(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.end = CANNED_RESET}, {.end = CANNED_CLOSE}};
    _cleanup_(end) struct fixture f;
    struct write_result result;
    begin(&f, answers, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(write_one(&f, &insert, &result), -EIO);
        assert_true(f.call.failure.is_ambiguous);
        assert_true(f.call.failure.is_retryable);
        assert_int_equal(f.call.failure.operation, -1);
    }
}

/* libcurl sends again on a new connection when the kept one turns out dead. */
static void a_refusal_of_the_second_sending_is_ambiguous(void **state)
{
    (void)state;
    static const char *const refusals[] = {"409 Conflict", "412 Precondition Failed",
                                           "404 Not Found"};
    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
        const struct canned answers[] = {
            {.status = "204 No Content", .headers = "ETag: \"1\"\r\n"},
            {.end = CANNED_CLOSE},
            {.status = refusals[i], .headers = "x-ms-error-code: EntityAlreadyExists\r\n"},
            {.status = refusals[i], .headers = "x-ms-error-code: EntityAlreadyExists\r\n"},
        };
        _cleanup_(end) struct fixture f;
        struct write_result result;
        begin(&f, answers, ARRAY_SIZE(answers));
        assert_int_equal(write_one(&f, &insert, &result), 0);
        assert_true(write_one(&f, &insert, &result) < 0);
        assert_int_equal(f.server.requests, 3);
        assert_true(f.call.failure.is_ambiguous);
        assert_false(f.call.failure.is_retryable);
        assert_true(write_one(&f, &insert, &result) < 0);
        assert_int_equal(f.server.requests, 4);
        assert_false(f.call.failure.is_ambiguous);
    }
}

static void a_key_that_no_url_holds_can_be_inserted(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.status = "204 No Content", .headers = "ETag: \"1\"\r\n"}};
    struct write write = insert;
    _cleanup_(end) struct fixture f;
    struct write_result result;
    begin(&f, answers, 1);
    write.position = B("p\0\xED\xA0\x80");
    assert_int_equal(write_one(&f, &write, &result), 0);
    expect_body(&f, "{\"PartitionKey\":\"p\",\"RowKey\":\"\\ud800\",\"n\":1}");
    write.kind = WRITE_UPSERT_REPLACE;
    assert_int_equal(write_one(&f, &write, &result), -EINVAL);
    assert_non_null(strstr(f.call.failure.message, "lone surrogate"));
    assert_int_equal(f.call.failure.operation, -1);
    assert_false(f.call.failure.is_ambiguous);
    assert_int_equal(f.server.requests, 1);
}

static void what_cannot_be_sent_is_not_sent(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.status = "204 No Content"}};
    static char text[(4 << 20) + 100];
    _cleanup_(end) struct fixture f;
    struct write_result result;
    struct write write = insert;
    begin(&f, answers, 1);
    write.text = B("{\"n\":1}");
    assert_int_equal(write_one(&f, &write, &result), -EINVAL);
    write.text = fill_text(text, sizeof(text));
    assert_int_equal(write_one(&f, &write, &result), -EFBIG);
    assert_string_equal(f.call.failure.message,
                        "the entity is larger than the 4194304 bytes of a request");
    write = (struct write){
        .kind = WRITE_DELETE, .position = B("p\0r"), .if_match = B("x\r\nEvil: 1"), .text = B("")};
    assert_int_equal(write_one(&f, &write, &result), -EINVAL);
    assert_int_equal(f.server.requests, 0);
}

static void tables_are_created_and_deleted(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.status = "204 No Content"},
        {.status = "409 Conflict", .headers = "x-ms-error-code: TableAlreadyExists\r\n"},
        {.status = "409 Conflict", .headers = "x-ms-error-code: TableBeingDeleted\r\n"},
        {.status = "204 No Content"},
        {.status = "404 Not Found", .headers = "x-ms-error-code: ResourceNotFound\r\n"},
        {.end = CANNED_RESET},
    };
    _cleanup_(end) struct fixture f;
    begin(&f, answers, ARRAY_SIZE(answers));
    assert_int_equal(table_store_create_table(f.store, "tab", &f.call), 0);
    assert_int_equal(table_store_create_table(f.store, "tab", &f.call), -EEXIST);
    assert_int_equal(table_store_create_table(f.store, "tab", &f.call), -EBUSY);
    assert_false(f.call.failure.is_retryable);
    assert_int_equal(table_store_delete_table(f.store, "tab", &f.call), 0);
    expect_request(&f, "DELETE /devstoreaccount1/Tables('tab')?timeout=19 HTTP/1.1");
    expect_header(&f, "Content-Type", NULL);
    expect_header(&f, "If-Match", NULL);
    assert_int_equal(table_store_delete_table(f.store, "tab", &f.call), -ENOENT);
    assert_int_equal(table_store_delete_table(f.store, "tab", &f.call), -EIO);
    assert_true(f.call.failure.is_ambiguous);
    int requests = f.server.requests;
    assert_int_equal(table_store_create_table(f.store, "a\"b", &f.call), -EINVAL);
    assert_int_equal(f.server.requests, requests);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_has_its_request),
        cmocka_unit_test(a_change_is_signed),
        cmocka_unit_test(a_time_that_the_etag_does_not_tell_is_unknown),
        cmocka_unit_test(a_refusal_is_what_the_service_says),
        cmocka_unit_test(a_lost_answer_is_ambiguous),
        cmocka_unit_test(a_refusal_of_the_second_sending_is_ambiguous),
        cmocka_unit_test(a_key_that_no_url_holds_can_be_inserted),
        cmocka_unit_test(what_cannot_be_sent_is_not_sent),
        cmocka_unit_test(tables_are_created_and_deleted),
    };
    return cmocka_run_group_tests(tests, init_libcurl, NULL);
}
