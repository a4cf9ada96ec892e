/* SPDX-License-Identifier: MIT */
/* azure_store's batches, alone and under retries: what is sent, and what becomes of the answers. */
#include "client/store/retrying_store.h"
#include "tests/unit/client/azure/azure_fixture.h"

#define TABLE "/devstoreaccount1/tab"
#define ETAG  "W/\"datetime'1970-01-01T00%3A00%3A01.5Z'\""
#define TEXT  B("{\n  \"n\": 1\n}\n")

#define BEGIN                                                                                      \
    "--batchresponse_1\r\nContent-Type: multipart/mixed; boundary=changesetresponse_1\r\n\r\n"
#define ANSWER                                                                                     \
    "--changesetresponse_1\r\nContent-Type: application/http\r\n"                                  \
    "Content-Transfer-Encoding: binary\r\n\r\n"
#define END "--changesetresponse_1--\r\n--batchresponse_1--\r\n"
/* The answer to a batch that was refused by its first write, or by the one of `message`. */
#define INSIDE(status, headers, code, message)                                                     \
    BEGIN ANSWER "HTTP/1.1 " status "\r\n" headers "\r\n{\"odata.error\":{\"code\":\"" code        \
                 "\",\"message\":{\"value\":\"" message "\"}}}\r\n" END
#define MADE                                                                                       \
    BEGIN ANSWER "HTTP/1.1 204 No Content\r\nETag: " ETAG "\r\n\r\n" ANSWER                        \
                 "HTTP/1.1 204 No Content\r\n\r\n" END
#define CONFLICT INSIDE("409 Conflict", "", "EntityAlreadyExists", "1:There is.")
#define ACCEPTED "Content-Type: multipart/mixed; boundary=batchresponse_1\r\n"

#define IN_BATCH(text)                                                                             \
    {                                                                                              \
        .status = "202 Accepted", .headers = ACCEPTED, .body = (text)                              \
    }

static const struct write two[] = {
    {.position = B("p\0a"), .text = TEXT},
    {.kind = WRITE_DELETE, .position = B("p\0b"), .if_match = B("*"), .text = B("")},
};

static int write_two(struct fixture *f, struct write_result *ret)
{
    ret[0] = ret[1] = (struct write_result){.etag = "untouched"};
    return table_store_write(f->store, "tab", two, 2, &f->call, ret);
}

static void a_batch_is_one_request(void **state)
{
    (void)state;
    static const struct canned answers[] = {IN_BATCH(MADE)};
    _cleanup_(end) struct fixture f;
    struct write_result results[2];
    char expected[200], id[37];
    begin(&f, answers, 1);
    assert_int_equal(write_two(&f, results), 0);
    assert_string_equal(results[0].etag, ETAG);
    assert_int_equal(results[0].timestamp, 15000000);
    assert_string_equal(results[1].etag, "");
    expect_request(&f, "POST /devstoreaccount1/$batch?timeout=19 HTTP/1.1");
    expect_header(&f, "Accept", "application/json");
    char *type = loopback_header(&f.server, "Content-Type");
    char *body = loopback_body(&f.server);
    assert_int_equal(sscanf(type, "multipart/mixed; boundary=batch_%36s", id), 1);
    assert_int_equal(strlen(id), 36);
    (void)snprintf(expected, sizeof(expected),
                   "--batch_%s\r\nContent-Type: multipart/mixed; boundary=changeset_%s\r\n", id,
                   id);
    assert_int_equal(strncmp(body, expected, strlen(expected)), 0);
    (void)snprintf(expected, sizeof(expected), "\r\nPOST http://127.0.0.1:%d" TABLE " HTTP/1.1\r\n",
                   f.server.port);
    assert_non_null(strstr(body, expected));
    free(type);
    free(body);
}

/* Azurite answers 500 to a path with an encoded `/`, but not to one in a batch. */
static void a_write_that_no_path_names_is_a_batch(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        IN_BATCH(BEGIN ANSWER "HTTP/1.1 204 No Content\r\n\r\n" END)};
    static const struct write delete = {
        .kind = WRITE_DELETE, .position = B("p\0a/b"), .if_match = B("*"), .text = B("")};
    _cleanup_(end) struct fixture f;
    struct write_result result;
    begin(&f, answers, 1);
    assert_int_equal(table_store_write(f.store, "tab", &delete, 1, &f.call, &result), 0);
    expect_request(&f, "POST /devstoreaccount1/$batch?timeout=19 HTTP/1.1");
    char *body = loopback_body(&f.server);
    assert_non_null(strstr(body, TABLE "(PartitionKey='p',RowKey='a%2Fb') HTTP/1.1\r\n"));
    free(body);
}

static void a_signature_stays_outside_a_batch(void **state)
{
    (void)state;
    static const struct canned answers[] = {IN_BATCH(CONFLICT)};
    const struct connection_environment environment = {.sas_token = SAS};
    _cleanup_(end) struct fixture f;
    struct write_result results[2];
    begin_as(&f, answers, 1, &environment);
    assert_int_equal(write_two(&f, results), -EEXIST);
    expect_request(&f, "POST /devstoreaccount1/$batch?timeout=19&" SAS " HTTP/1.1");
    char *body = loopback_body(&f.server);
    assert_null(strstr(body, "SECRET"));
    free(body);
}

static void a_refused_batch_names_its_write(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        IN_BATCH(CONFLICT),
        {.end = CANNED_CLOSE}, /* of the kept connection: sent again */
        IN_BATCH(CONFLICT),
        IN_BATCH(BEGIN END),
        {.status = "404 Not Found", .headers = "x-ms-error-code: TableNotFound\r\n"},
    };
    _cleanup_(end) struct fixture f;
    struct write_result results[2];
    begin(&f, answers, ARRAY_SIZE(answers));
    assert_int_equal(write_two(&f, results), -EEXIST);
    assert_string_equal(results[0].etag, "untouched");
    assert_int_equal(f.call.failure.operation, 1);
    assert_int_equal(f.call.failure.http_status, 409);
    assert_false(f.call.failure.is_ambiguous);
    assert_int_equal(write_two(&f, results), -EEXIST);
    assert_int_equal(f.server.requests, 3);
    assert_true(f.call.failure.is_ambiguous);
    assert_int_equal(write_two(&f, results), -EPROTO);
    assert_true(f.call.failure.is_ambiguous);
    assert_int_equal(write_two(&f, results), -ENOENT);
    assert_int_equal(f.call.failure.operation, -1);
    assert_false(f.call.failure.is_ambiguous);
}

static void too_large_a_batch_is_not_sent(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.status = "202 Accepted"}};
    static char text[3 << 20];
    struct write writes[2] = {two[0], {.position = B("p\0c")}};
    char message[100];
    _cleanup_(end) struct fixture f;
    struct write_result results[2];
    begin(&f, answers, 1);
    writes[0].text = writes[1].text = fill_text(text, sizeof(text));
    assert_int_equal(table_store_write(f.store, "tab", writes, 2, &f.call, results), -EFBIG);
    (void)snprintf(message, sizeof(message), "a batch of 2 writes has %zu bytes; at most 4194048",
                   table_store_write_size(f.store, "tab", &writes[0]) +
                       table_store_write_size(f.store, "tab", &writes[1]));
    assert_string_equal(f.call.failure.message, message);
    assert_int_equal(f.call.failure.operation, -1);
    assert_int_equal(f.server.requests, 0);
    assert_int_equal(table_store_limits(f.store)->batch_writes, 100);
    assert_int_equal(table_store_limits(f.store)->batch_bytes, 4194304 - 256);
}

static void *write_into_one(void *context)
{
    struct fixture *f = context;
    struct call call = {.deadline_ms = f->call.deadline_ms};
    struct write_result results[2];
    return (void *)(intptr_t)table_store_write(f->store, "one", two, 2, &call, results);
}

/* As many batches of one table as may hang do so: they are in its lane, not in one of all batches.
 */
static void batches_of_a_table_that_hangs_leave_room_to_others(void **state)
{
    (void)state;
    struct canned answers[HTTP_LANE_MAX + 1];
    pthread_t threads[HTTP_LANE_MAX];
    struct fixture f;
    struct write_result results[2];
    assert_int_not_equal(lane_of_table("one"), lane_of_table("tab"));
    for (size_t i = 0; i < HTTP_LANE_MAX; i++)
        answers[i] = (struct canned){.end = CANNED_HANG};
    answers[HTTP_LANE_MAX] = (struct canned){.status = "503 Busy"};
    begin(&f, answers, ARRAY_SIZE(answers));
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_into_one, &f), 0);
    while (f.server.requests < HTTP_LANE_MAX)
        (void)usleep(1000);
    assert_int_equal(write_two(&f, results), -EBUSY);
    assert_int_equal(f.server.requests, HTTP_LANE_MAX + 1);
    loopback_stop(&f.server);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        void *r;
        assert_int_equal(pthread_join(threads[i], &r), 0);
        assert_true((intptr_t)r < 0);
    }
    end_client(&f);
}

static void what_is_inside_decides(void **state)
{
    (void)state;
    static const struct {
        const char *body, *code;
        int error, http_status, operation, retry_after_ms;
        bool is_retryable, is_ambiguous;
    } cases[] = {
        {INSIDE("404 Not Found", "", "ResourceNotFound", "1:x"), "ResourceNotFound", -ENOENT, 404,
         1, 2000, false, false},
        {INSIDE("413 Too Large", "", "RequestBodyTooLarge", "x"), "RequestBodyTooLarge", -EFBIG,
         413, 0, 2000, false, false},
        {INSIDE("429 Too Many", "x-ms-retry-after-ms: 70\r\n", "TooManyRequests", "1:x"),
         "TooManyRequests", -EBUSY, 429, -1, 70, true, false},
        {INSIDE("500 Error", "", "InternalError", "x"), "InternalError", -EIO, 500, -1, 2000, true,
         true},
        {INSIDE("503 Busy", "Retry-After: 7\r\n", "ServerBusy", "x"), "ServerBusy", -EBUSY, 503, -1,
         7000, true, true},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct canned answers[] = {{.status = "202 Accepted",
                                          .headers = ACCEPTED "Retry-After: 2\r\n",
                                          .body = cases[i].body}};
        _cleanup_(end) struct fixture f;
        struct write_result results[2];
        begin(&f, answers, 1);
        assert_int_equal(write_two(&f, results), cases[i].error);
        assert_int_equal(f.call.failure.error, cases[i].error);
        assert_int_equal(f.call.failure.http_status, cases[i].http_status);
        assert_int_equal(f.call.failure.operation, cases[i].operation);
        assert_int_equal(f.call.failure.retry_after_ms, cases[i].retry_after_ms);
        assert_int_equal(f.call.failure.is_retryable, cases[i].is_retryable);
        assert_int_equal(f.call.failure.is_ambiguous, cases[i].is_ambiguous);
        assert_string_equal(f.call.failure.code, cases[i].code);
        assert_string_equal(f.call.failure.message, "x");
        assert_string_equal(results[0].etag, "untouched");
        assert_int_equal(f.server.requests, 1);
    }
}

/* A batch needs what all its writes need; the token has not all of it. */
static void a_refused_token_is_explained_inside_too(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        IN_BATCH(INSIDE("403 Forbidden", "", "AuthorizationPermissionMismatch", "1:x"))};
    const struct connection_environment environment = {
        .sas_token = "sv=2020-12-06&ss=t&srt=sco&sp=ra&sig=SECRET%3D"};
    _cleanup_(end) struct fixture f;
    struct write_result results[2];
    begin_as(&f, answers, 1, &environment);
    assert_int_equal(write_two(&f, results), -EACCES);
    assert_string_equal(f.call.failure.advice,
                        "the SAS token lacks d in sp=, which deleting needs");
}

/* Under retries. Time passes only in their sleeps. */
struct retried {
    struct fixture f;
    int64_t now_ms;
    struct clock clock;
    struct write_result results[2];
};

static void begin_retried(struct retried *retried, const struct canned *answers, size_t count)
{
    const struct retrying_store_options options = {.timeout_ms = 60000};
    begin(&retried->f, answers, count);
    retried->now_ms = standing_monotonic_ms(NULL);
    retried->clock = fake_clock(&retried->now_ms);
    assert_int_equal(
        retrying_store_create(retried->f.store, &retried->clock, &options, &retried->f.store), 0);
}

static void what_passes_inside_is_tried_again(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        IN_BATCH(INSIDE("503 Busy", "Retry-After: 3\r\n", "ServerBusy", "0:x")),
        IN_BATCH(INSIDE("429 Too Many", "", "TooManyRequests", "0:x")),
        {.status = "503 Busy", .headers = "x-ms-error-code: ServerBusy\r\n"},
        IN_BATCH(INSIDE("500 Error", "", "InternalError", "0:x")),
        IN_BATCH(MADE),
    };
    struct retried retried;
    begin_retried(&retried, answers, ARRAY_SIZE(answers));
    assert_int_equal(write_two(&retried.f, retried.results), 0);
    assert_int_equal(retried.f.server.requests, 5);
    assert_int_equal(retried.f.call.repeats, 4);
    assert_true(retried.now_ms >= standing_monotonic_ms(NULL) + 3000); /* Retry-After */
    assert_string_equal(retried.results[0].etag, ETAG);
    assert_string_equal(retried.results[1].etag, "");
    end(&retried.f);
}

#define ROW                                                                                        \
    "{\"odata.etag\":\"" ROW_ETAG "\",\"PartitionKey\":\"p\",\"RowKey\":\"a\","                    \
    "\"Timestamp\":\"1970-01-01T00:00:01.5Z\",\"n\":1}"
#define ROW_ETAG "W/\\\"datetime'1970-01-01T00%3A00%3A01.5Z'\\\""
#define PAGE(rows)                                                                                 \
    {                                                                                              \
        .status = "200 OK", .body = "{\"value\":[" rows "]}"                                       \
    }

/* The batch was made, and its answer broke off; at the repetition its insert finds the row. */
static void a_batch_whose_answer_broke_off_was_made(void **state)
{
    (void)state;
    static const char half[] = "HTTP/1.1 202 Accepted\r\n" ACCEPTED
                               "Content-Length: 100000\r\n\r\n" BEGIN ANSWER "HTTP/1.1 204 No";
    static const struct canned lost[] = {
        {.end = CANNED_RESET},
        {.raw = half, .end = CANNED_CLOSE},
        {.raw = "HTTP/1.1 202 Acc", .end = CANNED_CLOSE},
        {.status = "502 Bad Gateway"},
        IN_BATCH(INSIDE("503 Busy", "", "ServerBusy", "x")),
    };
    for (size_t i = 0; i < ARRAY_SIZE(lost); i++) {
        const struct canned answers[] = {
            lost[i],
            IN_BATCH(INSIDE("409 Conflict", "", "EntityAlreadyExists", "0:x")),
            PAGE(ROW),
        };
        struct retried retried;
        begin_retried(&retried, answers, ARRAY_SIZE(answers));
        assert_int_equal(write_two(&retried.f, retried.results), 0);
        assert_int_equal(retried.f.server.requests, 3);
        expect_request(&retried.f,
                       "GET " TABLE "()?$filter=PartitionKey%20eq%20%27p%27%20and%20RowKey%20ge"
                       "%20%27a%27%20and%20RowKey%20le%20%27b%27&$top=2&timeout=19 HTTP/1.1");
        assert_string_equal(retried.results[0].etag, ETAG);
        assert_int_equal(retried.results[0].timestamp, 15000000);
        assert_string_equal(retried.results[1].etag, "");
        assert_int_equal(retried.f.call.failure.error, 0);
        end(&retried.f);
    }
}

/* The first answer breaks off, the second is one of another client's doing. */
static void a_batch_that_was_not_made_is_refused(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.end = CANNED_RESET},
        IN_BATCH(INSIDE("404 Not Found", "", "ResourceNotFound", "1:x")),
        PAGE(""),
    };
    struct retried retried;
    begin_retried(&retried, answers, ARRAY_SIZE(answers));
    assert_int_equal(write_two(&retried.f, retried.results), -ENOENT);
    assert_int_equal(retried.f.server.requests, 3);
    assert_int_equal(retried.f.call.failure.operation, 1);
    assert_int_equal(retried.f.call.failure.http_status, 404);
    assert_true(retried.f.call.failure.is_ambiguous);
    assert_string_equal(retried.results[0].etag, "");
    end(&retried.f);
}

/* It came whole, but is none: what was made is not known, and a repetition would not tell. */
static void an_answer_that_is_none_is_not_repeated(void **state)
{
    (void)state;
    static const char *const bodies[] = {"", "junk", BEGIN END, BEGIN ANSWER END};
    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        const struct canned answers[] = {IN_BATCH(bodies[i])};
        struct retried retried;
        begin_retried(&retried, answers, 1);
        assert_int_equal(write_two(&retried.f, retried.results), -EPROTO);
        assert_true(retried.f.call.failure.is_ambiguous);
        assert_int_equal(retried.f.server.requests, 1);
        end(&retried.f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_is_one_request),
        cmocka_unit_test(a_write_that_no_path_names_is_a_batch),
        cmocka_unit_test(a_signature_stays_outside_a_batch),
        cmocka_unit_test(a_refused_batch_names_its_write),
        cmocka_unit_test(batches_of_a_table_that_hangs_leave_room_to_others),
        cmocka_unit_test(too_large_a_batch_is_not_sent),
        cmocka_unit_test(what_is_inside_decides),
        cmocka_unit_test(a_refused_token_is_explained_inside_too),
        cmocka_unit_test(what_passes_inside_is_tried_again),
        cmocka_unit_test(a_batch_whose_answer_broke_off_was_made),
        cmocka_unit_test(a_batch_that_was_not_made_is_refused),
        cmocka_unit_test(an_answer_that_is_none_is_not_repeated),
    };
    return cmocka_run_group_tests(tests, init_libcurl, NULL);
}
