/* SPDX-License-Identifier: MIT */
#include "client/azure/batch.h"
#include "tests/unit/unit.h"

#define URL      "http://127.0.0.1:10002/acct"
#define MAX_SIZE ((size_t)64 << 10)
#define NOTHING  B("{\n}\n")

#define PART                                                                                       \
    "--changeset_7\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
#define ID(i)     " HTTP/1.1\r\nContent-ID: " i "\r\n" ACCEPTED
#define ACCEPTED  "Accept: application/json;odata=minimalmetadata\r\nDataServiceVersion: 3.0\r\n"
#define JSON      "Content-Type: application/json\r\n"
#define KEYS(key) "{\"PartitionKey\":\"p\",\"RowKey\":\"" key "\""

static const struct write every_kind[] = {
    {.kind = WRITE_INSERT, .position = B("p\0a"), .text = B("{\n  \"n\": 1\n}\n")},
    {.kind = WRITE_REPLACE, .position = B("p\0b"), .if_match = B("W/\"1\""), .text = NOTHING},
    {.kind = WRITE_MERGE, .position = B("p\0c"), .if_match = B("*"), .text = NOTHING},
    {.kind = WRITE_UPSERT_REPLACE, .position = B("p\0d"), .text = NOTHING},
    {.kind = WRITE_UPSERT_MERGE, .position = B("p\0it's {x}"), .text = NOTHING},
    {.kind = WRITE_DELETE, .position = B("p\0f"), .if_match = B("W/\"2\""), .text = B("")},
};

static const char every_part[] = "--batch_7\r\n"
                                 "Content-Type: multipart/mixed; boundary=changeset_7\r\n\r\n"
    /**/
    PART "POST " URL "/tab" ID("1") JSON
    "Prefer: return-no-content\r\n\r\n" KEYS("a") ",\"n\":1}\r\n" PART "PUT " URL
                                                  "/tab(PartitionKey='p',RowKey='b')" ID("2") JSON
    "If-Match: W/\"1\"\r\n\r\n" KEYS("b") "}\r\n" PART "PATCH " URL
                                          "/tab(PartitionKey='p',RowKey='c')" ID("3") JSON
    "If-Match: *\r\n\r\n" KEYS("c") "}\r\n" PART "PUT " URL
                                    "/tab(PartitionKey='p',RowKey='d')" ID("4") JSON
    "\r\n" KEYS("d") "}\r\n" PART "PATCH " URL
                     "/tab(PartitionKey='p',RowKey='it%27%27s%20%7Bx%7D')" ID("5") JSON
    "\r\n" KEYS("it's {x}") "}\r\n" PART "DELETE " URL "/tab(PartitionKey='p',RowKey='f')" ID(
        "6") "If-Match: W/\"2\"\r\n\r\n\r\n"
             "--changeset_7--\r\n"
             "--batch_7--\r\n";

static int append_body(struct buffer *ret, const struct write *writes, size_t n, size_t max,
                       struct call *call)
{
    const struct batch batch = {URL, "tab", writes, n, "7"};
    *call = (struct call){0};
    buffer_init(ret, max);
    return batch_append_body(ret, &batch, call);
}

static void every_write_becomes_a_part(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer body;
    struct call call;
    assert_int_equal(append_body(&body, every_kind, ARRAY_SIZE(every_kind), MAX_SIZE, &call), 0);
    assert_string_equal(buffer_string(&body), every_part);
    buffer_clear(&body);
    assert_int_equal(batch_append_path(&body), 0);
    assert_int_equal(batch_append_content_type(&body, "7"), 0);
    assert_string_equal(buffer_string(&body), "/$batchmultipart/mixed; boundary=batch_7");
}

static void too_large_a_batch_is_refused(void **state)
{
    (void)state;
    size_t size = strlen(every_part);
    for (size_t max = 0; max <= size; max++) {
        _cleanup_(buffer_finish) struct buffer body;
        struct call call;
        int r = append_body(&body, every_kind, ARRAY_SIZE(every_kind), max, &call);
        assert_int_equal(r, max < size ? -EFBIG : 0);
        assert_int_equal(call.failure.error, r);
        if (max == 100)
            assert_string_equal(call.failure.message,
                                "a batch of 6 writes is larger than the 100 bytes of a request");
        if (r < 0)
            assert_int_equal(call.failure.operation, -1);
    }
}

static void what_cannot_be_sent_is_named(void **state)
{
    (void)state;
    static char long_key[20000];
    memset(long_key, 'x', sizeof(long_key));
    memcpy(long_key, "p", 2);
    const struct {
        struct write write;
        int error;
    } cases[] = {
        {{.kind = WRITE_REPLACE,
          .position = B("p\0\xED\xA0\x80"),
          .if_match = B("*"),
          .text = NOTHING},
         -EINVAL},
        {{.kind = WRITE_DELETE, .position = B("p\0r"), .if_match = B("a\r\nb"), .text = B("")},
         -EINVAL},
        {{.kind = WRITE_INSERT, .position = B("p\0r"), .text = B("{}")}, -EINVAL},
        {{.kind = WRITE_UPSERT_MERGE, .position = {long_key, sizeof(long_key)}, .text = NOTHING},
         -ENAMETOOLONG},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct write writes[] = {every_kind[0], cases[i].write, every_kind[3]};
        _cleanup_(buffer_finish) struct buffer body;
        struct call call;
        assert_int_equal(append_body(&body, writes, 3, MAX_SIZE, &call), cases[i].error);
        assert_int_equal(call.failure.error, cases[i].error);
        assert_int_equal(call.failure.operation, 1);
        assert_false(call.failure.is_ambiguous);
    }
}

static void an_insert_may_have_any_key(void **state)
{
    (void)state;
    const struct write writes[] = {{.position = B("p\0\xED\xA0\x80"), .text = NOTHING}};
    _cleanup_(buffer_finish) struct buffer body;
    struct call call;
    assert_int_equal(append_body(&body, writes, 1, MAX_SIZE, &call), 0);
    assert_non_null(strstr(buffer_string(&body), "\"RowKey\":\"\\ud800\"}\r\n"));
}

/* Answers. */

#define OUTER "multipart/mixed; boundary=batchresponse_1"
#define BEGIN                                                                                      \
    "--batchresponse_1\r\n"                                                                        \
    "Content-Type: multipart/mixed; boundary=changesetresponse_2\r\n\r\n"
#define ANSWER                                                                                     \
    "--changesetresponse_2\r\n"                                                                    \
    "Content-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"
#define CREATED(id, etag)                                                                          \
    ANSWER "HTTP/1.1 204 No Content\r\nContent-ID: " id                                            \
           "\r\nX-Content-Type-Options: nosniff\r\nPreference-Applied: return-no-content\r\n"      \
           "DataServiceVersion: 3.0;\r\nLocation: http://x/tab(PartitionKey='p',RowKey='a')\r\n"   \
           "DataServiceId: http://x/tab(PartitionKey='p',RowKey='a')\r\nETag: " etag               \
           "\r\n\r\n\r\n"
#define DELETED ANSWER "HTTP/1.1 204 No Content\r\nDataServiceVersion: 1.0;\r\n\r\n\r\n"
#define END     "--changesetresponse_2--\r\n--batchresponse_1--\r\n"
#define TIME    "W/\"datetime'1970-01-01T00%3A00%3A01.5Z'\""
#define REFUSED(status, id, code, message)                                                         \
    ANSWER "HTTP/1.1 " status "\r\n" id "DataServiceVersion: 3.0;\r\n"                             \
           "Content-Type: application/json;odata=minimalmetadata;charset=utf-8\r\n\r\n"            \
           "{\"odata.error\":{\"code\":\"" code                                                    \
           "\",\"message\":{\"lang\":\"en-US\",\"value\":\"" message                               \
           "\\nRequestId:9\\nTime:2025-01-02T03:04:05.6789Z\"}}}\r\n"
#define CONFLICT "409 Conflict"
#define EXISTS(id, message)                                                                        \
    BEGIN REFUSED(CONFLICT, id, "EntityAlreadyExists", message)                                    \
    END

static const struct write two[] = {
    {.kind = WRITE_INSERT, .position = B("p\0a"), .text = NOTHING},
    {.kind = WRITE_DELETE, .position = B("p\0b"), .if_match = B("*"), .text = B("")},
};

struct reading {
    int error;
    struct call call;
    struct write_result results[BATCH_MAX_WRITES];
};

/* A body in memory of its own, so that a read after it is seen. */
static void read_answer_of(struct reading *reading, const struct write *writes, size_t n,
                           const char *content_type, struct bytes body)
{
    char *copy = body.size > 0 ? malloc(body.size) : NULL;
    if (copy)
        memcpy(copy, body.data, body.size);
    const struct service_answer answer = {.status = 202,
                                          .is_of_change = true,
                                          .body = {copy, body.size},
                                          .request_id = B("id-1"),
                                          .retry_after = B("3")};
    const struct batch batch = {URL, "tab", writes, n, "7"};
    *reading = (struct reading){.results = {{.etag = "untouched"}, {.etag = "untouched"}}};
    reading->error = batch_read_answer(&answer, bytes_of(content_type), &batch, 0, &reading->call,
                                       reading->results);
    assert_int_equal(reading->error, reading->call.failure.error);
    if (reading->error < 0)
        assert_string_equal(reading->results[0].etag, "untouched");
    free(copy);
}

static void read_two(struct reading *reading, const char *body)
{
    read_answer_of(reading, two, 2, OUTER, bytes_of(body));
}

static void expect_two(const struct reading *reading)
{
    assert_int_equal(reading->error, 0);
    assert_string_equal(reading->results[0].etag, TIME);
    assert_int_equal(reading->results[0].timestamp, 15000000);
    assert_string_equal(reading->results[1].etag, "");
    assert_int_equal(reading->results[1].timestamp, 0);
}

static void every_write_has_a_result(void **state)
{
    (void)state;
    struct reading reading;
    read_two(&reading, BEGIN CREATED("1", TIME) DELETED END);
    expect_two(&reading);
    read_answer_of(&reading, two, 2, "Multipart/Mixed; charset=x; Boundary=\"batchresponse_1\"",
                   B(BEGIN CREATED("1", TIME) DELETED END));
    expect_two(&reading);
    /* Azurite: no Content-ID; anything before and after */
    read_two(&reading,
             "preamble\r\n\r\n" BEGIN "more\r\n" ANSWER "HTTP/1.1 201 Created\r\netag:" TIME
             "\r\n\r\n{\"a\":1}\r\n" DELETED END "--changesetresponse_2\r\nbehind\r\n");
    expect_two(&reading);
    /* bare line ends, blanks after a boundary */
    read_two(&reading,
             "--batchresponse_1 \n"
             "content-type: multipart/mixed; boundary=\"c\"\n\n"
             "--c\t\nContent-Type: application/http\n\nHTTP/1.1 204 No Content\nETag: " TIME "\n\n"
             "--c\nContent-Type: application/http\n\nHTTP/1.1 204\n\n--c--");
    expect_two(&reading);
}

static void a_boundary_is_not_taken_for_its_begin(void **state)
{
    (void)state;
    struct reading reading;
    read_two(&reading,
             "--batchresponse_1\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"
             "--bb\r\n--b\r\n\r\nHTTP/1.1 204 No Content\r\nETag: " TIME "\r\n\r\n"
             "--b-\r\n --b\r\nx--b\r\n--b\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n--b--\r\n");
    expect_two(&reading);
}

static void expect_refusal(const char *body, int error, int operation)
{
    struct reading reading;
    read_two(&reading, body);
    assert_int_equal(reading.error, error);
    assert_int_equal(reading.call.failure.operation, operation);
    assert_string_equal(reading.call.failure.request_id, "id-1");
    assert_false(reading.call.failure.is_ambiguous);
}

static void the_refused_write_is_named(void **state)
{
    (void)state;
    expect_refusal(EXISTS("", "1:There is."), -EEXIST, 1);
    expect_refusal(EXISTS("", "0:There is."), -EEXIST, 0);
    expect_refusal(EXISTS("", "There is."), -EEXIST, 0);
    expect_refusal(BEGIN REFUSED("404 Not Found", "Content-ID: 2\r\n", "ResourceNotFound",
                                 "1:There is not.") END,
                   -ENOENT, 1);
    expect_refusal(BEGIN REFUSED("412 Precondition Failed", "content-id: 2\r\n",
                                 "UpdateConditionNotSatisfied", "Another.") END,
                   -ESTALE, 1);
    /* a contradiction, and what was not sent: no operation is blamed */
    expect_refusal(EXISTS("Content-ID: 2\r\n", "0:There is."), -EEXIST, -1);
    expect_refusal(EXISTS("", "2:There is."), -EEXIST, -1);
    expect_refusal(EXISTS("Content-ID: 3\r\n", "x"), -EEXIST, -1);
    /* no message: one that cannot be read, or none */
    expect_refusal(
        BEGIN REFUSED(CONFLICT, "x-ms-error-code: EntityAlreadyExists\r\n", "X", "1:\\ud800") END,
        -EEXIST, -1);
    expect_refusal(BEGIN REFUSED(CONFLICT,
                                 "x-ms-error-code: EntityAlreadyExists\r\nContent-ID: 2\r\n", "X",
                                 "1:\\u0000") END,
                   -EEXIST, 1);
    expect_refusal(BEGIN ANSWER
                   "HTTP/1.1 409 Conflict\r\nx-ms-error-code: EntityAlreadyExists\r\n\r\n" END,
                   -EEXIST, -1);
    expect_refusal(EXISTS("Content-ID: 0\r\n", "x"), -EEXIST, 0);
    expect_refusal(EXISTS("Content-ID: -1\r\n", "99999999999999999999:x"), -EEXIST, 0);
}

static void a_refusal_says_why(void **state)
{
    (void)state;
    struct reading reading;
    read_two(&reading, EXISTS("", "1:There is."));
    assert_string_equal(reading.call.failure.code, "EntityAlreadyExists");
    assert_string_equal(reading.call.failure.message, "There is."); /* without the number */
    assert_int_equal(reading.call.failure.http_status, 409);        /* not 202 */
    assert_false(reading.call.failure.is_retryable);
    read_two(&reading, BEGIN REFUSED("413 Too Large", "", "RequestBodyTooLarge", "x") END);
    assert_int_equal(reading.error, -EFBIG);
    read_two(&reading, BEGIN ANSWER "HTTP/1.1 404 Not Found\r\nx-ms-error-code: TableNotFound\r\n"
                                    "\r\nundefined\r\n" END);
    assert_int_equal(reading.error, -ENOENT);
    assert_string_equal(reading.call.failure.code, "TableNotFound");
}

static void a_passing_failure_inside_is_one(void **state)
{
    (void)state;
    struct reading reading;
    read_two(&reading, BEGIN REFUSED("500 Error", "", "OperationTimedOut", "0:Slow.") END);
    assert_int_equal(reading.error, -ETIMEDOUT);
    assert_true(reading.call.failure.is_retryable);
    assert_true(reading.call.failure.is_ambiguous);
    assert_int_equal(reading.call.failure.operation, -1); /* no write is to blame */
    assert_int_equal(reading.call.failure.retry_after_ms, 3000);
    read_two(&reading, BEGIN ANSWER "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\n\r\n\r\n" END);
    assert_int_equal(reading.error, -EBUSY);
    assert_true(reading.call.failure.is_retryable);
    assert_int_equal(reading.call.failure.retry_after_ms, 7000);
}

/* As Azurite 3.35 answers 101 writes: a line before the status. And an answer that is no changeset:
 * OData has it so. */
static void odd_refusals_are_understood(void **state)
{
    (void)state;
    struct reading reading;
    read_two(
        &reading, BEGIN ANSWER
        "changesetresponse_2\r\nHTTP/1.1 400 Bad Request\r\nX-Content-Type-Options: nosniff\r\n"
        "Content-Type: application/json;odata=minimalmetadata;charset=utf-8\r\n\r\n"
        "{\"odata.error\":{\"code\":\"InvalidInput\",\"message\":{\"lang\":\"en-US\",\"value\":"
        "\"The batch request operation exceeds the maximum 100 changes per change set.\"}}}"
        "\r\n" END);
    assert_int_equal(reading.error, -EINVAL);
    assert_string_equal(reading.call.failure.code, "InvalidInput");
    read_two(&reading, "--batchresponse_1\r\nContent-Type: application/http\r\n\r\n"
                       "HTTP/1.1 400 Bad Request\r\n\r\n"
                       "{\"odata.error\":{\"code\":\"InvalidDuplicateRow\",\"message\":{\"value\":"
                       "\"1:Twice.\"}}}\r\n--batchresponse_1--\r\n");
    assert_int_equal(reading.error, -EINVAL);
    assert_string_equal(reading.call.failure.code, "InvalidDuplicateRow");
    assert_int_equal(reading.call.failure.operation, 1);
}

static void expect_unknown(const struct reading *reading)
{
    assert_int_equal(reading->error, -EPROTO);
    assert_true(reading->call.failure.is_ambiguous);
    assert_int_equal(reading->call.failure.operation, -1);
    assert_int_equal(reading->call.failure.http_status, 202);
}

static void what_is_not_understood_is_ambiguous(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "\r\n\r\n",
        "{\"odata.error\":{\"code\":\"X\"}}",
        "--batchresponse_1",
        "--batchresponse_1--",
        "--batchresponse_2\r\n" DELETED DELETED END,
        "--batchresponse_1\r\nContent-Type: multipart/mixed; boundary=\r\n\r\n" DELETED END,
        BEGIN END,
        BEGIN DELETED DELETED END, /* no ETag */
        BEGIN CREATED("1", "") DELETED END,
        BEGIN CREATED("1", TIME) REFUSED(CONFLICT, "", "X", "1:x") END, /* not alone */
        BEGIN REFUSED(CONFLICT, "", "X", "0:x") DELETED END,
        BEGIN CREATED("1", TIME) ANSWER "HTTP/1.1 302 Found\r\n\r\n" END,
        BEGIN CREATED("1", TIME) ANSWER "HTTP/1.1 20\r\n\r\n" END,
        BEGIN CREATED("1", TIME) ANSWER "HTTP/1.1 2x4 No Content\r\n\r\n" END,
        BEGIN CREATED("1", TIME) ANSWER "204 No Content\r\n\r\n" END,
        BEGIN CREATED("1", TIME) "--changesetresponse_2\r\n" END,
        BEGIN CREATED("2", TIME) DELETED END, /* of another write */
        BEGIN CREATED("3", TIME) DELETED END,
        BEGIN CREATED("1", TIME) "--changesetresponse_2--\r\n" DELETED END,
    };
    struct reading reading;
    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        read_two(&reading, bodies[i]);
        expect_unknown(&reading);
    }
    static const char *const types[] = {
        "", "multipart/mixed", "multipart/mixed; boundary=", "application/json; boundary=x"};
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        read_answer_of(&reading, two, 2, types[i], B(BEGIN CREATED("1", TIME) DELETED END));
        expect_unknown(&reading);
        assert_false(reading.call.failure.is_retryable);
    }
}

/* What breaks off may come whole when it is sent again; what ends too early would not. */
static void an_answer_that_breaks_off_is_retryable(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        bool is_retryable;
    } cases[] = {
        {BEGIN CREATED("1", TIME) "--changesetresponse_2\r\nContent-Type: app", true},
        {BEGIN ANSWER "HTTP/1.1 204 No", true},
        {"--batchresponse_1\r\nContent-Type: multi", true},
        {"--batch", true},
        {"junk", false},
        {BEGIN CREATED("1", TIME) END, false},                 /* too few */
        {BEGIN CREATED("1", TIME) DELETED DELETED END, false}, /* too many */
        {"", false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct reading reading;
        read_two(&reading, cases[i].body);
        expect_unknown(&reading);
        assert_int_equal(reading.call.failure.is_retryable, cases[i].is_retryable);
    }
}

#define BOUNDARY "--changesetresponse_2"

/* Cut anywhere: unknown, until the boundary after the last part has come. */
static void expect_unknown_when_cut(struct bytes body, int error)
{
    const char *last = body.data, *found = body.data;
    while ((found = strstr(found, BOUNDARY)) != NULL)
        last = found++;
    size_t whole = (size_t)(last - body.data) + strlen(BOUNDARY);
    for (size_t size = 0; size <= body.size; size++) {
        struct reading reading;
        read_answer_of(&reading, two, 2, OUTER, bytes_first(body, size));
        if (size < whole || size == whole + 1) /* BOUNDARY "-" is none */
            expect_unknown(&reading);
        else
            assert_int_equal(reading.error, error);
    }
}

static void an_answer_cut_short_is_ambiguous(void **state)
{
    (void)state;
    expect_unknown_when_cut(B(BEGIN CREATED("1", TIME) DELETED END), 0);
    expect_unknown_when_cut(B(EXISTS("", "1:x")), -EEXIST);
}

static void a_hundred_results_are_read(void **state)
{
    (void)state;
    struct write writes[BATCH_MAX_WRITES];
    struct reading reading;
    _cleanup_(buffer_finish) struct buffer body;
    buffer_init(&body, MAX_SIZE);
    (void)buffer_append_string(&body, BEGIN);
    for (size_t i = 0; i < BATCH_MAX_WRITES; i++) {
        writes[i] = two[0];
        (void)buffer_append_format(&body, ANSWER "HTTP/1.1 204 No Content\r\nETag: \"%zu\"\r\n\r\n",
                                   i);
    }
    assert_int_equal(buffer_append_string(&body, END), 0);
    read_answer_of(&reading, writes, BATCH_MAX_WRITES, OUTER, buffer_bytes(&body));
    assert_int_equal(reading.error, 0);
    assert_string_equal(reading.results[0].etag, "\"0\"");
    assert_string_equal(reading.results[99].etag, "\"99\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_write_becomes_a_part),
        cmocka_unit_test(too_large_a_batch_is_refused),
        cmocka_unit_test(what_cannot_be_sent_is_named),
        cmocka_unit_test(an_insert_may_have_any_key),
        cmocka_unit_test(every_write_has_a_result),
        cmocka_unit_test(a_boundary_is_not_taken_for_its_begin),
        cmocka_unit_test(the_refused_write_is_named),
        cmocka_unit_test(a_refusal_says_why),
        cmocka_unit_test(a_passing_failure_inside_is_one),
        cmocka_unit_test(odd_refusals_are_understood),
        cmocka_unit_test(what_is_not_understood_is_ambiguous),
        cmocka_unit_test(an_answer_that_breaks_off_is_retryable),
        cmocka_unit_test(an_answer_cut_short_is_ambiguous),
        cmocka_unit_test(a_hundred_results_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
