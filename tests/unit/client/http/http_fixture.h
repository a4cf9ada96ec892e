/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CLIENT_HTTP_HTTP_FIXTURE_H
#define TESTS_UNIT_CLIENT_HTTP_HTTP_FIXTURE_H
/* An http that talks to a server with canned answers. */
#include "client/http/http.h"
#include "tests/unit/loopback_server.h"
#include "tests/unit/unit.h"

#define BODY_MAX ((size_t)1 << 20)

struct fixture {
    struct loopback_server server;
    struct http *http;
    struct call call;
    struct http_answer answer;
    char url[200];
};

static const struct http_options options = {.connect_ms = 60000,
                                            .attempt_ms = 60000,
                                            .body_max_bytes = BODY_MAX,
                                            .answers_max_bytes = 10 * BODY_MAX};

static inline void begin_with(struct fixture *fixture, const struct canned *answers, size_t count,
                              const struct http_options *http_options)
{
    loopback_start(&fixture->server, answers, count);
    assert_int_equal(http_create(http_options, &clock_system, &fixture->http), 0);
    fixture->call = (struct call){.deadline_ms = clock_now_ms(&clock_system) + 60000};
    fixture->answer = (struct http_answer){0};
    (void)snprintf(fixture->url, sizeof(fixture->url), "http://127.0.0.1:%d/path?query",
                   fixture->server.port);
}

static inline void begin(struct fixture *fixture, const struct canned *answers, size_t count)
{
    begin_with(fixture, answers, count, &options);
}

static inline int get(struct fixture *fixture)
{
    const struct http_request request = {.method = "GET", .url = fixture->url};
    http_answer_finish(&fixture->answer);
    return http_send(fixture->http, &request, &fixture->call, &fixture->answer);
}

static inline void end(struct fixture *fixture)
{
    http_answer_finish(&fixture->answer);
    http_destroy(fixture->http);
    loopback_stop(&fixture->server);
}

static inline bool is_after(void *context)
{
    return clock_now_ms(&clock_system) >= *(const int64_t *)context;
}

static inline int init_libcurl(void **state)
{
    (void)state;
    return http_global_init();
}

#endif
