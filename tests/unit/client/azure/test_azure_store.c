/* SPDX-License-Identifier: MIT */
#include "tests/unit/client/azure/azure_fixture.h"

#define ROW(pk, rk)                                                                                \
    "{\"odata.etag\":\"W/\\\"datetime'2025-01-02T03%3A04%3A05Z'\\\"\",\"PartitionKey\":\"" pk      \
    "\",\"RowKey\":\"" rk "\",\"Timestamp\":\"2025-01-02T03:04:05Z\",\"n\":1}"
#define ROWS(list) "{\"odata.metadata\":\"x\",\"value\":[" list "]}"
#define TEXT(pk, rk)                                                                               \
    "{\n  \"PartitionKey\": \"" pk "\",\n  \"RowKey\": \"" rk "\",\n  \"n\": 1\n}\n"

static const struct canned no_tables = {.status = "200 OK", .body = "{\"value\":[]}"};

static void a_request_is_signed_and_identified(void **state)
{
    (void)state;
    _cleanup_(end) struct fixture f;
    struct buffer names;
    begin(&f, &no_tables, 1);
    assert_int_equal(list_tables(&f, NULL, &names), 0);
    assert_int_equal(names.size, 0);
    expect_request(&f, "GET /devstoreaccount1/Tables?timeout=19 HTTP/1.1");
    expect_header(&f, "Authorization",
                  "SharedKey devstoreaccount1:E+IH9ganAo9oNuUGAA+8vcYsUF3lpYI/m4KjBK55+UU=");
    expect_header(&f, "x-ms-date", "Thu, 02 Jan 2025 03:04:05 GMT");
    expect_header(&f, "Date", NULL);
    expect_header(&f, "x-ms-version", "2020-12-06");
    expect_header(&f, "Accept", "application/json;odata=minimalmetadata");
    expect_header(&f, "DataServiceVersion", "3.0");
    expect_header(&f, "Expect", NULL);
    expect_header(&f, "Accept-Encoding", NULL);
    char *first = loopback_header(&f.server, "x-ms-client-request-id");
    assert_int_equal(list_tables(&f, NULL, &names), 0);
    char *second = loopback_header(&f.server, "x-ms-client-request-id");
    assert_int_equal(strlen(first), 36);
    assert_int_equal(strspn(first, "0123456789abcdef-"), 36);
    assert_true(first[8] == '-' && first[13] == '-' && first[14] == '4' && first[18] == '-');
    assert_string_not_equal(first, second);
    free(first);
    free(second);
}

static void a_sas_goes_into_the_url(void **state)
{
    (void)state;
    const struct connection_environment environment = {.sas_token = "?" SAS};
    _cleanup_(end) struct fixture f;
    struct buffer names;
    begin_as(&f, &no_tables, 1, &environment);
    assert_int_equal(list_tables(&f, "tab", &names), 0);
    expect_request(&f,
                   "GET /devstoreaccount1/Tables?$filter=TableName%20eq%20%27tab%27&timeout=19&" SAS
                   " HTTP/1.1");
    expect_header(&f, "Authorization", NULL);
}

static void the_servers_timeout_is_below_ours(void **state)
{
    (void)state;
    static const struct {
        int64_t remaining_ms;
        const char *request;
    } cases[] = {
        {60000, "GET /devstoreaccount1/Tables?timeout=30 HTTP/1.1"},
        {5900, "GET /devstoreaccount1/Tables?timeout=4 HTTP/1.1"},
        {1500, "GET /devstoreaccount1/Tables?timeout=1 HTTP/1.1"},
    };
    _cleanup_(end) struct fixture f;
    struct buffer names;
    begin(&f, &no_tables, 1);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        f.call.deadline_ms = standing_monotonic_ms(NULL) + cases[i].remaining_ms;
        assert_int_equal(list_tables(&f, NULL, &names), 0);
        expect_request(&f, cases[i].request);
    }
}

static void tables_are_listed_page_by_page(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.status = "200 OK",
         .headers = "X-MS-Continuation-NEXTTABLENAME: b+/=\r\n",
         .body = "{\"value\":[{\"TableName\":\"Aa1\"},{\"TableName\":\"ab1\",\"x\":[{}]}]}"},
        {.status = "200 OK", .body = "{\"value\":[{\"TableName\":\"zz9\"}]}"},
    };
    _cleanup_(end) struct fixture f;
    struct table_names names;
    struct continuation *next = NULL, *none = NULL;
    begin(&f, answers, 2);
    buffer_init(&names.names, 1000);
    assert_int_equal(table_store_list_tables(f.store, NULL, NULL, &f.call, &names, &next), 0);
    assert_non_null(next);
    assert_int_equal(table_store_list_tables(f.store, NULL, next, &f.call, &names, &none), 0);
    assert_null(none);
    expect_request(&f, "GET /devstoreaccount1/Tables?NextTableName=b%2B%2F%3D&timeout=19 HTTP/1.1");
    assert_int_equal(names.names.size, 12);
    assert_memory_equal(names.names.data, "Aa1\0ab1\0zz9\0", 12);
    continuation_destroy(next);
    buffer_finish(&names.names);
}

static void one_table_is_found_in_its_own_spelling(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.status = "200 OK", .body = "{\"value\":[{\"TableName\":\"MyTable\"}]}"}};
    _cleanup_(end) struct fixture f;
    struct buffer names;
    begin(&f, answers, 1);
    assert_int_equal(list_tables(&f, "MyTable", &names), 0);
    assert_string_equal(names.data, "MyTable");
    buffer_finish(&names);
    assert_int_equal(list_tables(&f, "mytable", &names), 0);
    assert_int_equal(names.size, 0);
    buffer_finish(&names);
}

static void what_is_no_list_of_tables_is_an_error(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "",
        "{}",
        "[]",
        "{\"Value\":[]}",
        "{\"value\":{}}",
        "{\"value\":{\"TableName\":\"abc\"}}",
        "{\"value\":[1]}",
        "{\"value\":[{\"tablename\":\"abc\"}]}",
        "{\"value\":[{\"TableName\":7}]}",
        "{\"value\":[{\"TableName\":\"\"}]}",
        "<html></html>",
        "{\"value\":[{\"TableName\":\"abc\"}", /* it breaks off */
    };
    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        const struct canned answers[] = {
            {.status = "200 OK", .headers = "x-ms-request-id: id-1\r\n", .body = bodies[i]}};
        _cleanup_(end) struct fixture f;
        _cleanup_(buffer_finish) struct buffer names;
        begin(&f, answers, 1);
        assert_int_equal(list_tables(&f, NULL, &names), -EPROTO);
        assert_int_equal(names.size, 0);
        assert_int_equal(f.call.failure.error, -EPROTO);
        assert_int_equal(f.call.failure.http_status, 200);
        assert_string_equal(f.call.failure.request_id, "id-1");
        assert_int_equal(f.call.failure.is_retryable, i == ARRAY_SIZE(bodies) - 1);
        assert_ptr_equal(f.call.failure.advice, service_error_advice_endpoint);
    }
}

static void expect_row(const struct page *page, size_t row, struct bytes position, const char *text)
{
    assert_bytes(page_position(page, row), position);
    assert_bytes(page_text(page, row), bytes_of(text));
    assert_bytes(page_etag(page, row), B("W/\"datetime'2025-01-02T03%3A04%3A05Z'\""));
    assert_int_equal(page_timestamp(page, row), 1735787045 * TICKS_PER_SEC);
}

static void rows_are_read_page_by_page(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        /* the empty key's token: there, and empty */
        {.status = "200 OK",
         .headers = "X-MS-CONTINUATION-nextpartitionkey: 1!4!cA--\r\n"
                    "x-ms-continuation-NextRowKey:\r\n",
         .body = ROWS(ROW("", ""))},
        {.status = "200 OK",
         .headers = "x-ms-continuation-NextPartitionKey: a+/=\r\n",
         .body = ROWS("")},
        {.status = "200 OK", .body = ROWS(ROW("p", "a") "," ROW("p", "b"))},
    };
    _cleanup_(end) struct fixture f;
    struct answer answer[3] = {0};
    struct query query = {.table = "tab", .range = RANGE_ALL, .top = 2};
    begin(&f, answers, 3);
    assert_int_equal(table_store_query(f.store, &query, &f.call, &answer[0]), 0);
    expect_request(&f, "GET /devstoreaccount1/tab()?$top=2&timeout=19 HTTP/1.1");
    assert_int_equal(page_rows(answer[0].page), 1);
    expect_row(answer[0].page, 0, B("\0"), TEXT("", ""));
    query.after = answer[0].next;
    assert_int_equal(table_store_query(f.store, &query, &f.call, &answer[1]), 0);
    expect_request(&f,
                   "GET /devstoreaccount1/tab()?$top=2&NextPartitionKey=1%214%21cA--&NextRowKey=&"
                   "timeout=19 HTTP/1.1");
    assert_int_equal(page_rows(answer[1].page), 0);
    query.after = answer[1].next;
    assert_int_equal(table_store_query(f.store, &query, &f.call, &answer[2]), 0);
    expect_request(&f, "GET /devstoreaccount1/tab()?$top=2&NextPartitionKey=a%2B%2F%3D&timeout=19 "
                       "HTTP/1.1");
    assert_int_equal(page_rows(answer[2].page), 2);
    expect_row(answer[2].page, 1, B("p\0b"), TEXT("p", "b"));
    assert_null(answer[2].next);
    for (size_t i = 0; i < ARRAY_SIZE(answer); i++)
        answer_finish(&answer[i]);
}

static void keys_alone_can_be_asked_for(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.status = "200 OK", .body = ROWS(ROW("p", "a"))}};
    _cleanup_(end) struct fixture f;
    _cleanup_(answer_finish) struct answer answer = {0};
    const struct query query = {
        .table = "tab", .range = {B("p\0"), B("p\x01")}, .top = 1000, .keys_only = true};
    begin(&f, answers, 1);
    assert_int_equal(table_store_query(f.store, &query, &f.call, &answer), 0);
    expect_request(&f, "GET /devstoreaccount1/tab()?$filter=PartitionKey%20eq%20%27p%27&"
                       "$select=PartitionKey%2CRowKey%2CTimestamp&$top=1000&timeout=19 HTTP/1.1");
    assert_int_equal(page_text(answer.page, 0).size, 0);
}

static void rows_outside_are_dropped_only_where_more_was_asked_for(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.status = "200 OK", .body = ROWS(ROW("\\ud7ff", "a") "," ROW("\\ud800", "b"))},
        {.status = "200 OK", .body = ROWS(ROW("o", "a") "," ROW("p", "b"))},
    };
    _cleanup_(end) struct fixture f;
    struct answer answer = {0};
    struct query query = {
        .table = "tab", .range = {B("\xED\xA0\x80"), B(POSITION_END)}, .top = 1000};
    begin(&f, answers, 2);
    assert_int_equal(table_store_query(f.store, &query, &f.call, &answer), 0);
    assert_int_equal(page_rows(answer.page), 1);
    assert_bytes(page_position(answer.page, 0), B("\xED\xA0\x80\0b"));
    answer_finish(&answer);
    query.range.lo = B("p");
    assert_int_equal(table_store_query(f.store, &query, &f.call, &answer), -EPROTO);
}

static void one_entity_is_got(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.status = "200 OK",
         .headers = "etag: W/\"datetime'2025-01-02T03%3A04%3A05Z'\"\r\n",
         .body = "{\"odata.metadata\":\"x\",\"PartitionKey\":\"o'c\",\"RowKey\":\"\","
                 "\"Timestamp\":\"2025-01-02T03:04:05Z\",\"n\":1}"}};
    _cleanup_(end) struct fixture f;
    struct page *page = NULL;
    begin(&f, answers, 1);
    assert_int_equal(table_store_get(f.store, "tab", B("o'c\0"), &f.call, &page), 0);
    expect_request(&f, "GET /devstoreaccount1/tab(PartitionKey='o%27%27c',RowKey='')?timeout=19 "
                       "HTTP/1.1");
    expect_row(page, 0, B("o'c\0"), TEXT("o'c", ""));
    page_unref(page);
    page = NULL;
    assert_int_equal(table_store_get(f.store, "tab", B("p\0"), &f.call, &page), -EPROTO);
    assert_null(page);
}

#define LONE "p\0\xED\xA0\x80"
#define NEXT "x-ms-continuation-NextPartitionKey: "

static void a_key_that_no_url_holds_is_searched(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.status = "200 OK", .headers = NEXT "1\r\n", .body = ROWS(ROW("p", "\\ud7ff"))},
        {.status = "200 OK", .headers = NEXT "2\r\n", .body = ROWS("")},
        {.status = "200 OK",
         .headers = NEXT "3\r\n",
         .body = ROWS(ROW("p", "\\ud800") "," ROW("p", "\\ud800a"))},
        {.status = "200 OK", .body = ROWS(ROW("p", "\\ud800a"))},
        {.status = "200 OK", .headers = NEXT "4\r\n", .body = ROWS("")},
    };
    _cleanup_(end) struct fixture f;
    struct page *page = NULL;
    begin(&f, answers, 5);
    assert_int_equal(table_store_get(f.store, "tab", B(LONE), &f.call, &page), 0);
    expect_request(&f, "GET /devstoreaccount1/tab()?$filter=PartitionKey%20eq%20%27p%27%20and%20"
                       "RowKey%20ge%20%27%ED%9F%BF%27%20and%20RowKey%20lt%20%27%F0%90%90%80%27&"
                       "$top=1000&NextPartitionKey=2&timeout=19 HTTP/1.1");
    assert_int_equal(page_rows(page), 1);
    assert_bytes(page_position(page, 0), B(LONE));
    page_unref(page);
    assert_int_equal(f.server.requests, 3);
    assert_int_equal(table_store_get(f.store, "tab", B(LONE), &f.call, &page), -ENOENT);
    assert_int_equal(f.call.failure.error, -ENOENT);
    assert_int_equal(f.server.requests, 4);
    assert_int_equal(table_store_get(f.store, "tab", B(LONE), &f.call, &page), -EPROTO);
    assert_int_equal(f.server.requests, 9);
    assert_true(f.call.failure.is_retryable);
}

/* The rules of the service allow no such key. */
static void a_key_that_no_path_names_is_searched(void **state)
{
    (void)state;
    static const struct {
        struct bytes position;
        const char *filter;
    } cases[] = {
        {B("p\0a/b"),
         "%27p%27%20and%20RowKey%20ge%20%27a%2Fb%27%20and%20RowKey%20le%20%27a%2Fb%27"},
        {B("p\0\t"), "%27p%27%20and%20RowKey%20ge%20%27%09%27%20and%20RowKey%20le%20%27%09%27"},
        {B("/\0r"), "%27%2F%27%20and%20RowKey%20ge%20%27r%27%20and%20RowKey%20le%20%27r%27"},
    };
    static const struct canned answers[] = {{.status = "200 OK", .body = ROWS("")}};
    _cleanup_(end) struct fixture f;
    struct page *page = NULL;
    begin(&f, answers, 1);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char expected[300];
        assert_int_equal(table_store_get(f.store, "tab", cases[i].position, &f.call, &page),
                         -ENOENT);
        (void)snprintf(expected, sizeof(expected),
                       "GET /devstoreaccount1/tab()?$filter=PartitionKey%%20eq%%20%s&$top=1000&"
                       "timeout=19 HTTP/1.1",
                       cases[i].filter);
        expect_request(&f, expected);
        assert_int_equal(f.server.requests, i + 1);
    }
}

#define OF_OTHERS ROWS(ROW("p", "\\ud7ff"))

/* Pages of rows outside the range are progress; only pages without a row are counted. */
static void rows_that_are_dropped_are_no_empty_pages(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.status = "200 OK", .headers = NEXT "1\r\n", .body = OF_OTHERS},
        {.status = "200 OK", .headers = NEXT "2\r\n", .body = OF_OTHERS},
        {.status = "200 OK", .headers = NEXT "3\r\n", .body = OF_OTHERS},
        {.status = "200 OK", .headers = NEXT "4\r\n", .body = ROWS("")},
        {.status = "200 OK", .headers = NEXT "5\r\n", .body = OF_OTHERS},
        {.status = "200 OK", .headers = NEXT "6\r\n", .body = OF_OTHERS},
        {.status = "200 OK", .body = ROWS(ROW("p", "\\ud800"))},
        {.status = "200 OK", .headers = NEXT "7\r\n", .body = OF_OTHERS},
        {.status = "200 OK", .headers = NEXT "8\r\n", .body = ROWS("")},
    };
    _cleanup_(end) struct fixture f;
    struct page *page = NULL;
    struct answer answer = {0};
    const struct query query = {.table = "tab", .range = {B(LONE), B("p\x01")}, .top = 1000};
    begin(&f, answers, ARRAY_SIZE(answers));
    assert_int_equal(table_store_get(f.store, "tab", B(LONE), &f.call, &page), 0);
    assert_int_equal(f.server.requests, 7);
    page_unref(page);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(table_store_query(f.store, &query, &f.call, &answer), 0);
        assert_int_equal(page_rows(answer.page), 0);
        assert_int_equal(continuation_is_progress(answer.next), i == 0);
        answer_finish(&answer);
    }
}

static void a_body_that_holds_no_rows_is_an_error(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "", "{}", "<html>", "{\"value\":[", "{\"value\":7}", "{\"value\":[{}]}"};
    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        const struct canned answers[] = {
            {.status = "200 OK", .headers = "x-ms-request-id: id-2\r\n", .body = bodies[i]}};
        _cleanup_(end) struct fixture f;
        struct answer answer = {0};
        const struct query query = {.table = "tab", .range = RANGE_ALL, .top = 1};
        begin(&f, answers, 1);
        assert_int_equal(table_store_query(f.store, &query, &f.call, &answer), -EPROTO);
        assert_null(answer.page);
        assert_int_equal(f.call.failure.http_status, 200);
        assert_string_equal(f.call.failure.request_id, "id-2");
        assert_int_equal(strncmp(f.call.failure.message, "table tab: ", 11), 0);
        assert_ptr_equal(f.call.failure.advice, service_error_advice_endpoint);
    }
}

static void a_row_that_cannot_be_understood_fails_alone(void **state)
{
    (void)state;
    static const char twice[] = ROWS("{\"PartitionKey\":\"p\",\"RowKey\":\"a\",\"n\":1,\"n\":2},"
                                     "{\"PartitionKey\":\"p\",\"RowKey\":\"b\"}");
    static const struct canned answers[] = {{.status = "200 OK", .body = twice}};
    const struct query query = {.table = "tab", .range = RANGE_ALL, .top = 2};
    _cleanup_(end) struct fixture f;
    _cleanup_(answer_finish) struct answer answer = {0};
    begin(&f, answers, 1);
    assert_int_equal(table_store_query(f.store, &query, &f.call, &answer), 0);
    assert_int_equal(page_rows(answer.page), 2);
    assert_true(page_is_bad(answer.page, 0));
    assert_false(page_is_bad(answer.page, 1));
    assert_bytes(page_position(answer.page, 1), B("p\0b"));
    assert_bytes(page_text(answer.page, 1),
                 B("{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"b\"\n}\n"));
}

static void too_long_a_key_is_refused_here(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.status = "200 OK"}};
    static char position[40002];
    _cleanup_(end) struct fixture f;
    struct page *page = NULL;
    begin(&f, answers, 1);
    memset(position, 'a', sizeof(position));
    position[1] = '\0';
    assert_int_equal(
        table_store_get(f.store, "tab", (struct bytes){position, sizeof(position)}, &f.call, &page),
        -ENAMETOOLONG);
    assert_int_equal(f.server.requests, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_signed_and_identified),
        cmocka_unit_test(a_sas_goes_into_the_url),
        cmocka_unit_test(the_servers_timeout_is_below_ours),
        cmocka_unit_test(tables_are_listed_page_by_page),
        cmocka_unit_test(one_table_is_found_in_its_own_spelling),
        cmocka_unit_test(what_is_no_list_of_tables_is_an_error),
        cmocka_unit_test(rows_are_read_page_by_page),
        cmocka_unit_test(keys_alone_can_be_asked_for),
        cmocka_unit_test(rows_outside_are_dropped_only_where_more_was_asked_for),
        cmocka_unit_test(one_entity_is_got),
        cmocka_unit_test(a_key_that_no_url_holds_is_searched),
        cmocka_unit_test(a_key_that_no_path_names_is_searched),
        cmocka_unit_test(rows_that_are_dropped_are_no_empty_pages),
        cmocka_unit_test(a_body_that_holds_no_rows_is_an_error),
        cmocka_unit_test(a_row_that_cannot_be_understood_fails_alone),
        cmocka_unit_test(too_long_a_key_is_refused_here),
    };
    return cmocka_run_group_tests(tests, init_libcurl, NULL);
}
