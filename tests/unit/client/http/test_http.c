/* SPDX-License-Identifier: MIT */
#include "tests/unit/client/http/http_fixture.h"

static void expect_body(struct fixture *fixture, const char *expected)
{
    assert_string_equal(buffer_string(&fixture->answer.body), expected);
}

static void expect_header(struct fixture *fixture, const char *name, const char *expected)
{
    struct bytes value = BYTES_LITERAL("untouched");
    assert_int_equal(http_answer_header(&fixture->answer, name, &value), expected != NULL);
    assert_true(bytes_equal(value, bytes_of(expected ? expected : "untouched")));
}

static void an_answer_has_status_headers_and_body(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.status = "404 Not Found",
         .headers = "x-MS-odd-CASE:  value \r\nEmpty:\r\nempty2: \r\nTwice: a\r\nTwice: b\r\n",
         .body = "{}"}};
    _cleanup_(end) struct fixture f;
    begin(&f, answers, 1);
    assert_int_equal(get(&f), 0);
    assert_int_equal(f.answer.status, 404);
    assert_false(f.answer.was_resent);
    expect_body(&f, "{}");
    expect_header(&f, "X-ms-Odd-Case", "value");
    expect_header(&f, "Empty", "");
    expect_header(&f, "Empty2", "");
    expect_header(&f, "Twice", "b");
    expect_header(&f, "X-ms-Odd", NULL);
    expect_header(&f, "value", NULL);
}

static void chunks_and_continues_are_understood(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: 1\r\n\r\n"
                "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nTrailer: t\r\n\r\n"},
        {.raw =
             "HTTP/1.1 100 Continue\r\nA: 2\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"},
        {.status = "200 OK"},
    };
    _cleanup_(end) struct fixture f;
    begin(&f, answers, 3);
    assert_int_equal(get(&f), 0);
    assert_int_equal(f.answer.status, 200);
    expect_body(&f, "abcde");
    expect_header(&f, "a", "1");
    assert_int_equal(get(&f), 0);
    assert_int_equal(f.answer.status, 200);
    expect_body(&f, "x");
    expect_header(&f, "a", NULL);
    assert_int_equal(get(&f), 0);
    assert_int_equal(f.answer.body.size, 0);
    assert_int_equal(f.server.connections, 1);
}

static void what_is_sent_is_what_was_given(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.status = "200 OK"}};
    _cleanup_(end) struct fixture f;
    begin(&f, answers, 1);
    char url[200];
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d/a/../b('%%27')?x=%%2F..%%2f&y",
                   f.server.port);
    const struct http_request request = {
        .method = "GET", .url = url, .headers = BYTES_LITERAL("Accept: a/b\r\nX-One: 1\r\n")};
    assert_int_equal(http_send(f.http, &request, &f.call, &f.answer), 0);
    char expected[400];
    (void)snprintf(expected, sizeof(expected),
                   "GET /a/../b('%%27')?x=%%2F..%%2f&y HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
                   "User-Agent: tablefuse/" TABLEFUSE_VERSION "\r\nAccept: a/b\r\nX-One: 1\r\n\r",
                   f.server.port);
    assert_string_equal(f.server.last_request, expected);
}

static int change(struct fixture *f, const char *method, struct bytes body)
{
    const struct http_request request = {.method = method,
                                         .url = f->url,
                                         .headers = BYTES_LITERAL("Content-Type: a/b\r\n"),
                                         .body = body};
    http_answer_finish(&f->answer);
    f->answer = (struct http_answer){0};
    return http_send(f->http, &request, &f->call, &f->answer);
}

static void expect_sent(struct fixture *f, const char *method, const char *length,
                        const char *expected)
{
    char *line = loopback_request_line(&f->server), *body = loopback_body(&f->server);
    char *sent = loopback_header(&f->server, "Content-Length");
    char *type = loopback_header(&f->server, "Content-Type");
    assert_int_equal(strncmp(line, method, strlen(method)), 0);
    assert_int_equal(line[strlen(method)], ' ');
    assert_string_equal(body, expected);
    assert_string_equal(type, "a/b");
    if (length)
        assert_string_equal(sent, length);
    else
        assert_null(sent);
    assert_null(strstr(f->server.last_request, "Transfer-Encoding"));
    assert_null(strstr(f->server.last_request, "Expect"));
    free(line);
    free(body);
    free(sent);
    free(type);
}

static void every_method_sends_its_body(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.status = "204 No Content"}};
    _cleanup_(end) struct fixture f;
    begin(&f, answers, 1);
    assert_int_equal(change(&f, "POST", BYTES_LITERAL("{\"a\":1}")), 0);
    expect_sent(&f, "POST", "7", "{\"a\":1}");
    assert_int_equal(change(&f, "PUT", BYTES_LITERAL("ab")), 0);
    expect_sent(&f, "PUT", "2", "ab");
    assert_int_equal(change(&f, "DELETE", (struct bytes){0}), 0);
    expect_sent(&f, "DELETE", NULL, "");
    assert_int_equal(change(&f, "PATCH", BYTES_LITERAL("abc")), 0);
    expect_sent(&f, "PATCH", "3", "abc");
    assert_int_equal(change(&f, "POST", BYTES_LITERAL("")), 0);
    expect_sent(&f, "POST", "0", "");
    assert_int_equal(change(&f, "GET", (struct bytes){0}), 0); /* nothing is left of the others */
    expect_sent(&f, "GET", NULL, "");
    assert_int_equal(f.server.connections, 1);
}

static void a_large_body_is_sent_whole(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.status = "204 No Content"}};
    static char text[(4 << 20) + 1];
    _cleanup_(end) struct fixture f;
    begin(&f, answers, 1);
    memset(text, 'x', sizeof(text) - 1);
    assert_int_equal(change(&f, "POST", bytes_of(text)), 0);
    expect_sent(&f, "POST", "4194304", text);
}

/* A limit within which a request is sent on a busy machine, too. */
#define SENT_MS 1000

static void a_change_that_may_have_been_made_is_ambiguous(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.end = CANNED_RESET},
        {.end = CANNED_CLOSE},
        {.raw = "HTTP/1.1 204 No Content\r\nConte", .end = CANNED_CLOSE},
        {.raw = "SSH-2.0-OpenSSH_9.2\r\n", .end = CANNED_CLOSE},
        {.status = "200 OK", .padding = BODY_MAX + 1},
    };
    static const struct canned no_answer = {.end = CANNED_HANG};
    static const int errors[] = {-EIO, -EIO, -EIO, -EIO, -EFBIG};
    struct http_options impatient = options;
    struct fixture f;
    begin(&f, answers, ARRAY_SIZE(answers));
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        assert_int_equal(change(&f, "PUT", BYTES_LITERAL("x")), errors[i]);
        assert_true(f.call.failure.is_ambiguous);
        assert_int_equal(f.call.failure.operation, -1);
    }
    end(&f);
    impatient.attempt_ms = SENT_MS;
    begin_with(&f, &no_answer, 1, &impatient);
    assert_int_equal(change(&f, "PUT", BYTES_LITERAL("x")), -ETIMEDOUT);
    assert_true(f.call.failure.is_ambiguous);
    assert_int_equal(f.call.failure.operation, -1);
    assert_int_equal(get(&f), -ETIMEDOUT); /* a read changes nothing */
    assert_false(f.call.failure.is_ambiguous);
    (void)snprintf(f.url, sizeof(f.url), "http://127.0.0.1:1/");
    assert_int_equal(change(&f, "PUT", BYTES_LITERAL("x")), -ECONNREFUSED); /* nothing was sent */
    assert_false(f.call.failure.is_ambiguous);
    assert_true(f.call.failure.is_unanswered);
    end(&f);
}

static bool has_come(void *context)
{
    struct fixture *f = context;
    return atomic_load(&f->server.requests) > 0;
}

static void a_cancelled_change_is_ambiguous(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.end = CANNED_HANG}};
    _cleanup_(end) struct fixture f;
    begin(&f, answers, 1);
    f.call.is_cancelled = has_come;
    f.call.context = &f;
    assert_int_equal(change(&f, "DELETE", (struct bytes){0}), -EINTR);
    assert_true(f.call.failure.is_ambiguous);
}

static void a_second_sending_brings_the_same_body(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.status = "200 OK"}, {.end = CANNED_CLOSE}, {.status = "409 Conflict"}};
    _cleanup_(end) struct fixture f;
    begin(&f, answers, 3);
    assert_int_equal(get(&f), 0);
    assert_int_equal(change(&f, "POST", BYTES_LITERAL("once")), 0);
    assert_true(f.answer.was_resent);
    assert_int_equal(f.answer.status, 409);
    expect_sent(&f, "POST", "4", "once");
}

static void a_connection_is_kept(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.status = "200 OK", .body = "b"}};
    _cleanup_(end) struct fixture f;
    begin(&f, answers, 1);
    for (int i = 0; i < 20; i++)
        assert_int_equal(get(&f), 0);
    assert_int_equal(f.server.requests, 20);
    assert_int_equal(f.server.connections, 1);
}

static void libcurls_own_second_sending_is_noticed(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.status = "200 OK"}, {.end = CANNED_CLOSE}, {.status = "200 OK", .body = "again"}};
    _cleanup_(end) struct fixture f;
    begin(&f, answers, 3);
    assert_int_equal(get(&f), 0);
    assert_false(f.answer.was_resent);
    assert_int_equal(get(&f), 0);
    expect_body(&f, "again");
    assert_true(f.answer.was_resent);
    assert_int_equal(f.server.requests, 3);
    assert_int_equal(get(&f), 0);
    assert_false(f.answer.was_resent);
}

static void broken_answers_are_errors(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.end = CANNED_RESET},
        {.end = CANNED_CLOSE},
        {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", .end = CANNED_CLOSE},
        {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", .end = CANNED_RESET},
        {.raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
         .end = CANNED_CLOSE},
        {.raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", .end = CANNED_CLOSE},
        {.raw = "SSH-2.0-OpenSSH_9.2\r\n", .end = CANNED_CLOSE},
        {.raw = "HTTP/1.1 200 OK\r\nConte", .end = CANNED_CLOSE},
    };
    _cleanup_(end) struct fixture f;
    begin(&f, answers, ARRAY_SIZE(answers));
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        assert_int_equal(get(&f), -EIO);
        assert_int_equal(f.call.failure.error, -EIO);
        assert_int_equal(f.call.failure.http_status, 0);
        assert_int_equal(f.call.failure.is_retryable, !answers[i].raw || answers[i].raw[0] == 'H');
        assert_true(f.call.failure.message[0] != '\0');
        assert_non_null(strstr(f.call.failure.advice, i == 6 ? "HTTP" : "the connection broke"));
        bool is_silent = !answers[i].raw || answers[i].raw[0] == 'S';
        assert_int_equal(f.call.failure.is_unanswered, is_silent);
        assert_int_equal(f.call.failure.has_begun_answer, !is_silent);
        assert_null(f.answer.body.data);
    }
    assert_int_equal(f.server.requests, ARRAY_SIZE(answers));
}

static void an_answer_too_large_is_refused(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.status = "200 OK", .padding = BODY_MAX},
        {.status = "200 OK", .padding = BODY_MAX + 1},
        {.raw = "HTTP/1.1 200 OK\r\n\r\n",
         .status = "200 OK",
         .padding = 2 * BODY_MAX,
         .end = CANNED_CLOSE},
    };
    _cleanup_(end) struct fixture f;
    begin(&f, answers, 3);
    assert_int_equal(get(&f), 0);
    assert_int_equal(f.answer.body.size, BODY_MAX);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(get(&f), -EFBIG);
        assert_false(f.call.failure.is_retryable);
    }
}

/* Many of them, and one that is longer than libcurl keeps. */
static void too_long_headers_are_refused(void **state)
{
    (void)state;
    const size_t max = (size_t)20 << 20;
    char *many = malloc(max), *one = malloc(max);
    assert_true(many && one);
    size_t size = (size_t)snprintf(many, max, "HTTP/1.1 200 OK\r\n");
    while (size < (size_t)100 << 10)
        size += (size_t)snprintf(many + size, max - size, "Header: %080d\r\n", 1);
    (void)snprintf(many + size, max - size, "Content-Length: 0\r\n\r\n");
    size = (size_t)snprintf(one, max, "HTTP/1.1 200 OK\r\nHeader: ");
    memset(one + size, 'x', max - size - 1);
    one[max - 1] = '\0';
    const struct canned answers[] = {{.raw = many, .end = CANNED_CLOSE},
                                     {.raw = one, .end = CANNED_CLOSE}};
    struct fixture f;
    begin(&f, answers, ARRAY_SIZE(answers));
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        assert_int_equal(get(&f), -EPROTO);
        assert_false(f.call.failure.is_retryable);
        assert_false(f.call.failure.is_unanswered);
        assert_string_equal(f.call.failure.message, "the headers of the answer are too long");
    }
    end(&f);
    free(many);
    free(one);
}

static void a_redirect_is_not_followed(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.status = "302 Found", .headers = "Location: /elsewhere\r\n"}};
    _cleanup_(end) struct fixture f;
    begin(&f, answers, 1);
    assert_int_equal(get(&f), 0);
    assert_int_equal(f.answer.status, 302);
    assert_int_equal(f.server.requests, 1);
}

static void a_cancel_ends_a_waiting_exchange(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.end = CANNED_HANG},
        {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", .end = CANNED_HANG}};
    _cleanup_(end) struct fixture f;
    begin(&f, answers, 2);
    for (int i = 0; i < 2; i++) {
        int64_t cancel_ms = clock_now_ms(&clock_system) + 100;
        f.call.is_cancelled = is_after;
        f.call.context = &cancel_ms;
        assert_int_equal(get(&f), -EINTR);
        assert_false(f.call.failure.is_retryable);
    }
}

/* The reason names the service, and the advice what to look at. */
static void expect_late(const struct fixture *f)
{
    char message[100];
    (void)snprintf(message, sizeof(message), "no answer from 127.0.0.1:%d in time", f->server.port);
    assert_string_equal(f->call.failure.message, message);
    assert_ptr_equal(f->call.failure.advice, call_advice_late);
}

static void a_deadline_ends_an_exchange(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.end = CANNED_HANG}};
    struct http_options impatient = options;
    _cleanup_(end) struct fixture f;
    impatient.attempt_ms = SENT_MS;
    begin_with(&f, answers, 1, &impatient);
    assert_int_equal(get(&f), -ETIMEDOUT); /* of this attempt: another one may follow */
    assert_true(f.call.failure.is_retryable);
    expect_late(&f);
    f.call.deadline_ms = clock_now_ms(&clock_system) + SENT_MS;
    assert_int_equal(get(&f), -ETIMEDOUT);
    assert_false(f.call.failure.is_retryable);
    expect_late(&f);
    int requests = f.server.requests;
    assert_int_equal(get(&f), -ETIMEDOUT); /* nothing is sent when time is over */
    expect_late(&f);
    assert_in_range(f.server.requests, requests, requests + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_has_status_headers_and_body),
        cmocka_unit_test(chunks_and_continues_are_understood),
        cmocka_unit_test(what_is_sent_is_what_was_given),
        cmocka_unit_test(every_method_sends_its_body),
        cmocka_unit_test(a_large_body_is_sent_whole),
        cmocka_unit_test(a_change_that_may_have_been_made_is_ambiguous),
        cmocka_unit_test(a_cancelled_change_is_ambiguous),
        cmocka_unit_test(a_second_sending_brings_the_same_body),
        cmocka_unit_test(a_connection_is_kept),
        cmocka_unit_test(libcurls_own_second_sending_is_noticed),
        cmocka_unit_test(broken_answers_are_errors),
        cmocka_unit_test(an_answer_too_large_is_refused),
        cmocka_unit_test(too_long_headers_are_refused),
        cmocka_unit_test(a_redirect_is_not_followed),
        cmocka_unit_test(a_cancel_ends_a_waiting_exchange),
        cmocka_unit_test(a_deadline_ends_an_exchange),
    };
    return cmocka_run_group_tests(tests, init_libcurl, NULL);
}
