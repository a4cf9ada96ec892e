/* SPDX-License-Identifier: MIT */
/* What many exchanges at once share: handles, of which one lane has a part. */
#include "tests/unit/client/http/http_fixture.h"

/* A request of the lane, with the fixture's deadline and cancel. */
static int get_in_lane(const struct fixture *f, unsigned lane)
{
    const struct http_request request = {.method = "GET", .url = f->url, .lane = lane};
    struct call call = f->call;
    struct http_answer answer = {0};
    int r = http_send(f->http, &request, &call, &answer);
    if (r == 0)
        assert_int_equal(answer.status, 200);
    http_answer_finish(&answer);
    return r;
}

static void *get_in_thread(void *fixture)
{
    return (void *)(intptr_t)get_in_lane(fixture, 0);
}

static void start_threads(pthread_t *threads, size_t count, struct fixture *f)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, get_in_thread, f), 0);
}

static void join_threads(const pthread_t *threads, size_t count, bool is_good)
{
    for (size_t i = 0; i < count; i++) {
        void *r;
        assert_int_equal(pthread_join(threads[i], &r), 0);
        assert_int_equal((intptr_t)r == 0, is_good);
    }
}

/* As many requests of lane 0 as it may have, all of which hang. */
static void fill_lane(pthread_t *threads, struct fixture *f)
{
    start_threads(threads, HTTP_LANE_MAX, f);
    while (f->server.requests < HTTP_LANE_MAX)
        (void)usleep(1000);
}

static void end_filled_lane(const pthread_t *threads, struct fixture *f)
{
    loopback_stop(&f->server);
    join_threads(threads, HTTP_LANE_MAX, false);
    http_destroy(f->http);
}

static void a_request_without_a_free_handle_waits(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.end = CANNED_HANG}};
    pthread_t threads[HTTP_LANE_MAX];
    struct fixture f;
    begin(&f, answers, 1);
    fill_lane(threads, &f);
    f.call.deadline_ms = clock_now_ms(&clock_system) + 150;
    assert_int_equal(get_in_lane(&f, 0), -ETIMEDOUT);
    int64_t begin_ms = clock_now_ms(&clock_system), cancel_ms = begin_ms + 100;
    f.call.deadline_ms = begin_ms + 20000;
    f.call.is_cancelled = is_after;
    f.call.context = &cancel_ms;
    assert_int_equal(get_in_lane(&f, 0), -EINTR);
    assert_int_equal(f.server.requests, HTTP_LANE_MAX);
    end_filled_lane(threads, &f);
}

static void a_handle_that_becomes_free_is_taken(void **state)
{
    (void)state;
    static const struct canned answers[] = {{.status = "200 OK", .delay_ms = 20}};
    pthread_t threads[3 * HTTP_LANE_MAX];
    _cleanup_(end) struct fixture f;
    begin(&f, answers, 1);
    start_threads(threads, ARRAY_SIZE(threads), &f);
    join_threads(threads, ARRAY_SIZE(threads), true);
    assert_int_equal(f.server.requests, 3 * HTTP_LANE_MAX);
    assert_in_range(f.server.connections, 1, HTTP_LANE_MAX);
}

static void a_lane_that_hangs_leaves_room_to_others(void **state)
{
    (void)state;
    struct canned answers[HTTP_LANE_MAX + 1];
    pthread_t threads[HTTP_LANE_MAX];
    struct fixture f;
    for (size_t i = 0; i < HTTP_LANE_MAX; i++)
        answers[i] = (struct canned){.end = CANNED_HANG};
    answers[HTTP_LANE_MAX] = (struct canned){.status = "200 OK"};
    begin(&f, answers, ARRAY_SIZE(answers));
    fill_lane(threads, &f);
    for (int i = 0; i < 3; i++)
        assert_int_equal(get_in_lane(&f, 1), 0);
    f.call.deadline_ms = clock_now_ms(&clock_system) + 150;
    assert_int_equal(get_in_lane(&f, 0), -ETIMEDOUT);
    assert_int_equal(f.server.requests, HTTP_LANE_MAX + 3);
    end_filled_lane(threads, &f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_without_a_free_handle_waits),
        cmocka_unit_test(a_handle_that_becomes_free_is_taken),
        cmocka_unit_test(a_lane_that_hangs_leaves_room_to_others),
    };
    return cmocka_run_group_tests(tests, init_libcurl, NULL);
}
