/* SPDX-License-Identifier: MIT */
#include "cache/known/delays.h"
#include "tests/unit/unit.h"

static int64_t now_ms;

static struct delays *new_delays(const struct clock *clock)
{
    struct delays *delays;
    now_ms = 100000;
    assert_int_equal(delays_create(clock, &delays), 0);
    return delays;
}

static struct failure throttled(const char *message)
{
    struct failure failure = {.error = -EBUSY, .http_status = 503, .is_retryable = true};
    (void)snprintf(failure.message, sizeof(failure.message), "%s", message);
    return failure;
}

/* Of a request that ends at once. */
static void note(struct delays *delays, const char *table, const char *message)
{
    struct delayed request = {.table = table};
    struct failure failure = throttled(message);
    delays_note(delays, &request, &failure);
    delays_leave(delays, &request);
}

static void answer(struct delays *delays, const char *table)
{
    struct delayed request = {.table = table};
    delays_answered(delays, &request);
    delays_leave(delays, &request);
}

/* The reason that a caller of the table gets when its time has run out. */
static const char *explain(struct delays *delays, const char *table)
{
    static struct call call;
    call = (struct call){0};
    int r = call_fail(&call, -ETIMEDOUT, "late");
    r = delays_explain(delays, table, &call, r);
    assert_int_equal(r, call.failure.error);
    assert_int_equal(r, strcmp(call.failure.message, "late") == 0 ? -ETIMEDOUT : -EBUSY);
    return call.failure.message;
}

static void the_latest_reason_of_the_table_is_returned(void **state)
{
    (void)state;
    struct clock clock = fake_clock(&now_ms);
    struct delays *delays = new_delays(&clock);
    assert_string_equal(explain(delays, "a"), "late");
    note(delays, "a", "one");
    note(delays, "b", "two");
    note(delays, NULL, "of the list");
    note(delays, "a", "three");
    assert_string_equal(explain(delays, "a"), "three");
    assert_string_equal(explain(delays, "b"), "two");
    assert_string_equal(explain(delays, NULL), "of the list");
    assert_string_equal(explain(delays, "c"), "late");
    answer(delays, "a");
    answer(delays, "c");
    assert_string_equal(explain(delays, "a"), "late");
    assert_string_equal(explain(delays, "b"), "two");
    delays_destroy(delays);
    delays_destroy(NULL);
}

static void only_the_end_of_the_time_is_explained(void **state)
{
    (void)state;
    struct clock clock = fake_clock(&now_ms);
    struct delays *delays = new_delays(&clock);
    note(delays, "a", "busy");
    struct call call = {0};
    assert_int_equal(delays_explain(delays, "a", &call, 0), 0);
    assert_int_equal(delays_explain(delays, "a", &call, 1), 1);
    assert_int_equal(delays_explain(delays, "a", &call, -EINTR), -EINTR);
    call.failure = (struct failure){.error = -ETIMEDOUT, .is_retryable = true}; /* an attempt's */
    assert_int_equal(delays_explain(delays, "a", &call, -ETIMEDOUT), -ETIMEDOUT);
    assert_int_equal(call.failure.error, -ETIMEDOUT);
    delays_destroy(delays);
}

/* 16 s, and what the service asked to wait. */
static void an_old_reason_is_none(void **state)
{
    (void)state;
    struct clock clock = fake_clock(&now_ms);
    struct delays *delays = new_delays(&clock);
    note(delays, "a", "one");
    struct failure asked = throttled("two");
    asked.retry_after_ms = 5000;
    struct delayed request = {.table = "b"};
    delays_note(delays, &request, &asked);
    delays_leave(delays, &request);
    now_ms += 16000;
    assert_string_equal(explain(delays, "a"), "one");
    now_ms += 1;
    assert_string_equal(explain(delays, "a"), "late");
    now_ms += 4999;
    assert_string_equal(explain(delays, "b"), "two");
    now_ms += 1;
    assert_string_equal(explain(delays, "b"), "late");
    delays_destroy(delays);
}

/* Perhaps one partition alone is throttled. */
static void an_answer_ends_no_reason_while_another_request_waits(void **state)
{
    (void)state;
    struct clock clock = fake_clock(&now_ms);
    struct delays *delays = new_delays(&clock);
    struct delayed sick = {.table = "a"}, busy = {.table = "a"}, list = {.table = NULL};
    struct failure failure = throttled("one");
    delays_note(delays, &sick, &failure);
    delays_note(delays, &list, &failure);
    answer(delays, "a");
    assert_string_equal(explain(delays, "a"), "one");
    failure = throttled("two");
    delays_note(delays, &busy, &failure);
    delays_note(delays, &busy, &failure);
    delays_answered(delays, &busy);
    assert_string_equal(explain(delays, "a"), "two");
    delays_answered(delays, &sick);
    assert_string_equal(explain(delays, "a"), "late");
    assert_string_equal(explain(delays, NULL), "one");
    delays_note(delays, &sick, &failure); /* it asks for its next page */
    assert_string_equal(explain(delays, "a"), "two");
    delays_leave(delays, &sick);
    assert_string_equal(explain(delays, "a"), "two");
    answer(delays, "a");
    assert_string_equal(explain(delays, "a"), "late");
    delays_leave(delays, &busy);
    delays_leave(delays, &list);
    delays_destroy(delays);
}

static void of_many_tables_the_oldest_reason_goes(void **state)
{
    (void)state;
    struct clock clock = fake_clock(&now_ms);
    struct delays *delays = new_delays(&clock);
    char table[8];
    for (int i = 0; i <= DELAYS_TABLES; i++) {
        (void)snprintf(table, sizeof(table), "t%d", i);
        note(delays, table, table);
        now_ms++;
        if (i == 3)
            note(delays, "t0", "again");
    }
    assert_string_equal(explain(delays, "t1"), "late");
    assert_string_equal(explain(delays, "t0"), "again");
    assert_string_equal(explain(delays, "t2"), "t2");
    assert_string_equal(explain(delays, table), table);
    delays_destroy(delays);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_latest_reason_of_the_table_is_returned),
        cmocka_unit_test(only_the_end_of_the_time_is_explained),
        cmocka_unit_test(an_old_reason_is_none),
        cmocka_unit_test(an_answer_ends_no_reason_while_another_request_waits),
        cmocka_unit_test(of_many_tables_the_oldest_reason_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
