/* SPDX-License-Identifier: MIT */
#include "client/store/service_health.h"
#include "tests/unit/threads.h"

#include <stdatomic.h>

#define LANE 7 /* of most attempts */

struct setup {
    int64_t now_ms;
    struct clock clock;
    struct service_health *health;
    int ups, downs;
    int64_t lasted_ms;
    char reason[256];
};

static void note_change(void *context, const struct service_change *change)
{
    struct setup *setup = context;
    setup->ups += change->is_up;
    setup->downs += !change->is_up;
    setup->lasted_ms = change->lasted_ms;
    (void)snprintf(setup->reason, sizeof(setup->reason), "%s", change->failure->message);
}

static void set_up(struct setup *setup)
{
    *setup = (struct setup){.now_ms = 100000};
    setup->clock = fake_clock(&setup->now_ms);
    assert_int_equal(service_health_create(&setup->clock, note_change, setup, &setup->health), 0);
}

static void tear_down(struct setup *setup)
{
    service_health_destroy(setup->health);
}

static int refused(struct call *call)
{
    (void)call_fail(call, -ECONNREFUSED, "refused");
    call->failure.is_retryable = true;
    call->failure.is_unanswered = true;
    call->failure.advice = "start it";
    return -ECONNREFUSED;
}

/* An attempt that is let through ends with the answer. */
static int attempt_in_lane(struct setup *setup, unsigned lane, int (*answer)(struct call *call),
                           struct call *call)
{
    *call = (struct call){0};
    int probe = service_health_enter(setup->health, lane, call);
    if (probe < 0)
        return probe;
    int r = answer ? answer(call) : 0;
    return service_health_leave(setup->health, call, probe, r);
}

static int attempt(struct setup *setup, int (*answer)(struct call *call), struct call *call)
{
    return attempt_in_lane(setup, LANE, answer, call);
}

static void go_down(struct setup *setup)
{
    struct call call;
    assert_int_equal(attempt(setup, refused, &call), -ECONNREFUSED);
    assert_int_equal(call.failure.outage, 0);
    service_health_give_up(setup->health, LANE, &call, setup->now_ms - 60000);
}

static void expect_metric(struct setup *setup, const char *line)
{
    _cleanup_(buffer_finish) struct buffer text;
    buffer_init(&text, 4096);
    assert_int_equal(service_health_append_metrics(setup->health, &text), 0);
    if (!strstr(buffer_string(&text), line))
        fail_msg("no %s in %s", line, buffer_string(&text));
}

static void a_failure_alone_changes_nothing(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct setup setup;
    struct call call;
    set_up(&setup);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(attempt(&setup, refused, &call), -ECONNREFUSED);
        assert_string_equal(call.failure.message, "refused");
    }
    assert_int_equal(attempt(&setup, NULL, &call), 0);
    assert_int_equal(service_health_check(setup.health, &call), 0);
    expect_metric(&setup, "\ntablefuse_service_up 1\n");
    expect_metric(&setup, "\ntablefuse_service_since_timestamp_seconds 100\n");
    assert_int_equal(setup.ups + setup.downs, 0);
}

static void what_follows_fails_at_once_for_the_same_reason(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct setup setup;
    struct call call = {0};
    set_up(&setup);
    assert_false(service_health_is_down(setup.health));
    go_down(&setup);
    assert_true(service_health_is_down(setup.health));
    assert_int_equal(setup.downs, 1);
    assert_string_equal(setup.reason, "refused");
    for (int i = 0; i < 5; i++) {
        assert_int_equal(attempt(&setup, NULL, &call), -ECONNREFUSED);
        assert_string_equal(call.failure.message, "the service is down: refused");
        assert_string_equal(call.failure.advice, "start it");
        assert_int_equal(call.failure.outage, 1);
        assert_true(call.failure.is_retryable);
        assert_false(call.failure.is_ambiguous);
    }
    assert_int_equal(service_health_check(setup.health, &call), -ECONNREFUSED);
    expect_metric(&setup, "\ntablefuse_service_up 0\n");
    expect_metric(&setup, "\ntablefuse_service_outages_total 1\n");
    expect_metric(&setup, "\ntablefuse_failed_at_once_total 6\n");
}

/* When each probe is due, in ms after the one before ended; the last again and again. */
static void expect_probes(struct setup *setup, const int64_t *pauses_ms, size_t n)
{
    struct call call;
    for (size_t i = 0; i < n; i++) {
        setup->now_ms += pauses_ms[i] - 1;
        if (pauses_ms[i] > 0) {
            struct call early = {0};
            assert_true(service_health_enter(setup->health, LANE, &early) < 0);
        }
        setup->now_ms += 1;
        call = (struct call){0};
        int probe = service_health_enter(setup->health, LANE, &call);
        assert_int_equal(probe, i + 1);
        struct call second = {0};
        assert_true(service_health_enter(setup->health, LANE, &second) < 0); /* one at a time */
        setup->now_ms += 500; /* its own time does not count */
        int r = refused(&call);
        assert_int_equal(service_health_leave(setup->health, &call, probe, r), -ECONNREFUSED);
        assert_int_equal(call.failure.outage, 1);
        assert_string_equal(call.failure.message, "the service is down: refused");
    }
}

static void probes_come_after_growing_pauses(void **state)
{
    (void)state;
    static const int64_t pauses_ms[] = {1000, 2000, 4000, 8000, 8000, 8000};
    _cleanup_(tear_down) struct setup setup;
    set_up(&setup);
    go_down(&setup);
    expect_probes(&setup, pauses_ms, ARRAY_SIZE(pauses_ms));
    assert_int_equal(setup.downs, 1);
}

static int silent(struct call *call)
{
    (void)refused(call);
    call->failure.error = -ETIMEDOUT;
    return -ETIMEDOUT;
}

static void give_up_without_answer(struct setup *setup)
{
    struct call call;
    assert_int_equal(attempt(setup, silent, &call), -ETIMEDOUT);
    service_health_give_up(setup->health, LANE, &call, setup->now_ms);
}

/* It may have been slow for that request alone. */
static void where_an_answer_is_missing_the_next_is_a_probe(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct setup setup;
    struct call call;
    set_up(&setup);
    give_up_without_answer(&setup);
    static const int64_t pauses_ms[] = {0, 2000, 4000};
    expect_probes(&setup, pauses_ms, ARRAY_SIZE(pauses_ms));
    setup.now_ms += 8000;
    assert_int_equal(attempt(&setup, NULL, &call), 0);
    assert_int_equal(setup.ups, 1);
}

/* Perhaps one table alone hangs. */
static void where_an_answer_is_missing_each_other_lane_has_one_attempt(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct setup setup;
    struct call call, probing = {0};
    set_up(&setup);
    give_up_without_answer(&setup);
    int probe = service_health_enter(setup.health, LANE, &probing);
    assert_int_equal(probe, 1);
    struct call beside = {0};
    assert_int_equal(service_health_enter(setup.health, 1, &beside), SERVICE_LANE_PROBE);
    (void)service_health_leave(setup.health, &beside, SERVICE_LANE_PROBE, silent(&beside));
    assert_int_equal(beside.failure.outage, 0);
    assert_int_equal(attempt_in_lane(&setup, LANES - 1, silent, &call), -ETIMEDOUT);
    assert_int_equal(call.failure.outage, 0);
    assert_int_equal(attempt_in_lane(&setup, LANES - 1, NULL, &call), -ETIMEDOUT); /* refused */
    assert_int_equal(call.failure.outage, 1);
    assert_int_equal(attempt_in_lane(&setup, LANE, NULL, &call), -ETIMEDOUT);
    assert_int_equal(setup.ups, 0);
    assert_int_equal(attempt_in_lane(&setup, 0, NULL, &call), 0);
    assert_int_equal(setup.ups, 1);
    (void)service_health_leave(setup.health, &probing, probe, silent(&probing));
    assert_int_equal(attempt(&setup, NULL, &call), 0); /* a late probe does not count */
}

/* Without a connection no table can be reached, so a probe in another lane would bring nothing. */
static void where_no_connection_is_made_no_lane_is_tried(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct setup setup;
    struct call call;
    set_up(&setup);
    go_down(&setup);
    for (unsigned lane = 0; lane < LANES; lane++)
        assert_int_equal(attempt_in_lane(&setup, lane, NULL, &call), -ECONNREFUSED);
}

/* A loop over many tables, of which none is answered. */
static void of_many_lanes_the_first_are_tried(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct setup setup;
    struct call call;
    unsigned tried = 0;
    set_up(&setup);
    give_up_without_answer(&setup);
    assert_int_equal(service_health_enter(setup.health, LANE, &call), 1); /* the probe */
    for (unsigned lane = LANES; lane-- > 0;) {
        assert_int_equal(attempt_in_lane(&setup, lane, silent, &call), -ETIMEDOUT);
        tried += call.failure.outage == 0;
    }
    assert_int_equal(tried, SERVICE_LANE_PROBES_MAX);
}

static int throttled(struct call *call)
{
    (void)call_fail(call, -EBUSY, "slower");
    call->failure.is_retryable = true;
    call->failure.http_status = 503;
    return -EBUSY;
}

/* A slow link is no outage: the next attempt gets all of the time. */
static int cut_off(struct call *call)
{
    (void)call_fail(call, -ETIMEDOUT, "late");
    call->failure.is_retryable = true;
    call->failure.has_begun_answer = true;
    return -ETIMEDOUT;
}

static void an_answer_of_any_kind_ends_it(void **state)
{
    (void)state;
    static const struct {
        int (*answer)(struct call *call);
        int error;
        const char *message;
    } cases[] = {{NULL, 0, ""}, {throttled, -EBUSY, "slower"}, {cut_off, -ETIMEDOUT, "late"}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(tear_down) struct setup setup;
        struct call call;
        set_up(&setup);
        go_down(&setup);
        setup.now_ms += 3000;
        assert_int_equal(attempt(&setup, cases[i].answer, &call), cases[i].error);
        assert_int_equal(call.failure.outage, 0);
        assert_int_equal(call.failure.is_retryable, cases[i].error < 0);
        assert_string_equal(call.failure.message, cases[i].message);
        assert_int_equal(setup.ups, 1);
        assert_false(service_health_is_down(setup.health));
        assert_int_equal(setup.lasted_ms, 3000);
        assert_int_equal(service_health_enter(setup.health, LANE, &call), 0); /* no probe */
        expect_metric(&setup, "\ntablefuse_service_up 1\n");
        expect_metric(&setup, "\ntablefuse_service_since_timestamp_seconds 103\n");
    }
}

/* What was sent before it went down. */
static void an_answer_that_comes_late_ends_it_too(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct setup setup;
    struct call late = {0}, probing = {0}, call;
    set_up(&setup);
    int before = service_health_enter(setup.health, LANE, &late);
    go_down(&setup);
    setup.now_ms += 1000;
    int probe = service_health_enter(setup.health, LANE, &probing);
    assert_true(before == 0 && probe > 0);
    assert_int_equal(service_health_leave(setup.health, &late, before, 0), 0);
    assert_int_equal(setup.ups, 1);
    /* the probe is one attempt among others now */
    assert_int_equal(service_health_leave(setup.health, &probing, probe, refused(&probing)),
                     -ECONNREFUSED);
    assert_int_equal(probing.failure.outage, 0);
    assert_int_equal(attempt(&setup, NULL, &call), 0);
}

static void a_late_probe_does_not_end_the_next_outages_probe(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct setup setup;
    struct call late = {0}, first = {0}, second = {0}, call = {0};
    set_up(&setup);
    int before = service_health_enter(setup.health, LANE, &late);
    go_down(&setup);
    setup.now_ms += 1000;
    int probe = service_health_enter(setup.health, LANE, &first);
    assert_int_equal(service_health_leave(setup.health, &late, before, 0), 0);
    setup.now_ms += 60000;
    go_down(&setup);
    setup.now_ms += 1000;
    int other = service_health_enter(setup.health, LANE, &second);
    assert_true(other > probe);
    assert_int_equal(service_health_leave(setup.health, &first, probe, refused(&first)),
                     -ECONNREFUSED);
    assert_true(service_health_enter(setup.health, LANE, &call) <
                0); /* the other one is under way */
    assert_int_equal(service_health_leave(setup.health, &second, other, 0), 0);
    assert_int_equal(setup.ups, 2);
}

static int cancelled(struct call *call)
{
    return call_fail(call, -EINTR, "interrupted");
}

static void a_probe_that_says_nothing_is_followed_at_once(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct setup setup;
    struct call call;
    set_up(&setup);
    go_down(&setup);
    setup.now_ms += 1000;
    assert_int_equal(attempt(&setup, cancelled, &call), -EINTR);
    assert_int_equal(call.failure.outage, 0);
    assert_int_equal(attempt(&setup, NULL, &call), 0);
    assert_int_equal(setup.ups, 1);
}

static void it_is_not_down_while_others_get_answers(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct setup setup;
    struct call call, other;
    set_up(&setup);
    int64_t began_ms = setup.now_ms;
    setup.now_ms += 30000;
    assert_int_equal(attempt(&setup, throttled, &other), -EBUSY);
    setup.now_ms += 30000;
    assert_int_equal(attempt(&setup, refused, &call), -ECONNREFUSED);
    service_health_give_up(setup.health, LANE, &call, began_ms);
    assert_int_equal(setup.downs, 0);
    assert_int_equal(attempt(&setup, NULL, &call), 0);
}

#define THREADS 32
#define ROUNDS  2000

struct crowd {
    struct setup *setup;
    atomic_int sent, refused, probing, most_probing;
};

static void *try_often(void *context)
{
    struct crowd *crowd = context;
    for (int i = 0; i < ROUNDS; i++) {
        struct call call = {0};
        int probe = service_health_enter(crowd->setup->health, LANE, &call);
        if (probe < 0) {
            atomic_fetch_add(&crowd->refused, 1);
            continue;
        }
        atomic_fetch_add(&crowd->sent, 1);
        int probing = atomic_fetch_add(&crowd->probing, 1) + 1;
        if (probing > atomic_load(&crowd->most_probing))
            atomic_store(&crowd->most_probing, probing);
        atomic_fetch_sub(&crowd->probing, 1);
        (void)service_health_leave(crowd->setup->health, &call, probe, refused(&call));
    }
    return NULL;
}

/* With the clock standing still at the time of a probe, one is sent, however many come. */
static void of_many_threads_one_probes(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct setup setup;
    set_up(&setup);
    go_down(&setup);
    for (int round = 1; round <= 3; round++) {
        struct crowd crowd = {.setup = &setup};
        setup.now_ms += SERVICE_PAUSE_MAX_MS;
        run_in_threads(THREADS, try_often, &crowd, 0);
        assert_int_equal(crowd.sent, 1);
        assert_int_equal(crowd.most_probing, 1);
        assert_int_equal(crowd.refused, THREADS * ROUNDS - 1);
    }
    assert_int_equal(setup.downs, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_alone_changes_nothing),
        cmocka_unit_test(what_follows_fails_at_once_for_the_same_reason),
        cmocka_unit_test(probes_come_after_growing_pauses),
        cmocka_unit_test(where_an_answer_is_missing_the_next_is_a_probe),
        cmocka_unit_test(where_an_answer_is_missing_each_other_lane_has_one_attempt),
        cmocka_unit_test(where_no_connection_is_made_no_lane_is_tried),
        cmocka_unit_test(of_many_lanes_the_first_are_tried),
        cmocka_unit_test(an_answer_of_any_kind_ends_it),
        cmocka_unit_test(an_answer_that_comes_late_ends_it_too),
        cmocka_unit_test(a_late_probe_does_not_end_the_next_outages_probe),
        cmocka_unit_test(a_probe_that_says_nothing_is_followed_at_once),
        cmocka_unit_test(it_is_not_down_while_others_get_answers),
        cmocka_unit_test(of_many_threads_one_probes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
