/* SPDX-License-Identifier: MIT */
/* Attempts, and outages. */
#include "client/base/backoff.h"
#include "tests/unit/client/store/retrying_fixture.h"

static void passing_failures_are_tried_again_after_the_backoff(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct setup setup;
    set_up(&setup, "fail=get:1:503:ServerBusy,fail=get:2:500:InternalError,fail=get:3:0");
    struct call call = {.deadline_ms = 60000};
    assert_int_equal(get(&setup, &call), 0);
    /* 50 + c * 200, 50 + c * 600, 50 + c * 1400 */
    assert_true(setup.now_ms >= 150 + 1760 && setup.now_ms <= 150 + 2640);
    assert_int_equal(setup.memory->asked, 1);
    assert_metric(&setup, "\ntablefuse_retries_total 3\n");
    assert_metric(&setup, "\ntablefuse_given_up_total 0\n");
}

static void nothing_else_is_tried_again(void **state)
{
    (void)state;
    static const struct {
        const char *rules;
        int error;
    } cases[] = {{"fail=get:1:404:ResourceNotFound", -ENOENT},
                 {"fail=get:1:403:AuthenticationFailed", -EACCES},
                 {"fail=get:1:400:InvalidInput", -EINVAL},
                 {"fail=get:1:501:NotImplemented", -EIO},
                 {"fail=get:1:505:", -EIO}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(tear_down) struct setup setup;
        set_up(&setup, cases[i].rules);
        struct call call = {.deadline_ms = 60000};
        assert_int_equal(get(&setup, &call), cases[i].error);
        assert_int_equal(setup.now_ms, 0);
        assert_metric(&setup, "\ntablefuse_retries_total 0\n");
    }
}

static void what_does_not_pass_is_given_up_before_the_deadline(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct setup setup;
    set_up(&setup, "fail=*:1+:503:ServerBusy");
    struct call call = {.deadline_ms = 60000};
    assert_int_equal(get(&setup, &call), -EBUSY);
    assert_int_equal(call.failure.http_status, 503);
    assert_string_equal(call.failure.code, "ServerBusy");
    assert_true(setup.now_ms > 50000 && setup.now_ms < 60000);
    assert_metric(&setup, "\ntablefuse_given_up_total 1\n");
}

static void a_backoff_ends_when_the_caller_goes(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct setup setup;
    set_up(&setup, "fail=*:1+:503:ServerBusy");
    struct call call = {.deadline_ms = 60000,
                        .is_cancelled = is_cancelled_after_a_second,
                        .context = &setup.now_ms};
    assert_int_equal(get(&setup, &call), -EINTR);
    assert_true(setup.now_ms >= 1000 && setup.now_ms <= 1050);
}

/* The rule of a service that is down; `file` is created. */
static const char *down_by(char file[32], char rule[64])
{
    (void)snprintf(file, 32, "/tmp/tablefuse-down-XXXXXX");
    int fd = mkstemp(file);
    FILE *empty = fd < 0 ? NULL : fdopen(fd, "w");
    assert_non_null(empty);
    (void)fclose(empty);
    (void)snprintf(rule, 64, "down=%s", file);
    return rule;
}

static void a_thousand_files_of_a_dead_service_take_one_timeout(void **state)
{
    (void)state;
    char file[32], rule[64];
    _cleanup_(tear_down) struct setup setup;
    set_up(&setup, down_by(file, rule));
    struct call call = {.deadline_ms = 60000};
    assert_int_equal(get(&setup, &call), -ECONNREFUSED);
    assert_int_equal(call.failure.outage, 0);
    assert_true(setup.now_ms > 50000 && setup.now_ms < 60000);
    int64_t down_ms = setup.now_ms;
    for (int i = 1; i < 1000; i++) {
        call = (struct call){.deadline_ms = setup.now_ms + 60000};
        assert_int_equal(get(&setup, &call), -ECONNREFUSED);
        assert_int_equal(call.failure.outage, 1);
        assert_string_equal(call.failure.message,
                            "the service is down: the connection was refused");
    }
    assert_int_equal(setup.now_ms, down_ms);
    assert_metric(&setup, "\ntablefuse_failed_at_once_total 999\n");
    assert_metric(&setup, "\ntablefuse_given_up_total 1\n");

    setup.now_ms += 1000; /* a probe, which does not wait either */
    call = (struct call){.deadline_ms = setup.now_ms + 60000};
    assert_int_equal(get(&setup, &call), -ECONNREFUSED);
    assert_int_equal(setup.now_ms, down_ms + 1000);
    assert_int_equal(remove(file), 0);
    assert_int_equal(get(&setup, &call), -ECONNREFUSED); /* not due */
    assert_int_equal(setup.memory->asked, 0);
    setup.now_ms += 2000;
    assert_int_equal(get(&setup, &call), 0); /* the probe is the operation itself */
    assert_int_equal(get(&setup, &call), 0);
    assert_int_equal(setup.memory->asked, 2);
    assert_int_equal(setup.now_ms, down_ms + 3000);
}

/* Another operation gives up while this one sleeps for the first time. */
struct nested {
    struct setup setup; /* first: its time is the clock's context */
    int error;          /* of the other one */
    bool is_done;
};

static void give_up_meanwhile(void *context, int64_t ms)
{
    struct nested *nested = context;
    struct call call = {.deadline_ms = nested->setup.now_ms};
    fake_sleep_ms(context, ms);
    if (nested->is_done)
        return;
    nested->is_done = true;
    assert_int_equal(get(&nested->setup, &call), nested->error);
    assert_int_equal(call.failure.outage, 0);
}

static void a_backoff_ends_when_the_service_goes_down(void **state)
{
    (void)state;
    char file[32], rule[64];
    struct nested nested = {.error = -ECONNREFUSED};
    struct setup *setup = &nested.setup;
    set_up(setup, down_by(file, rule));
    setup->clock.sleep_ms = give_up_meanwhile;
    struct call call = {.deadline_ms = 60000};
    assert_int_equal(get(setup, &call), -ECONNREFUSED);
    assert_int_equal(call.failure.outage, 1);
    assert_true(setup->now_ms <= 50);
    assert_int_equal(remove(file), 0);
    table_store_destroy(setup->store);
}

static void a_service_that_throttles_is_not_down(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct setup setup;
    set_up(&setup, "fail=get:1+:503:ServerBusy");
    for (int i = 0; i < 3; i++) {
        struct call call = {.deadline_ms = setup.now_ms + 60000};
        int64_t begin_ms = setup.now_ms;
        assert_int_equal(get(&setup, &call), -EBUSY);
        assert_true(setup.now_ms > begin_ms + 50000);
    }
    assert_metric(&setup, "\ntablefuse_service_up 1\n");
    assert_metric(&setup, "\ntablefuse_given_up_total 3\n");
}

#define PAUSES_MAX 16

/* A request, and what happens in its fourth pause: a query of the table is answered, and then
 * another request may fail. */
struct pausing {
    struct setup setup;            /* first: its time is the clock's context */
    struct call_observer observer; /* of the request */
    struct call_observer second;   /* of the other one */
    const char *answered;          /* the table of the query; NULL: no query */
    bool has_second, is_done;
    size_t n, second_n; /* pauses */
    int64_t began_ms[PAUSES_MAX], second_began_ms[PAUSES_MAX];
};

static void note_pause(struct call_observer *observer, const struct failure *reason)
{
    struct pausing *pausing =
        (struct pausing *)((char *)observer - offsetof(struct pausing, observer));
    (void)reason;
    assert_true(pausing->n < PAUSES_MAX);
    pausing->began_ms[pausing->n++] = pausing->setup.now_ms;
}

static void note_second_pause(struct call_observer *observer, const struct failure *reason)
{
    struct pausing *pausing =
        (struct pausing *)((char *)observer - offsetof(struct pausing, second));
    (void)reason;
    assert_true(pausing->second_n < PAUSES_MAX);
    pausing->second_began_ms[pausing->second_n++] = pausing->setup.now_ms;
}

static void answer_in_the_fourth_pause(void *context, int64_t ms)
{
    struct pausing *pausing = context;
    struct setup *setup = &pausing->setup;
    fake_sleep_ms(context, ms);
    if (pausing->is_done || pausing->n < 4)
        return;
    pausing->is_done = true;
    struct call call = {.deadline_ms = setup->now_ms + 60000};
    const struct query query = {.table = pausing->answered, .range = RANGE_ALL, .top = 1};
    struct answer answer = {0};
    if (pausing->answered)
        assert_int_equal(table_store_query(setup->store, &query, &call, &answer), 0);
    answer_finish(&answer);
    call = (struct call){.deadline_ms = setup->now_ms + 8000, .observer = &pausing->second};
    if (pausing->has_second)
        assert_int_equal(get(setup, &call), -EBUSY);
}

/* The request fails until its deadline. */
static void pause_with(struct pausing *pausing, const char *rules)
{
    struct setup *setup = &pausing->setup;
    set_up(setup, rules);
    memory_store_add_table(setup->memory, "two");
    assert_int_not_equal(lane_of_table("one"), lane_of_table("two"));
    setup->clock.sleep_ms = answer_in_the_fourth_pause;
    pausing->observer.waits = note_pause;
    pausing->second.waits = note_second_pause;
    struct call call = {.deadline_ms = 60000, .observer = &pausing->observer};
    int r = get(setup, &call);
    assert_int_equal(r, call.failure.http_status == 503 ? -EBUSY : -EIO);
    assert_true(pausing->is_done);
    table_store_destroy(setup->store);
}

/* Each pause is as long as after that many failures. */
static void assert_pauses(const int64_t *began_ms, const int *failures, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int64_t pause_ms = began_ms[i + 1] - began_ms[i];
        assert_true(pause_ms >= backoff_wait_ms(failures[i], 0, 0));
        assert_true(pause_ms <= backoff_wait_ms(failures[i], 1, 0));
    }
}

static void an_answer_makes_the_pauses_of_a_throttled_request_short_again(void **state)
{
    (void)state;
    struct pausing pausing = {.answered = "one"};
    pause_with(&pausing, "fail=get:1+:503:ServerBusy");
    assert_pauses(pausing.began_ms, (const int[]){1, 2, 3, 4, 2, 3, 4, 5, 6}, 9);
}

static void other_pauses_grow(void **state)
{
    (void)state;
    static const int growing[] = {1, 2, 3, 4, 5, 6, 7};
    struct pausing no_answer = {0}, other_table = {.answered = "two"},
                   other_failure = {.answered = "one"};
    pause_with(&no_answer, "fail=get:1+:503:ServerBusy");
    assert_pauses(no_answer.began_ms, growing, ARRAY_SIZE(growing));
    pause_with(&other_table, "fail=get:1+:503:ServerBusy");
    assert_pauses(other_table.began_ms, growing, ARRAY_SIZE(growing));
    pause_with(&other_failure, "fail=get:1+:500:InternalError");
    assert_pauses(other_failure.began_ms, growing, ARRAY_SIZE(growing));
}

/* So the number of refused requests does not grow with the number of those that wait. */
static void an_answer_is_for_one_throttled_request(void **state)
{
    (void)state;
    struct pausing pausing = {.answered = "one", .has_second = true};
    pause_with(&pausing, "fail=get:1+:503:ServerBusy");
    assert_pauses(pausing.second_began_ms, (const int[]){1, 2, 2, 3}, 4);
    /* The fourth pause took as long as the other request. */
    assert_pauses(pausing.began_ms, (const int[]){1, 2, 3}, 3);
    assert_pauses(pausing.began_ms + 4, (const int[]){5, 6}, 2);
}

/* The lost answer came before the service went down. */
static void a_change_that_is_refused_in_an_outage_may_have_been_made(void **state)
{
    (void)state;
    const struct write insert = {.position = B("p\0new"), .text = B("x")};
    struct nested nested = {.error = -EIO};
    struct setup *setup = &nested.setup;
    struct call call = {.deadline_ms = 60000};
    struct write_result result;
    set_up(setup, "lost=write:1,fail=get:1:0");
    setup->clock.sleep_ms = give_up_meanwhile;
    assert_int_equal(table_store_write(setup->store, "one", &insert, 1, &call, &result), -EIO);
    assert_int_equal(call.failure.outage, 1);
    assert_true(call.failure.is_ambiguous);
    table_store_destroy(setup->store);
}

/* A service behind a slow link: each answer begins at once and is whole after SLOW_MS. */
#define SLOW_MS 11000

struct slow_store {
    struct table_store store;
    int64_t *now_ms;
    bool is_down;
};

static int slow_get(struct table_store *store, const char *table, struct bytes position,
                    struct call *call, struct page_builder *builder)
{
    const struct slow_store *self = (const struct slow_store *)store;
    (void)table;
    (void)position;
    (void)builder;
    int64_t took_ms = MIN(call->deadline_ms - *self->now_ms, SLOW_MS);
    *self->now_ms += self->is_down ? 0 : took_ms;
    int r = self->is_down ? -ECONNREFUSED : took_ms < SLOW_MS ? -ETIMEDOUT : -ENOENT;
    (void)call_fail(call, r, "slow");
    call->failure.is_unanswered = call->failure.is_retryable = self->is_down;
    call->failure.has_begun_answer = !self->is_down;
    return r;
}

static int get_no_answer(struct table_store *store, const char *table, struct bytes position,
                         struct call *call, struct page_builder *builder)
{
    const struct slow_store *self = (const struct slow_store *)store;
    (void)table;
    (void)position;
    (void)builder;
    *self->now_ms = call->deadline_ms;
    (void)call_fail(call, -ETIMEDOUT, "no answer in time");
    call->failure.is_unanswered = true;
    return -ETIMEDOUT;
}

static void a_service_without_an_answer_until_the_deadline_is_down(void **state)
{
    (void)state;
    static const struct table_store_ops ops = {.get = get_no_answer, .destroy = nothing_to_destroy};
    const struct retrying_store_options options = {.timeout_ms = 60000};
    _cleanup_(tear_down) struct setup setup = {.now_ms = 0};
    struct slow_store silent = {{&ops}, &setup.now_ms, .is_down = true};
    struct call call = {.deadline_ms = 60000};
    setup.clock = fake_clock(&setup.now_ms);
    assert_int_equal(retrying_store_create(&silent.store, &setup.clock, &options, &setup.store), 0);
    assert_int_equal(get(&setup, &call), -ETIMEDOUT);
    assert_int_equal(call.repeats, 0);
    assert_metric(&setup, "\ntablefuse_given_up_total 1\n");
    assert_true(table_store_is_down(setup.store));
}

static void after_an_outage_a_slow_answer_has_its_time(void **state)
{
    (void)state;
    static const struct table_store_ops ops = {.get = slow_get, .destroy = nothing_to_destroy};
    const struct retrying_store_options options = {.timeout_ms = 60000};
    _cleanup_(tear_down) struct setup setup = {.now_ms = 0};
    struct slow_store slow = {{&ops}, &setup.now_ms, .is_down = true};
    setup.clock = fake_clock(&setup.now_ms);
    assert_int_equal(retrying_store_create(&slow.store, &setup.clock, &options, &setup.store), 0);
    struct call call = {.deadline_ms = 60000};
    assert_int_equal(get(&setup, &call), -ECONNREFUSED);
    assert_true(table_store_is_down(setup.store));
    assert_false(table_store_is_down(&slow.store)); /* it does not know */
    assert_metric(&setup, "\ntablefuse_service_up 0\n");
    slow.is_down = false;
    setup.now_ms += 10000;
    for (int i = 0; i < 2; i++) { /* the first begins as a probe, and is sent again */
        call = (struct call){.deadline_ms = setup.now_ms + 60000};
        assert_int_equal(get(&setup, &call), -ENOENT);
        assert_int_equal(call.repeats, i == 0);
        assert_false(table_store_is_down(setup.store));
        assert_metric(&setup, "\ntablefuse_service_up 1\n");
    }
    assert_metric(&setup, "\ntablefuse_service_outages_total 1\n");
}

static int fail_once(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    if (number > 1)
        return 0;
    (void)call_fail(call, -EIO, "reset");
    call->failure.is_retryable = true;
    return -EIO;
}

static void what_a_failed_attempt_left_is_forgotten(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct setup setup;
    set_up(&setup, "");
    setup.memory->fault = fail_once;
    setup.memory->is_fault_late = true;
    struct call call = {.deadline_ms = 60000};
    struct table_names names;
    struct continuation *next = NULL;
    buffer_init(&names.names, 100);
    (void)buffer_append(&names.names, B("before\0"));
    assert_int_equal(table_store_list_tables(setup.store, NULL, NULL, &call, &names, &next), 0);
    assert_bytes(buffer_bytes(&names.names), B("before\0one\0"));
    buffer_finish(&names.names);
    struct query query = {.table = "one", .range = RANGE_ALL, .top = 1000};
    _cleanup_(answer_finish) struct answer answer;
    memory_store_forget_diary(setup.memory);
    call.deadline_ms += 60000;
    assert_int_equal(table_store_query(setup.store, &query, &call, &answer), 0);
    assert_int_equal(page_rows(answer.page), 1);
    memory_store_forget_diary(setup.memory);
    assert_int_equal(get(&setup, &call), 0); /* a page of one row */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passing_failures_are_tried_again_after_the_backoff),
        cmocka_unit_test(nothing_else_is_tried_again),
        cmocka_unit_test(what_does_not_pass_is_given_up_before_the_deadline),
        cmocka_unit_test(a_backoff_ends_when_the_caller_goes),
        cmocka_unit_test(a_thousand_files_of_a_dead_service_take_one_timeout),
        cmocka_unit_test(a_backoff_ends_when_the_service_goes_down),
        cmocka_unit_test(a_service_that_throttles_is_not_down),
        cmocka_unit_test(an_answer_makes_the_pauses_of_a_throttled_request_short_again),
        cmocka_unit_test(other_pauses_grow),
        cmocka_unit_test(an_answer_is_for_one_throttled_request),
        cmocka_unit_test(a_change_that_is_refused_in_an_outage_may_have_been_made),
        cmocka_unit_test(a_service_without_an_answer_until_the_deadline_is_down),
        cmocka_unit_test(after_an_outage_a_slow_answer_has_its_time),
        cmocka_unit_test(what_a_failed_attempt_left_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
