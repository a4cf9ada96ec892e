/* What many exchanges at once share. */
#include "client/azure/http.h"
#include "tests/unit/loopback_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

struct fixture {
    struct loopback_server server;
    struct http *http;
    char url[64];
};

/* A request of the lane, with so much time. */
static int get(const struct fixture *f, unsigned lane, int64_t patience_ms)
{
    const struct http_request request = {.method = "GET", .url = f->url, .lane = lane};
    struct call call = {.deadline_ms = clock_now_ms(&clock_system) + patience_ms};
    struct http_answer answer = {0};
    int r = http_send(f->http, &request, &call, &answer);
    if (r == 0)
        assert_int_equal(answer.status, 200);
    http_answer_finish(&answer);
    return r;
}

static void *hang(void *context)
{
    return (void *)(intptr_t)get(context, 0, 20000);
}

static void await_requests(struct fixture *f, int n)
{
    for (int i = 0; i < 1000 && f->server.requests < n; i++)
        (void)usleep(10000);
    assert_int_equal(f->server.requests, n);
}

/* As many requests of one lane as may hang do so. */
static void a_lane_that_hangs_leaves_room_to_others(void **state)
{
    (void)state;
    static const struct http_options options = {
        .connect_ms = 2000, .attempt_ms = 20000, .body_max_bytes = 1000};
    struct canned answers[HTTP_LANE_MAX + 1];
    pthread_t threads[HTTP_LANE_MAX];
    struct fixture f = {0};
    for (size_t i = 0; i < HTTP_LANE_MAX; i++)
        answers[i] = (struct canned){.end = CANNED_HANG};
    answers[HTTP_LANE_MAX] = (struct canned){.status = "200 OK"};
    loopback_start(&f.server, answers, ARRAY_SIZE(answers));
    (void)snprintf(f.url, sizeof(f.url), "http://127.0.0.1:%d/", f.server.port);
    assert_int_equal(http_create(&options, &clock_system, &f.http), 0);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hang, &f), 0);
    await_requests(&f, HTTP_LANE_MAX);
    for (int i = 0; i < 3; i++)
        assert_int_equal(get(&f, 1, 20000), 0);
    assert_int_equal(get(&f, 0, 150), -ETIMEDOUT);
    assert_int_equal(f.server.requests, HTTP_LANE_MAX + 3);
    loopback_stop(&f.server);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        void *r;
        assert_int_equal(pthread_join(threads[i], &r), 0);
        assert_true((intptr_t)r < 0);
    }
    http_destroy(f.http);
}

static int init_libcurl(void **state)
{
    (void)state;
    return http_global_init();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lane_that_hangs_leaves_room_to_others),
    };
    return cmocka_run_group_tests(tests, init_libcurl, NULL);
}
