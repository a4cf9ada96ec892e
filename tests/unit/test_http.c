#include "client/azure/http.h"
#include "tests/unit/loopback_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define BODY_MAX ((size_t)1 << 20)

struct fixture {
    struct loopback_server server;
    struct http *http;
    struct call call;
    struct http_answer answer;
    char url[200];
};

static const struct http_options options = {
    .connect_ms = 2000, .attempt_ms = 20000, .body_max_bytes = BODY_MAX};

static void begin_with(struct fixture *fixture, const struct canned *answers, size_t count,
                       const struct http_options *http_options)
{
    loopback_start(&fixture->server, answers, count);
    assert_int_equal(http_create(http_options, &clock_system, &fixture->http), 0);
    fixture->call = (struct call){.deadline_ms = clock_now_ms(&clock_system) + 20000};
    fixture->answer = (struct http_answer){0};
    (void)snprintf(fixture->url, sizeof(fixture->url), "http://127.0.0.1:%d/path?query",
                   fixture->server.port);
}

static void begin(struct fixture *fixture, const struct canned *answers, size_t count)
{
    begin_with(fixture, answers, count, &options);
}

static int get(struct fixture *fixture)
{
    const struct http_request request = {.method = "GET", .url = fixture->url};
    http_answer_finish(&fixture->answer);
    return http_send(fixture->http, &request, &fixture->call, &fixture->answer);
}

static void end(struct fixture *fixture)
{
    http_answer_finish(&fixture->answer);
    http_destroy(fixture->http);
    loopback_stop(&fixture->server);
}

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
    struct fixture f;
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
    end(&f);
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
    struct fixture f;
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
    end(&f);
}

static void what_is_sent_is_what_was_given(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.status = "200 OK"}};
    struct fixture f;
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
    end(&f);
}

static bool is_after(void *context)
{
    return clock_now_ms(&clock_system) >= *(const int64_t *)context;
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
    struct fixture f;
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
    end(&f);
}

static void a_large_body_is_sent_whole(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.status = "204 No Content"}};
    static char text[(4 << 20) + 1];
    struct fixture f;
    begin(&f, answers, 1);
    memset(text, 'x', sizeof(text) - 1);
    assert_int_equal(change(&f, "POST", bytes_of(text)), 0);
    expect_sent(&f, "POST", "4194304", text);
    end(&f);
}

static void a_change_that_may_have_been_made_is_ambiguous(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.end = CANNED_RESET},
        {.end = CANNED_CLOSE},
        {.raw = "HTTP/1.1 204 No Content\r\nConte", .end = CANNED_CLOSE},
        {.raw = "SSH-2.0-OpenSSH_9.2\r\n", .end = CANNED_CLOSE},
        {.status = "200 OK", .padding = BODY_MAX + 1},
        {.end = CANNED_HANG},
    };
    static const int errors[] = {-EIO, -EIO, -EIO, -EIO, -EFBIG, -ETIMEDOUT};
    struct http_options impatient = options;
    struct fixture f;
    impatient.attempt_ms = 150;
    begin_with(&f, answers, ARRAY_SIZE(answers), &impatient);
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        assert_int_equal(change(&f, "PUT", BYTES_LITERAL("x")), errors[i]);
        assert_true(f.call.failure.is_ambiguous);
        assert_int_equal(f.call.failure.operation, -1);
    }
    assert_int_equal(get(&f), -ETIMEDOUT); /* a read changes nothing */
    assert_false(f.call.failure.is_ambiguous);
    (void)snprintf(f.url, sizeof(f.url), "http://127.0.0.1:1/");
    assert_int_equal(change(&f, "PUT", BYTES_LITERAL("x")), -ECONNREFUSED); /* nothing was sent */
    assert_false(f.call.failure.is_ambiguous);
    assert_true(f.call.failure.is_unanswered);
    end(&f);
}

static void a_cancelled_change_is_ambiguous(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.end = CANNED_HANG}};
    struct fixture f;
    begin(&f, answers, 1);
    int64_t cancel_ms = clock_now_ms(&clock_system) + 100;
    f.call.is_cancelled = is_after;
    f.call.context = &cancel_ms;
    assert_int_equal(change(&f, "DELETE", (struct bytes){0}), -EINTR);
    assert_true(f.call.failure.is_ambiguous);
    end(&f);
}

static void a_second_sending_brings_the_same_body(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.status = "200 OK"}, {.end = CANNED_CLOSE}, {.status = "409 Conflict"}};
    struct fixture f;
    begin(&f, answers, 3);
    assert_int_equal(get(&f), 0);
    assert_int_equal(change(&f, "POST", BYTES_LITERAL("once")), 0);
    assert_true(f.answer.was_resent);
    assert_int_equal(f.answer.status, 409);
    expect_sent(&f, "POST", "4", "once");
    end(&f);
}

static void a_connection_is_kept(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.status = "200 OK", .body = "b"}};
    struct fixture f;
    begin(&f, answers, 1);
    for (int i = 0; i < 20; i++)
        assert_int_equal(get(&f), 0);
    assert_int_equal(f.server.requests, 20);
    assert_int_equal(f.server.connections, 1);
    end(&f);
}

static void libcurls_own_second_sending_is_noticed(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.status = "200 OK"}, {.end = CANNED_CLOSE}, {.status = "200 OK", .body = "again"}};
    struct fixture f;
    begin(&f, answers, 3);
    assert_int_equal(get(&f), 0);
    assert_false(f.answer.was_resent);
    assert_int_equal(get(&f), 0);
    expect_body(&f, "again");
    assert_true(f.answer.was_resent);
    assert_int_equal(f.server.requests, 3);
    assert_int_equal(get(&f), 0);
    assert_false(f.answer.was_resent);
    end(&f);
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
    struct fixture f;
    begin(&f, answers, ARRAY_SIZE(answers));
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        assert_int_equal(get(&f), -EIO);
        assert_int_equal(f.call.failure.error, -EIO);
        assert_int_equal(f.call.failure.http_status, 0);
        assert_int_equal(f.call.failure.is_retryable, !answers[i].raw || answers[i].raw[0] == 'H');
        assert_true(f.call.failure.message[0] != '\0');
        bool is_silent = !answers[i].raw || answers[i].raw[0] == 'S';
        assert_int_equal(f.call.failure.is_unanswered, is_silent);
        assert_int_equal(f.call.failure.has_begun_answer, !is_silent);
        assert_null(f.answer.body.data);
    }
    assert_int_equal(f.server.requests, ARRAY_SIZE(answers));
    end(&f);
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
    struct fixture f;
    begin(&f, answers, 3);
    assert_int_equal(get(&f), 0);
    assert_int_equal(f.answer.body.size, BODY_MAX);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(get(&f), -EFBIG);
        assert_false(f.call.failure.is_retryable);
    }
    end(&f);
}

static void a_flood_of_headers_is_refused(void **state)
{
    (void)state;
    static char raw[(200 << 10) + 100];
    size_t size = (size_t)snprintf(raw, sizeof(raw), "HTTP/1.1 200 OK\r\n");
    while (size < (size_t)100 << 10)
        size += (size_t)snprintf(raw + size, sizeof(raw) - size, "Header: %080d\r\n", 1);
    (void)snprintf(raw + size, sizeof(raw) - size, "Content-Length: 0\r\n\r\n");
    const struct canned answers[] = {{.raw = raw}};
    struct fixture f;
    begin(&f, answers, 1);
    assert_int_equal(get(&f), -EPROTO);
    assert_false(f.call.failure.is_retryable);
    assert_false(f.call.failure.is_unanswered);
    assert_string_equal(f.call.failure.message, "the headers of the answer are too long");
    end(&f);
}

static void a_header_longer_than_libcurl_keeps_is_refused(void **state)
{
    (void)state;
    static const char begin_of_answer[] = "HTTP/1.1 200 OK\r\nHeader: ";
    size_t size = (size_t)20 << 20;
    char *raw = malloc(size + 1);
    assert_non_null(raw);
    memset(raw, 'x', size);
    memcpy(raw, begin_of_answer, sizeof(begin_of_answer) - 1);
    raw[size] = '\0';
    const struct canned answers[] = {{.raw = raw, .end = CANNED_CLOSE}};
    struct fixture f;
    begin(&f, answers, 1);
    assert_int_equal(get(&f), -EPROTO);
    assert_false(f.call.failure.is_retryable);
    assert_string_equal(f.call.failure.message, "the headers of the answer are too long");
    end(&f);
    free(raw);
}

static void a_redirect_is_not_followed(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.status = "302 Found", .headers = "Location: /elsewhere\r\n"}};
    struct fixture f;
    begin(&f, answers, 1);
    assert_int_equal(get(&f), 0);
    assert_int_equal(f.answer.status, 302);
    assert_int_equal(f.server.requests, 1);
    end(&f);
}

static void a_cancel_ends_a_waiting_exchange(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.end = CANNED_HANG},
        {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", .end = CANNED_HANG}};
    struct fixture f;
    begin(&f, answers, 2);
    for (int i = 0; i < 2; i++) {
        int64_t cancel_ms = clock_now_ms(&clock_system) + 100;
        f.call.is_cancelled = is_after;
        f.call.context = &cancel_ms;
        assert_int_equal(get(&f), -EINTR);
        assert_false(f.call.failure.is_retryable);
    }
    end(&f);
}

static void a_deadline_ends_an_exchange(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.end = CANNED_HANG}};
    struct http_options impatient = options;
    struct fixture f;
    impatient.attempt_ms = 150;
    begin_with(&f, answers, 1, &impatient);
    assert_int_equal(get(&f), -ETIMEDOUT); /* of this attempt: another one may follow */
    assert_true(f.call.failure.is_retryable);
    f.call.deadline_ms = clock_now_ms(&clock_system) + 50;
    assert_int_equal(get(&f), -ETIMEDOUT);
    assert_false(f.call.failure.is_retryable);
    int requests = f.server.requests;
    assert_int_equal(get(&f), -ETIMEDOUT); /* nothing is sent when time is over */
    assert_in_range(f.server.requests, requests, requests + 1);
    end(&f);
}

/* A connect that the kernel neither accepts nor refuses: the listener's queue is full. */
static int full_listener(int sockets[3])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    for (int i = 0; i < 3; i++)
        sockets[i] = socket(AF_INET, SOCK_STREAM | (i > 0 ? SOCK_NONBLOCK : 0), 0);
    assert_int_equal(bind(sockets[0], (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(sockets[0], 0), 0);
    assert_int_equal(getsockname(sockets[0], (struct sockaddr *)&address, &size), 0);
    for (int i = 1; i < 3; i++)
        (void)connect(sockets[i], (struct sockaddr *)&address, size);
    return ntohs(address.sin_port);
}

static void no_connection_has_a_reason(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.status = "200 OK"}};
    static const struct {
        const char *url, *message;
        int error;
    } cases[] = {{"http://127.0.0.1:1/", "127.0.0.1 port 1", -ECONNREFUSED},
                 {"http://[::1]:1/", "::1 port 1", -ECONNREFUSED},
                 {"http://name.invalid/", "Could not resolve host: name.invalid", -EHOSTUNREACH}};
    struct fixture f;
    begin(&f, answers, 1);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        (void)snprintf(f.url, sizeof(f.url), "%s", cases[i].url);
        assert_int_equal(get(&f), cases[i].error);
        assert_true(f.call.failure.is_retryable);
        assert_true(f.call.failure.is_unanswered);
        assert_non_null(strstr(f.call.failure.message, cases[i].message));
        assert_null(strstr(f.call.failure.message, "proxy"));
        assert_non_null(f.call.failure.advice);
    }
    end(&f);
}

static void a_connection_that_takes_too_long_is_none(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.status = "200 OK"}};
    struct fixture f;
    int sockets[3];
    begin(&f, answers, 1);
    (void)snprintf(f.url, sizeof(f.url), "http://127.0.0.1:%d/", full_listener(sockets));
    f.call.deadline_ms = clock_now_ms(&clock_system) + 100;
    assert_int_equal(get(&f), -EHOSTUNREACH); /* at the deadline, before connect_ms */
    assert_true(f.call.failure.is_unanswered);
    assert_string_equal(f.call.failure.message, "no connection to the service in time");
    assert_int_equal(get(&f), -ETIMEDOUT); /* nothing was tried */
    assert_false(f.call.failure.is_unanswered);
    for (int i = 0; i < 3; i++)
        (void)close(sockets[i]);
    end(&f);
}

static void other_protocols_are_refused(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.status = "200 OK"}};
    static const char *const urls[] = {"file:///etc/passwd", "ftp://127.0.0.1/", "http://", ""};
    struct fixture f;
    begin(&f, answers, 1);
    for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
        (void)snprintf(f.url, sizeof(f.url), "%s", urls[i]);
        assert_int_equal(get(&f), -EIO);
        assert_false(f.call.failure.is_retryable);
    }
    end(&f);
}

static void tls_troubles_are_told_apart(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.raw = "HTTP/1.1 400 no TLS\r\n\r\n", .end = CANNED_CLOSE}};
    struct http_options impatient = options, distrusting = options;
    struct fixture f;
    impatient.connect_ms = 300;
    begin_with(&f, answers, 1, &impatient);
    (void)snprintf(f.url, sizeof(f.url), "https://127.0.0.1:%d/", f.server.port);
    /* the server waits for a request's end, which TLS does not send: the connection's time limit
     * ends that */
    assert_int_equal(get(&f), -EHOSTUNREACH);
    assert_true(f.call.failure.is_retryable);
    end(&f);
    distrusting.ca_file = "/nonexistent/ca.pem";
    begin_with(&f, answers, 1, &distrusting);
    (void)snprintf(f.url, sizeof(f.url), "https://127.0.0.1:%d/", f.server.port);
    assert_int_equal(get(&f), -EPROTO);
    assert_false(f.call.failure.is_retryable);
    assert_non_null(strstr(f.call.failure.advice, "ca_cert="));
    end(&f);
}

static void expect_proxys(struct fixture *f, const char *message)
{
    assert_int_equal(strncmp(f->call.failure.message, message, strlen(message)), 0);
    assert_non_null(strstr(f->call.failure.advice, "https_proxy"));
    assert_true(f->call.failure.is_retryable);
    assert_true(f->call.failure.is_unanswered);
}

/* To CONNECT, for an endpoint with TLS. */
static void a_proxy_that_does_not_connect_is_told(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.raw = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", .end = CANNED_CLOSE},
        {.raw = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", .end = CANNED_CLOSE}};
    struct http_options proxied = options;
    struct fixture f;
    char proxy[60];
    proxied.use_proxy = true;
    begin_with(&f, answers, 2, &proxied);
    (void)snprintf(proxy, sizeof(proxy), "http://127.0.0.1:%d", f.server.port);
    (void)snprintf(f.url, sizeof(f.url), "https://name.invalid/");
    assert_int_equal(setenv("https_proxy", proxy, 1), 0);
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        assert_int_equal(get(&f), -EHOSTUNREACH);
        assert_int_equal(f.call.failure.is_retryable, i == 1);
        assert_int_equal(strncmp(f.call.failure.message, "proxy: ", 7), 0);
        assert_non_null(strstr(f.call.failure.message, i == 0 ? "403" : "502"));
        assert_non_null(strstr(f.call.failure.advice, "https_proxy"));
    }
    assert_int_equal(unsetenv("https_proxy"), 0);
    end(&f);
}

static void proxies_serve_who_may_use_them(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.status = "200 OK"}};
    struct http_options proxied = options;
    struct fixture f;
    proxied.use_proxy = true;
    assert_int_equal(setenv("http_proxy", "http://127.0.0.1:1", 1), 0);
    assert_int_equal(setenv("all_proxy", "http://127.0.0.1:1", 1), 0);
    assert_int_equal(unsetenv("no_proxy"), 0);
    assert_int_equal(unsetenv("NO_PROXY"), 0);
    begin(&f, answers, 1);
    assert_int_equal(get(&f), 0);
    end(&f);
    begin_with(&f, answers, 1, &proxied);
    assert_int_equal(get(&f), -ECONNREFUSED);
    assert_int_equal(f.server.requests, 0);
    expect_proxys(&f, "proxy: Failed to connect to 127.0.0.1 port 1 ");
    assert_int_equal(setenv("http_proxy", "http://name.invalid:1", 1), 0);
    assert_int_equal(get(&f), -EHOSTUNREACH);
    expect_proxys(&f, "proxy: Could not resolve proxy: name.invalid");
    end(&f);
    assert_int_equal(unsetenv("http_proxy"), 0);
    assert_int_equal(unsetenv("all_proxy"), 0);
}

static void *get_in_thread(void *context)
{
    const struct fixture *f = context;
    const struct http_request request = {.method = "GET", .url = f->url};
    struct call call = f->call;
    struct http_answer answer = {0};
    int r = http_send(f->http, &request, &call, &answer);
    http_answer_finish(&answer);
    return (void *)(intptr_t)r;
}

static void await_requests(struct fixture *f, int n)
{
    for (int i = 0; i < 1000 && f->server.requests < n; i++)
        (void)usleep(10000);
    assert_int_equal(f->server.requests, n);
}

static void who_finds_no_free_handle_waits(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.end = CANNED_HANG}};
    pthread_t threads[HTTP_LANE_MAX];
    struct fixture f;
    begin(&f, answers, 1);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, get_in_thread, &f), 0);
    await_requests(&f, HTTP_LANE_MAX);
    f.call.deadline_ms = clock_now_ms(&clock_system) + 150;
    assert_int_equal(get(&f), -ETIMEDOUT);
    int64_t begin_ms = clock_now_ms(&clock_system), cancel_ms = begin_ms + 100;
    f.call.deadline_ms = begin_ms + 20000;
    f.call.is_cancelled = is_after;
    f.call.context = &cancel_ms;
    assert_int_equal(get(&f), -EINTR);
    assert_int_equal(f.server.requests, HTTP_LANE_MAX);
    loopback_stop(&f.server);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        void *r;
        assert_int_equal(pthread_join(threads[i], &r), 0);
        assert_true((intptr_t)r < 0);
    }
    http_destroy(f.http);
}

static void a_handle_that_becomes_free_is_taken(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.status = "200 OK", .delay_ms = 20}};
    pthread_t threads[3 * HTTP_LANE_MAX];
    struct fixture f;
    begin(&f, answers, 1);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, get_in_thread, &f), 0);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        void *r;
        assert_int_equal(pthread_join(threads[i], &r), 0);
        assert_int_equal((intptr_t)r, 0);
    }
    assert_int_equal(f.server.requests, 3 * HTTP_LANE_MAX);
    assert_in_range(f.server.connections, 1, HTTP_LANE_MAX);
    end(&f);
}

static int init_libcurl(void **state)
{
    (void)state;
    return http_global_init();
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
        cmocka_unit_test(a_flood_of_headers_is_refused),
        cmocka_unit_test(a_header_longer_than_libcurl_keeps_is_refused),
        cmocka_unit_test(a_redirect_is_not_followed),
        cmocka_unit_test(a_cancel_ends_a_waiting_exchange),
        cmocka_unit_test(a_deadline_ends_an_exchange),
        cmocka_unit_test(no_connection_has_a_reason),
        cmocka_unit_test(a_connection_that_takes_too_long_is_none),
        cmocka_unit_test(other_protocols_are_refused),
        cmocka_unit_test(tls_troubles_are_told_apart),
        cmocka_unit_test(proxies_serve_who_may_use_them),
        cmocka_unit_test(a_proxy_that_does_not_connect_is_told),
        cmocka_unit_test(who_finds_no_free_handle_waits),
        cmocka_unit_test(a_handle_that_becomes_free_is_taken),
    };
    return cmocka_run_group_tests(tests, init_libcurl, NULL);
}
