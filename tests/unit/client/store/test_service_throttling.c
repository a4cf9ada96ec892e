/* SPDX-License-Identifier: MIT */
#include "client/store/service_throttling.h"
#include "client/base/lane.h"
#include "tests/unit/client/store/retrying_fixture.h"

struct throttled {
    int64_t now_ms; /* first: the clock's context */
    struct clock clock;
    struct service_throttling *throttling;
    int begins, ends;
    unsigned requests, throttled;
    int64_t lasted_ms;
    char table[64];
};

static void note_change(void *context, const struct service_throttling_change *change)
{
    struct throttled *throttled = context;
    throttled->begins += change->is_throttling;
    throttled->ends += !change->is_throttling;
    throttled->requests = change->requests;
    throttled->throttled = change->throttled;
    throttled->lasted_ms = change->lasted_ms;
    (void)snprintf(throttled->table, sizeof(throttled->table), "%s", change->table);
}

static void start(struct throttled *t)
{
    *t = (struct throttled){.now_ms = 100000};
    t->clock = fake_clock(&t->now_ms);
    assert_int_equal(service_throttling_create(&t->clock, note_change, t, &t->throttling), 0);
}

static void stop(struct throttled *t)
{
    service_throttling_destroy(t->throttling);
}

/* n requests, of which the first `throttled` are, each pause_ms after the one before. */
static void send(struct throttled *t, const char *table, int n, int throttled, int pause_ms)
{
    for (int i = 0; i < n; i++) {
        t->now_ms += pause_ms;
        service_throttling_note(t->throttling, table, i < throttled);
    }
}

static void expect(const struct throttled *t, int begins, int ends)
{
    assert_int_equal(t->begins, begins);
    assert_int_equal(t->ends, ends);
}

static void few_or_seldom_refusals_say_nothing(void **state)
{
    (void)state;
    _cleanup_(stop) struct throttled t;
    start(&t);
    send(&t, "few", 19, 19, 10);      /* fewer than 20 */
    send(&t, "seldom", 20, 2, 10);    /* a tenth, and not more */
    send(&t, "slowly", 40, 40, 1000); /* fewer than 20 within 10 s */
    for (int i = 0; i < 100; i++)
        send(&t, "long", 40, 2, 10);
    expect(&t, 0, 0);
}

static void it_begins_and_ends_once(void **state)
{
    (void)state;
    _cleanup_(stop) struct throttled t;
    start(&t);
    send(&t, "orders", 19, 3, 10);
    expect(&t, 0, 0);
    send(&t, "orders", 1, 0, 10);
    expect(&t, 1, 0);
    assert_string_equal(t.table, "orders");
    assert_int_equal(t.requests, 20);
    assert_int_equal(t.throttled, 3);
    int64_t began_ms = t.now_ms;
    send(&t, "orders", 3, 3, 3000); /* slowed down by the pauses between attempts */
    send(&t, "orders", 600, 200, 10);
    send(&t, "other", 100, 100, 10); /* of the same throttling */
    expect(&t, 1, 0);
    int64_t last_ms = t.now_ms;
    send(&t, "orders", 1, 0, 29999);
    expect(&t, 1, 0);
    send(&t, "orders", 1, 0, 1);
    expect(&t, 1, 1);
    assert_string_equal(t.table, "other");
    assert_int_equal(t.lasted_ms, last_ms - began_ms);
    send(&t, "orders", 20, 20, 10);
    expect(&t, 2, 1);
}

/* Once it has begun, long pauses between attempts are a part of it. */
static void slow_refusals_go_on(void **state)
{
    (void)state;
    _cleanup_(stop) struct throttled t;
    start(&t);
    send(&t, NULL, 20, 20, 10);
    expect(&t, 1, 0);
    assert_string_equal(t.table, "the list of tables");
    send(&t, NULL, 20, 20, 12000);
    expect(&t, 1, 0);
    send(&t, NULL, 2, 0, 12000); /* the first shows that the window before it had a refusal alone */
    expect(&t, 1, 0);
    send(&t, NULL, 1, 0, 12000);
    expect(&t, 1, 1);
}

/* After hours without a request it does not last on. */
static void a_pause_without_requests_ends_it(void **state)
{
    (void)state;
    _cleanup_(stop) struct throttled t;
    start(&t);
    send(&t, "orders", 25, 25, 10);
    send(&t, "orders", 1, 1, 3600000);
    expect(&t, 1, 1);
    assert_true(t.lasted_ms <= SERVICE_THROTTLING_WINDOW_MS);
}

/* What is throttled is found beside a hundred times as many requests for other tables. */
static void a_table_is_noticed_beside_busy_others(void **state)
{
    (void)state;
    _cleanup_(stop) struct throttled t;
    char name[16];
    unsigned lane = lane_of_table("hot");
    start(&t);
    for (int i = 0; i < 5000; i++) {
        (void)snprintf(name, sizeof(name), "table%d", i);
        if (lane_of_table(name) != lane)
            send(&t, name, 1, 0, 1);
        send(&t, "hot", i % 250 == 0, i % 2500 == 0, 0);
    }
    expect(&t, 0, 0); /* 2 of 20 */
    send(&t, "hot", 1, 1, 0);
    expect(&t, 1, 0);
    assert_string_equal(t.table, "hot");
}

/* Under the retries, each attempt counts; an attempt without an answer does not. */
static void attempts_are_counted(void **state)
{
    (void)state;
    struct throttled t = {0};
    struct table_store *faulty;
    struct memory_store *memory = memory_store_create();
    t.clock = fake_clock(&t.now_ms);
    memory_store_add_table(memory, "one");
    memory_store_add_strings(memory, "p", "r");
    assert_int_equal(faulty_store_create(&memory->store, &t.clock,
                                         "fail=get:/2:429:Busy,fail=get:1:0:", &faulty),
                     0);
    const struct retrying_store_options options = {
        .timeout_ms = 60000, .throttling_sink = note_change, .sink_context = &t};
    struct setup setup = {.clock = t.clock};
    assert_int_equal(retrying_store_create(faulty, &t.clock, &options, &setup.store), 0);
    int answered = 0;
    while (t.begins == 0 && answered < 100) {
        struct call call = {.deadline_ms = t.now_ms + 60000};
        assert_int_equal(get(&setup, &call), 0);
        answered += 1 + call.repeats - (answered == 0);
        t.now_ms -= t.now_ms % 10000; /* the pauses are not to be the reason */
    }
    expect(&t, 1, 0);
    assert_int_equal(t.requests, 20);
    assert_int_equal(t.throttled, 10);
    assert_string_equal(t.table, "one");
    table_store_destroy(setup.store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_or_seldom_refusals_say_nothing),
        cmocka_unit_test(it_begins_and_ends_once),
        cmocka_unit_test(slow_refusals_go_on),
        cmocka_unit_test(a_pause_without_requests_ends_it),
        cmocka_unit_test(a_table_is_noticed_beside_busy_others),
        cmocka_unit_test(attempts_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
