/* SPDX-License-Identifier: MIT */
#include "cache/known/table_page.h"
#include "tests/unit/cache/known/fetcher_fixture.h"

#define ASKERS 8

/* The first leads, the others have joined; the gate is closed. */
static void start_fetching_together(struct asker *askers, size_t n, struct fetching *fetching,
                                    struct fetch fetch)
{
    gate_store_let(fetching->store, 0);
    asker_start(&askers[0], fetching, fetch, fetching_since_ttl(fetching));
    wait_for_requests(fetching, 1);
    for (size_t i = 1; i < n; i++)
        asker_start(&askers[i], fetching, fetch, fetching_since_ttl(fetching));
    wait_for_joined(fetching, n - 1);
}

static void start_together(struct asker *askers, size_t n, struct fetching *fetching)
{
    start_fetching_together(askers, n, fetching, fetch_of(PARTITION, 1000));
}

static void many_that_miss_the_same_ask_once(void **state)
{
    struct fetching *fetching = *state;
    struct asker askers[ASKERS];
    fetching_add_rows(fetching, "p", 3);
    start_together(askers, ASKERS, fetching);
    gate_store_let(fetching->store, GATE_OPEN);
    for (size_t i = 0; i < ASKERS; i++)
        assert_int_equal(asker_end(&askers[i]), 0);
    for (size_t i = 0; i < ASKERS; i++) {
        assert_ptr_equal(askers[i].page, askers[0].page);
        assert_int_equal(askers[i].is_own, i == 0);
    }
    assert_int_equal(fetching->memory->asked, 1);
    struct fetcher_stats stats;
    fetcher_stats(fetching->fetcher, &stats);
    assert_int_equal(stats.flights, 1);
    assert_int_equal(stats.joined, ASKERS - 1);
}

/* The first asker waits for the gate, and the second has just started: it joins the first one's
 * flight, or sends a request of its own. */
static void assert_second(struct fetching *fetching, struct asker askers[2], bool is_joined)
{
    if (is_joined)
        wait_for_joined(fetching, 1);
    else
        wait_for_requests(fetching, 2);
    gate_store_let(fetching->store, GATE_OPEN);
    assert_int_equal(asker_end(&askers[0]), 0);
    assert_int_equal(asker_end(&askers[1]), 0);
    assert_int_equal(askers[1].is_own, !is_joined);
    assert_int_equal(fetching->memory->asked, is_joined ? 1 : 2);
}

static void only_what_serves_is_joined(void **state)
{
    (void)state;
    static const struct {
        const char *table;
        struct range range;
        int64_t older_ms; /* than the flight: how old an answer may be */
        int top;
        bool keys_only, is_joined;
    } cases[] = {
        {"t", {B("p\0"), B("p\x01")}, 0, 1000, false, true},
        {"t", {B("p\0"), B("p\x01")}, 0, 1000, true, true},    /* texts do for keys */
        {"t", {B("p\0"), B("p\0x")}, 5, 7, false, true},       /* it begins where this does */
        {"t", {B("p\0"), B("p\x01")}, -1, 1000, false, false}, /* asked before it should be */
        {"t", {ROW_AT("p", "a"), B("p\x01")}, 0, 1000, false, false}, /* its page may end before
                                                                           "a" */
        {"u", {B("p\0"), B("p\x01")}, 0, 1000, false, false},
        {NULL, {B("p\0"), B("p\x01")}, 0, 1000, false, false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fetching fetching;
        struct asker askers[2];
        fetching_set_up(&fetching, (struct fetching_options){0});
        fetching_add_rows(&fetching, "p", 3);
        start_together(askers, 1, &fetching);
        struct fetch fetch = {.table = cases[i].table,
                              .range = cases[i].range,
                              .top = cases[i].top,
                              .keys_only = cases[i].keys_only};
        asker_start(&askers[1], &fetching, fetch, stamp_since(fetching.now_ms - cases[i].older_ms));
        assert_second(&fetching, askers, cases[i].is_joined);
        fetching_tear_down(&fetching);
    }
}

/* A flight for [p/, p+) and a fetch from the midst of it on. */
static void a_flight_from_before_is_joined_by_its_process_and_by_read_ahead(void **state)
{
    (void)state;
    static const struct {
        uint64_t leader, process;
        int top; /* of the flight */
        bool leads_ahead, is_ahead, is_alone, is_joined;
    } cases[] = {
        {1, 2, 1000, true, true, false, true},
        {0, 0, 1000, true, true, false, true},
        {1, 2, 1000, true, false, false, false}, /* it wants rows from there on */
        {1, 2, 1000, false, true, false, false}, /* so does the flight: it may end before */
        {0, 0, 1000, false, false, false, false},
        {1, 1, 1000, false, false, false, true}, /* threads of one process */
        {1, 1, 1, true, true, false, false},     /* one row is not read over anything */
        {1, 2, 1000, true, true, true, false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fetching fetching;
        struct asker askers[2];
        struct fetch first = fetch_of(PARTITION, cases[i].top), second = fetch_of(PARTITION, 4);
        fetching_set_up(&fetching, (struct fetching_options){0});
        fetching_add_rows(&fetching, "p", 9);
        first.is_ahead = cases[i].leads_ahead;
        second.is_ahead = cases[i].is_ahead;
        second.is_alone = cases[i].is_alone;
        second.range.lo = ROW("00003").lo;
        gate_store_let(fetching.store, 0);
        asker_start_of(&askers[0], &fetching, first, fetching_since_ttl(&fetching),
                       cases[i].leader);
        wait_for_requests(&fetching, 1);
        asker_start_of(&askers[1], &fetching, second, fetching_since_ttl(&fetching),
                       cases[i].process);
        assert_second(&fetching, askers, cases[i].is_joined);
        fetching_tear_down(&fetching);
    }
}

/* Its leader is told by the service to wait, and both run out of time. */
static void a_caller_that_waits_for_a_throttled_flight_is_told_so(void **state)
{
    struct fetching *fetching = *state;
    struct asker askers[2];
    start_together(askers, 2, fetching);
    wait_for_looks(&askers[1]);
    fetching->now_ms += PATIENCE_MS - 5000;
    struct call *call = &askers[0].caller.call; /* its thread is at the gate */
    call->failure = (struct failure){.error = -EBUSY, .http_status = 503, .is_retryable = true};
    call_waits(call);
    fetching->now_ms += 5000;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(asker_end(&askers[i]), -EBUSY);
        assert_int_equal(askers[i].caller.call.failure.http_status, 503);
    }
}

static void a_caller_that_waits_for_a_silent_flight_is_late(void **state)
{
    struct fetching *fetching = *state;
    struct asker askers[2];
    start_together(askers, 2, fetching);
    fetching->now_ms += PATIENCE_MS;
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(asker_end(&askers[i]), -ETIMEDOUT);
}

/* The page that was joined ends before the row. Asked for alone, the row comes. */
static void a_flight_joined_in_vain_is_asked_for_alone(void **state)
{
    struct fetching *fetching = *state;
    struct asker askers[2];
    struct fetch first = fetch_of(PARTITION, 3), second = fetch_of(PARTITION, 4);
    fetching_add_rows(fetching, "p", 9);
    first.is_ahead = second.is_ahead = true;
    second.range.lo = ROW("00005").lo;
    gate_store_let(fetching->store, 0);
    asker_start_of(&askers[0], fetching, first, fetching_since_ttl(fetching), 1);
    wait_for_requests(fetching, 1);
    asker_start_of(&askers[1], fetching, second, fetching_since_ttl(fetching), 2);
    wait_for_joined(fetching, 1);
    gate_store_let(fetching->store, GATE_OPEN);
    struct page *page = NULL;
    assert_int_equal(asker_end(&askers[0]), 0);
    assert_int_equal(asker_end(&askers[1]), 0);
    assert_false(askers[1].is_own);
    assert_known(fetching, "t", ROW("00002"), false, KNOWN_ROWS);
    assert_known(fetching, "t", ROW("00005"), false, KNOWN_NOT);
    second.is_alone = true;
    assert_int_equal(fetch_page(fetching, &second, &page), 0); /* by its own request */
    assert_bytes(page_range(page).lo, ROW("00005").lo);
    page_unref(page);
    assert_request(fetching, 2, ASKED_QUERY, second.range, 4);
    assert_int_equal(fetching->memory->asked, 2);
}

static void texts_are_not_expected_of_keys(void **state)
{
    struct fetching *fetching = *state;
    struct asker askers[3];
    struct fetch fetch = fetch_of(PARTITION, 1000), keys = fetch;
    keys.keys_only = true;
    fetching_add_rows(fetching, "p", 3);
    gate_store_let(fetching->store, 0);
    asker_start(&askers[0], fetching, keys, fetching_since_ttl(fetching));
    wait_for_requests(fetching, 1);
    asker_start(&askers[1], fetching, keys, fetching_since_ttl(fetching));
    wait_for_joined(fetching, 1);
    asker_start(&askers[2], fetching, fetch, fetching_since_ttl(fetching));
    wait_for_requests(fetching, 2);
    gate_store_let(fetching->store, GATE_OPEN);
    for (size_t i = 0; i < ARRAY_SIZE(askers); i++)
        assert_int_equal(asker_end(&askers[i]), 0);
    assert_ptr_equal(askers[0].page, askers[1].page);
    assert_int_equal(fetching->memory->asked, 2);
}

static void a_fetch_that_is_alone_joins_no_flight(void **state)
{
    struct fetching *fetching = *state;
    struct asker askers[3];
    fetching_add_rows(fetching, "p", 3);
    start_together(askers, 1, fetching);
    struct fetch fetch = fetch_of(PARTITION, 1000);
    fetch.is_alone = true;
    asker_start(&askers[1], fetching, fetch, fetching_since_ttl(fetching));
    wait_for_requests(fetching, 2);
    fetch.is_alone = false;
    asker_start(&askers[2], fetching, fetch, fetching_since_ttl(fetching));
    wait_for_joined(fetching, 1);
    gate_store_let(fetching->store, GATE_OPEN);
    for (size_t i = 0; i < ARRAY_SIZE(askers); i++)
        assert_int_equal(asker_end(&askers[i]), 0);
    assert_ptr_equal(askers[2].page, askers[1].page); /* the youngest that flies */
    assert_int_equal(fetching->memory->asked, 2);
}

static void what_is_wanted_from_now_on_is_asked_for(void **state)
{
    (void)state;
    struct fetching fetching;
    struct asker askers[3];
    fetching_set_up(&fetching, (struct fetching_options){.is_ttl_0 = true});
    fetching_add_rows(&fetching, "p", 3);
    gate_store_let(fetching.store, 0);
    for (size_t i = 0; i < ARRAY_SIZE(askers); i++) {
        struct stamp since = stamp_from_now(&fetching.orders, fetching.now_ms);
        asker_start(&askers[i], &fetching, fetch_of(PARTITION, 1000), since);
        wait_for_requests(&fetching, i + 1);
    }
    gate_store_let(fetching.store, GATE_OPEN);
    for (size_t i = 0; i < ARRAY_SIZE(askers); i++)
        assert_int_equal(asker_end(&askers[i]), 0);
    assert_int_equal(fetching.memory->asked, ARRAY_SIZE(askers));
    fetching_tear_down(&fetching);
}

static void a_leader_that_is_interrupted_hands_over(void **state)
{
    struct fetching *fetching = *state;
    struct asker askers[ASKERS];
    size_t own = 0;
    fetching_add_rows(fetching, "p", 3);
    start_together(askers, ASKERS, fetching);
    atomic_store(&askers[0].is_cancelled, true);
    wait_for_requests(fetching, 2);
    wait_for_joined(fetching, 2 * ASKERS - 3); /* all but the two leaders, once more */
    assert_int_equal(asker_end(&askers[0]), -EINTR);
    assert_int_equal(askers[0].caller.call.failure.error, -EINTR);
    gate_store_let(fetching->store, GATE_OPEN);
    for (size_t i = 1; i < ASKERS; i++) {
        assert_int_equal(asker_end(&askers[i]), 0);
        own += askers[i].is_own;
    }
    assert_int_equal(own, 1);
    assert_int_equal(fetching->memory->asked, 1);
    assert_int_equal(gate_store_arrived(fetching->store), 2);
}

static void a_leader_without_patience_hands_over(void **state)
{
    struct fetching *fetching = *state;
    struct asker askers[2];
    fetching_add_rows(fetching, "p", 3);
    start_together(askers, 1, fetching);
    atomic_fetch_add(&fetching->now_ms, TTL_MS);
    asker_start(&askers[1], fetching, askers[0].fetch, fetching_since_ttl(fetching));
    wait_for_joined(fetching, 1);
    atomic_fetch_add(&fetching->now_ms, PATIENCE_MS - TTL_MS);
    assert_int_equal(asker_end(&askers[0]), -ETIMEDOUT);
    wait_for_requests(fetching, 2);
    gate_store_let(fetching->store, GATE_OPEN);
    assert_int_equal(asker_end(&askers[1]), 0);
    assert_true(askers[1].is_own);
}

static void what_another_time_might_succeed_is_tried_by_the_next(void **state)
{
    (void)state;
    struct fetching fetching;
    struct asker askers[3];
    int failed = 0;
    fetching_set_up(&fetching, (struct fetching_options){
                                   .faults = "fail=query:1:503:ServerBusy,fail=query:2:0:"});
    fetching_add_rows(&fetching, "p", 3);
    start_together(askers, 3, &fetching);
    gate_store_let(fetching.store, GATE_OPEN);
    for (size_t i = 0; i < 3; i++)
        failed += asker_end(&askers[i]) < 0;
    assert_int_equal(askers[0].result, -EBUSY);
    assert_int_equal(failed, 2);
    assert_int_equal(gate_store_arrived(fetching.store), 3);
    assert_int_equal(fetching.memory->asked, 1);
    fetching_tear_down(&fetching);
}

static void all_callers_get_a_refusal_with_its_reason(void **state)
{
    (void)state;
    static const struct {
        const char *faults, *code;
        int error;
    } cases[] = {
        {"fail=query:1:403:AuthorizationFailure", "AuthorizationFailure", -EACCES},
        {"fail=query:1:404:TableNotFound", "TableNotFound", -ENOENT},
        {"fail=query:1:400:InvalidInput", "InvalidInput", -EINVAL},
    };
    for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
        struct fetching fetching;
        struct asker askers[ASKERS];
        fetching_set_up(&fetching, (struct fetching_options){.faults = cases[c].faults});
        start_together(askers, ASKERS, &fetching);
        gate_store_let(fetching.store, GATE_OPEN);
        for (size_t i = 0; i < ASKERS; i++) {
            assert_int_equal(asker_end(&askers[i]), cases[c].error);
            assert_int_equal(askers[i].caller.call.failure.error, cases[c].error);
            assert_string_equal(askers[i].caller.call.failure.code, cases[c].code);
            assert_null(askers[i].page);
        }
        assert_int_equal(gate_store_arrived(fetching.store), 1);
        fetching_tear_down(&fetching);
    }
}

static void a_caller_that_waits_may_be_interrupted(void **state)
{
    struct fetching *fetching = *state;
    struct asker askers[3];
    fetching_add_rows(fetching, "p", 3);
    start_together(askers, 3, fetching);
    atomic_store(&askers[1].is_cancelled, true);
    assert_int_equal(asker_end(&askers[1]), -EINTR);
    assert_int_equal(askers[1].caller.call.failure.error, -EINTR);
    gate_store_let(fetching->store, GATE_OPEN);
    assert_int_equal(asker_end(&askers[0]), 0);
    assert_int_equal(asker_end(&askers[2]), 0);
    assert_int_equal(fetching->memory->asked, 1);
}

static void a_caller_that_waits_has_a_deadline(void **state)
{
    struct fetching *fetching = *state;
    struct asker askers[2];
    fetching_add_rows(fetching, "p", 3);
    start_together(askers, 1, fetching);
    atomic_fetch_sub(&fetching->now_ms, 10); /* so the other's patience ends before the leader's */
    asker_start(&askers[1], fetching, askers[0].fetch, fetching_since_ttl(fetching));
    wait_for_joined(fetching, 1);
    atomic_fetch_add(&fetching->now_ms, PATIENCE_MS - 1);
    wait_for_looks(&askers[1]);
    assert_false(atomic_load(&askers[1].is_back));
    atomic_fetch_add(&fetching->now_ms, 1);
    assert_int_equal(asker_end(&askers[1]), -ETIMEDOUT);
    assert_int_equal(askers[1].caller.call.failure.error, -ETIMEDOUT);
    gate_store_let(fetching->store, GATE_OPEN);
    assert_int_equal(asker_end(&askers[0]), 0);
    assert_int_equal(fetching->memory->asked, 1);
}

static void each_page_is_progress_for_all(void **state)
{
    struct fetching *fetching = *state;
    struct asker askers[2];
    fetching->memory->max_rows = 1;
    for (int i = 0; i < 4; i++)
        memory_store_add_table(fetching->memory, (const char *const[]){"a", "b", "c", "d"}[i]);
    start_fetching_together(askers, 2, fetching,
                            (struct fetch){.range = RANGE_ALL, .top = 1000, .keys_only = true});
    for (size_t page = 1; page <= 3; page++) {
        atomic_fetch_add(&fetching->now_ms, PATIENCE_MS - 1);
        gate_store_let(fetching->store, page);
        wait_for_requests(fetching, page + 1);
        wait_for_looks(&askers[1]);
    }
    assert_false(atomic_load(&askers[1].is_back));
    gate_store_let(fetching->store, GATE_OPEN);
    assert_int_equal(asker_end(&askers[0]), 0);
    assert_int_equal(asker_end(&askers[1]), 0);
    assert_int_equal(askers[1].caller.call.deadline_ms, fetching->now_ms + PATIENCE_MS);
}

static void an_empty_page_is_no_progress_for_any_caller(void **state)
{
    (void)state;
    struct fetching fetching;
    struct asker askers[2];
    fetching_set_up(&fetching, (struct fetching_options){.faults = "empty=3"});
    fetching_add_rows(&fetching, "p", 3);
    start_together(askers, 2, &fetching);
    atomic_fetch_add(&fetching.now_ms, PATIENCE_MS - 1);
    gate_store_let(fetching.store, 1);
    wait_for_requests(&fetching, 2);
    wait_for_looks(&askers[1]);
    assert_false(atomic_load(&askers[1].is_back));
    atomic_fetch_add(&fetching.now_ms, 1);
    assert_int_equal(asker_end(&askers[1]), -ETIMEDOUT);
    assert_int_equal(asker_end(&askers[0]), -ETIMEDOUT);
    fetching_tear_down(&fetching);
}

/* Its order is from before it was sent: so it loses to what was put while it was under way. */
static void a_page_is_older_than_what_happened_meanwhile(void **state)
{
    struct fetching *fetching = *state;
    struct asker asker;
    struct page *table;
    fetching_add_rows(fetching, "p", 3);
    start_together(&asker, 1, fetching);
    struct stamp stamp = stamp_take(&fetching->orders, fetching->now_ms);
    range_cache_drop_table(fetching->cache, "t", stamp);
    assert_int_equal(table_page_of_one("t", false, &table), 0);
    assert_int_equal(range_cache_put(fetching->cache, NULL, table, stamp), 0);
    page_unref(table);
    gate_store_let(fetching->store, GATE_OPEN);
    assert_int_equal(asker_end(&asker), 0);
    assert_known(fetching, "t", PARTITION, true, KNOWN_NOT);
    assert_known(fetching, NULL, TABLE_T, true, KNOWN_EMPTY);
}

struct crowd {
    struct fetching *fetching;
    unsigned number;
};

static void *fetch_much(void *context)
{
    struct crowd *crowd = context;
    unsigned seed = crowd->number;
    for (int i = 0; i < 300; i++) {
        struct caller caller = fetching_caller(crowd->fetching);
        bool is_row = rand_r(&seed) % 2 == 0, is_own;
        struct fetch fetch = fetch_of(is_row ? ROW("00002") : PARTITION, is_row ? 1 : 1000);
        struct page *page;
        int r = fetcher_fetch(crowd->fetching->fetcher, &caller, &fetch,
                              fetching_since_ttl(crowd->fetching), &page, &is_own);
        if (r < 0)
            return (void *)fetch.table;
        page_unref(page);
    }
    return NULL;
}

static void a_crowd_gets_what_it_asks_for(void **state)
{
    struct fetching *fetching = *state;
    struct crowd crowd[ASKERS];
    pthread_t threads[ASKERS];
    fetching_add_rows(fetching, "p", 5);
    for (unsigned i = 0; i < ASKERS; i++) {
        crowd[i] = (struct crowd){fetching, i};
        assert_int_equal(pthread_create(&threads[i], NULL, fetch_much, &crowd[i]), 0);
    }
    for (size_t i = 0; i < ASKERS; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    struct fetcher_stats stats;
    fetcher_stats(fetching->fetcher, &stats);
    assert_int_equal(stats.flights, gate_store_arrived(fetching->store));
    assert_int_equal(stats.flights + stats.joined, ASKERS * 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(fetching, many_that_miss_the_same_ask_once),
        cmocka_unit_test(only_what_serves_is_joined),
        cmocka_unit_test(a_flight_from_before_is_joined_by_its_process_and_by_read_ahead),
        TEST_WITH(fetching, a_caller_that_waits_for_a_throttled_flight_is_told_so),
        TEST_WITH(fetching, a_caller_that_waits_for_a_silent_flight_is_late),
        TEST_WITH(fetching, a_flight_joined_in_vain_is_asked_for_alone),
        TEST_WITH(fetching, texts_are_not_expected_of_keys),
        TEST_WITH(fetching, a_fetch_that_is_alone_joins_no_flight),
        cmocka_unit_test(what_is_wanted_from_now_on_is_asked_for),
        TEST_WITH(fetching, a_leader_that_is_interrupted_hands_over),
        TEST_WITH(fetching, a_leader_without_patience_hands_over),
        cmocka_unit_test(what_another_time_might_succeed_is_tried_by_the_next),
        cmocka_unit_test(all_callers_get_a_refusal_with_its_reason),
        TEST_WITH(fetching, a_caller_that_waits_may_be_interrupted),
        TEST_WITH(fetching, a_caller_that_waits_has_a_deadline),
        TEST_WITH(fetching, each_page_is_progress_for_all),
        cmocka_unit_test(an_empty_page_is_no_progress_for_any_caller),
        TEST_WITH(fetching, a_page_is_older_than_what_happened_meanwhile),
        TEST_WITH(fetching, a_crowd_gets_what_it_asks_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
