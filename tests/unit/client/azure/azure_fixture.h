/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CLIENT_AZURE_AZURE_FIXTURE_H
#define TESTS_UNIT_CLIENT_AZURE_AZURE_FIXTURE_H
/* An azure_store over a loopback server, at a fixed time. For tests. */
#include "client/azure/azure_store.h"
#include "client/azure/service_error.h"
#include "client/http/http.h"
#include "tests/unit/loopback_server.h"
#include "tests/unit/unit.h"

#define KEY                                                                                        \
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
#define SAS "sv=2020-12-06&sp=rl&sig=SECRET%3D"

static inline int64_t fixed_utc_100ns(void *context)
{
    (void)context;
    return 1735787045 * TICKS_PER_SEC; /* Thu, 02 Jan 2025 03:04:05 GMT */
}

static inline int64_t standing_monotonic_ms(void *context)
{
    (void)context;
    return 1000;
}

struct fixture {
    struct loopback_server server;
    struct clock clock;
    struct connection connection;
    struct clock_skew *skew;
    struct table_store *store;
    struct call call;
};

static inline void connect_as(struct fixture *f, const struct canned *answers, size_t count,
                              const struct connection_environment *environment)
{
    char source[100];
    memset(&f->call, 0, sizeof(f->call));
    loopback_start(&f->server, answers, count);
    (void)snprintf(source, sizeof(source), "http://127.0.0.1:%d/devstoreaccount1", f->server.port);
    assert_int_equal(connection_init(&f->connection, source, environment, &f->call), 0);
}

static inline void open_store(struct fixture *f)
{
    f->clock = clock_system;
    f->clock.utc_100ns = fixed_utc_100ns;
    f->clock.monotonic_ms = standing_monotonic_ms;
    assert_int_equal(clock_skew_create(&f->clock, NULL, NULL, &f->skew), 0);
    const struct service_options options = {
        .connection = &f->connection, .skew = f->skew, .answers_max_bytes = (size_t)1 << 20};
    assert_int_equal(azure_store_create(&options, &f->clock, &f->store), 0);
    f->call.deadline_ms = standing_monotonic_ms(NULL) + 20900;
}

static inline void begin_as(struct fixture *f, const struct canned *answers, size_t count,
                            const struct connection_environment *environment)
{
    connect_as(f, answers, count, environment);
    open_store(f);
}

static inline void begin(struct fixture *f, const struct canned *answers, size_t count)
{
    const struct connection_environment environment = {.key = KEY};
    begin_as(f, answers, count, &environment);
}

/* All but the server. */
static inline void end_client(struct fixture *f)
{
    table_store_destroy(f->store);
    clock_skew_destroy(f->skew);
    connection_finish(&f->connection);
}

static inline void end(struct fixture *f)
{
    end_client(f);
    loopback_stop(&f->server);
}

static inline int list_tables(struct fixture *f, const char *only, struct buffer *ret)
{
    struct table_names names;
    struct continuation *next = NULL;
    buffer_init(&names.names, 10000);
    int r = table_store_list_tables(f->store, only, NULL, &f->call, &names, &next);
    assert_null(next);
    *ret = names.names;
    return r;
}

static inline void expect_request(struct fixture *f, const char *expected)
{
    char *line = loopback_request_line(&f->server);
    assert_string_equal(line, expected);
    free(line);
}

static inline void expect_header(struct fixture *f, const char *name, const char *expected)
{
    char *value = loopback_header(&f->server, name);
    if (expected)
        assert_string_equal(value, expected);
    else
        assert_null(value);
    free(value);
}

static inline void expect_body(struct fixture *f, const char *expected)
{
    char *body = loopback_body(&f->server);
    assert_string_equal(body, expected);
    free(body);
}

/* An entity of one string, as long as makes the text that size. */
static inline struct bytes fill_text(char *text, size_t size)
{
    static const struct bytes begin = B("{\n  \"s\": \""), end = B("\"\n}\n");
    memset(text, 'x', size);
    memcpy(text, begin.data, begin.size);
    memcpy(text + size - end.size, end.data, end.size);
    return (struct bytes){text, size};
}

static inline int init_libcurl(void **state)
{
    (void)state;
    return http_global_init();
}

#endif
