/* SPDX-License-Identifier: MIT */
/* Connections that are not made, TLS, proxies, and a lack of descriptors. */
#include "tests/unit/client/http/http_fixture.h"

#include <sys/resource.h>

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
    _cleanup_(end) struct fixture f;
    begin(&f, answers, 1);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        (void)snprintf(f.url, sizeof(f.url), "%s", cases[i].url);
        assert_int_equal(get(&f), cases[i].error);
        assert_true(f.call.failure.is_retryable);
        assert_true(f.call.failure.is_unanswered);
        assert_int_equal(f.call.failure.is_unresolved, cases[i].error == -EHOSTUNREACH);
        assert_non_null(strstr(f.call.failure.message, cases[i].message));
        assert_null(strstr(f.call.failure.message, "proxy"));
        assert_non_null(f.call.failure.advice);
    }
}

static void a_connection_that_takes_too_long_is_none(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.status = "200 OK"}};
    _cleanup_(end) struct fixture f;
    int sockets[3], port = full_listener(sockets);
    char message[100];
    begin(&f, answers, 1);
    (void)snprintf(f.url, sizeof(f.url), "http://127.0.0.1:%d?query", port);
    (void)snprintf(message, sizeof(message), "no connection to 127.0.0.1:%d in time", port);
    f.call.deadline_ms = clock_now_ms(&clock_system) + 1000;
    assert_int_equal(get(&f), -EHOSTUNREACH); /* at the deadline, before connect_ms */
    assert_true(f.call.failure.is_unanswered);
    assert_string_equal(f.call.failure.message, message);
    assert_int_equal(get(&f), -ETIMEDOUT); /* nothing was tried */
    assert_false(f.call.failure.is_unanswered);
    for (int i = 0; i < 3; i++)
        (void)close(sockets[i]);
}

static void other_protocols_are_refused(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.status = "200 OK"}};
    static const char *const urls[] = {"file:///etc/passwd", "ftp://127.0.0.1/", "http://", ""};
    _cleanup_(end) struct fixture f;
    begin(&f, answers, 1);
    for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
        (void)snprintf(f.url, sizeof(f.url), "%s", urls[i]);
        assert_int_equal(get(&f), -EIO);
        assert_false(f.call.failure.is_retryable);
    }
}

/* As a proxy leaves it that gives an answer the wrong length. */
static void what_is_no_http_may_be_the_rest_of_an_answer(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.raw = "no HTTP\r\n", .end = CANNED_CLOSE},
        {.status = "200 OK"},
        {.raw = "the rest of a body\r\n", .end = CANNED_CLOSE},
        {.status = "200 OK"},
    };
    static const int errors[] = {-EIO, 0, -EIO, 0};
    _cleanup_(end) struct fixture f;
    begin(&f, answers, ARRAY_SIZE(answers));
    for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
        assert_int_equal(get(&f), errors[i]);
        bool is_used = i == 2; /* the connection */
        if (errors[i] < 0)
            assert_int_equal(f.call.failure.is_retryable, is_used);
    }
    assert_int_equal(f.server.connections, 3);
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
static void a_proxy_that_does_not_connect_is_reported(void **state)
{
    (void)state;
    static const struct canned answers[] = {
        {.raw = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", .end = CANNED_CLOSE},
        {.raw = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", .end = CANNED_CLOSE}};
    struct http_options proxied = options;
    _cleanup_(end) struct fixture f;
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
}

static void a_proxy_is_used_only_if_it_may_be(void **state)
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

static void a_malformed_proxy_is_told_without_its_password(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.status = "200 OK"}};
    static const char *const proxies[] = {
        "http://user:s3/cret@name.invalid:80",  "http://user:s3 cret@name.invalid:80",
        "http://user:s3@cret@name.invalid:80",  "http://user:s3cret@name.invalid:port",
        "foo://user:s3cret@name.invalid:80",    "user:s3cret@",
        "socks9://user:s3cret@name.invalid:80", "http://:s3cret@",
        "http://user:s3#cret@name.invalid",     "s3cret@name.invalid@name.invalid"};
    struct http_options proxied = options;
    _cleanup_(end) struct fixture f;
    proxied.use_proxy = true;
    begin_with(&f, answers, 1, &proxied);
    (void)snprintf(f.url, sizeof(f.url), "https://name.invalid/");
    for (size_t i = 0; i < ARRAY_SIZE(proxies); i++) {
        assert_int_equal(setenv("https_proxy", proxies[i], 1), 0);
        assert_int_equal(get(&f), -EHOSTUNREACH);
        assert_int_equal(strncmp(f.call.failure.message, "proxy: ", 7), 0);
        assert_null(strstr(f.call.failure.message, "s3"));
        assert_null(strstr(f.call.failure.message, "cret"));
        assert_non_null(strstr(f.call.failure.advice, "https_proxy"));
    }
    assert_int_equal(unsetenv("https_proxy"), 0);
}

/* To a host by its number and by its name, with a free port and with none that listens. */
static void without_a_descriptor_the_reason_is_that(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.status = "200 OK"}};
    static const char *const urls[] = {"http://127.0.0.1:1/", "https://127.0.0.1:1/",
                                       "http://localhost:1/", "https://name.invalid/"};
    _cleanup_(end) struct fixture f;
    struct rlimit before, none;
    begin(&f, answers, 1);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 3; /* the standard descriptors, which are open */
    for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
        (void)snprintf(f.url, sizeof(f.url), "%s", urls[i]);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        int r = get(&f);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(r, -ENFILE);
        assert_string_equal(f.call.failure.message, "the process has no file descriptor left");
        assert_true(f.call.failure.is_retryable); /* another request may end */
        assert_false(f.call.failure.is_unanswered);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_connection_has_a_reason),
        cmocka_unit_test(a_connection_that_takes_too_long_is_none),
        cmocka_unit_test(other_protocols_are_refused),
        cmocka_unit_test(what_is_no_http_may_be_the_rest_of_an_answer),
        cmocka_unit_test(tls_troubles_are_told_apart),
        cmocka_unit_test(a_proxy_is_used_only_if_it_may_be),
        cmocka_unit_test(a_proxy_that_does_not_connect_is_reported),
        cmocka_unit_test(a_malformed_proxy_is_told_without_its_password),
        cmocka_unit_test(without_a_descriptor_the_reason_is_that),
    };
    return cmocka_run_group_tests(tests, init_libcurl, NULL);
}
