/* SPDX-License-Identifier: MIT */
#include "tests/unit/cache/queue/overlay_fixture.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/range_check.h"

#define THREADS   8
#define QUESTIONS 400 /* of each */

static int count_rows(struct setup *setup, struct range range, int top)
{
    struct question question = question_of(setup, range);
    return count_top(setup, &question, top);
}

static void what_is_missed_is_read_and_then_known(void **state)
{
    struct setup *setup = *state;
    fetching_add_rows(&setup->fetching, "p", 3);
    struct question question = question_of(setup, PARTITION);
    assert_int_equal(count_top(setup, &question, 1000), 3);
    assert_int_equal(asked(setup), 1);
    assert_request(&setup->fetching, 1, ASKED_QUERY, PARTITION, 1000);
    assert_true(setup->seen.was_fetched);
    assert_int_equal(setup->seen.fetched_rows, 3);
    assert_true(setup->seen.fetched_bytes > 3 * sizeof("p|00000"));
    assert_int_equal(setup->seen.requested_ms, setup->fetching.now_ms);

    setup->fetching.now_ms += TTL_MS;
    question = question_of(setup, ROW("00001"));
    assert_int_equal(count_top(setup, &question, 1000), 1);
    assert_int_equal(asked(setup), 1);
    assert_false(setup->seen.was_fetched);
    assert_int_equal(setup->seen.fetched_rows, 0);
    assert_int_equal(setup->seen.fetched_bytes, 0);
    assert_int_equal(setup->seen.requested_ms, setup->fetching.now_ms - TTL_MS);
    assert_int_equal(count_rows(setup, ROW("00003"), 1), 0); /* a gap is a sure no */
    assert_int_equal(asked(setup), 1);

    setup->fetching.now_ms += 1; /* now it is too old */
    assert_int_equal(count_rows(setup, ROW("00001"), 1), 1);
    assert_int_equal(asked(setup), 2);
    assert_int_equal(setup->fetching.memory->diary[1].what, ASKED_GET);
}

static void rows_come_from_where_the_question_begins(void **state)
{
    struct setup *setup = *state;
    struct seen seen;
    struct on_miss on_miss = {.top = 1000};
    fetching_add_rows(&setup->fetching, "p", 2500);
    struct question question = question_of(setup, PARTITION);
    _cleanup_(buffer_finish) struct buffer behind = {.max = 1000};
    for (int page = 0; page < 3; page++) {
        setup->caller = fetching_caller(&setup->fetching);
        assert_int_equal(overlay_next(setup->overlay, &setup->caller, &question, &on_miss, &seen),
                         1);
        assert_int_equal(seen.run.end - seen.run.begin, page < 2 ? 1000 : 500);
        buffer_clear(&behind);
        (void)buffer_append(&behind, page_position(seen.run.page, seen.run.end - 1));
        (void)buffer_append_string(&behind, POSITION_AFTER);
        question.range.lo = buffer_bytes(&behind);
        run_finish(&seen.run);
    }
    assert_int_equal(asked(setup), 3);
    assert_int_equal(count(setup, &question, &on_miss, &seen), 0);
    assert_int_equal(asked(setup), 3); /* the last page covers the end */
}

static void a_miss_asks_for_as_many_rows_as_it_is_told(void **state)
{
    struct setup *setup = *state;
    fetching_add_rows(&setup->fetching, "p", 100);
    struct range rest = {ROW("00010").lo, PARTITION.hi};
    struct question question = question_of(setup, rest);
    assert_int_equal(count_top(setup, &question, 20), 20);
    assert_request(&setup->fetching, 1, ASKED_QUERY, rest, 20);
    assert_int_equal(setup->seen.fetched_rows, 20);
    assert_int_equal(count_rows(setup, ROW("00029"), 1), 1);
    assert_int_equal(asked(setup), 1);
    assert_int_equal(count_rows(setup, ROW("00050"), 1), 1);
    assert_int_equal(setup->fetching.memory->diary[1].what, ASKED_GET);
}

static void a_known_begin_is_not_asked_for_again(void **state)
{
    struct setup *setup = *state;
    fetching_add_rows(&setup->fetching, "p", 3);
    assert_int_equal(count_rows(setup, (struct range){ROW_AT("p", "1"), ROW_AT("p", "2")}, 1000),
                     0);
    setup->fetching.now_ms += 300;
    struct question question = question_of(setup, (struct range){ROW_AT("p", "1"), B("p\x01")});
    assert_int_equal(count_top(setup, &question, 1000), 0);
    assert_int_equal(asked(setup), 2);
    assert_request(&setup->fetching, 2, ASKED_QUERY, (struct range){ROW_AT("p", "2"), B("p\x01")},
                   1000);
    assert_int_equal(setup->seen.requested_ms, setup->fetching.now_ms - 300); /* the older half's */
}

static void what_one_query_cannot_ask_is_asked_in_pieces(void **state)
{
    struct setup *setup = *state;
    static const struct range across = {ROW_AT("p", "00001"), ROW_AT("q", "00001")};
    static const struct range expected[] = {{ROW_AT("p", "00001"), B("p\x01")},
                                            {B("p\x01"), B("q\x01")}};
    fetching_add_rows(&setup->fetching, "p", 1);
    fetching_add_rows(&setup->fetching, "q", 3);
    struct question question = question_of(setup, across);
    assert_int_equal(count_top(setup, &question, 1000), 1);
    assert_int_equal(asked(setup), ARRAY_SIZE(expected));
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
        assert_request(&setup->fetching, i + 1, ASKED_QUERY, expected[i], 1000);
    assert_int_equal(setup->seen.fetched_rows, 3);
    assert_int_equal(count_rows(setup, (struct range){ROW_AT("q", "00001"), B("q\x01")}, 1000), 2);
    assert_int_equal(asked(setup), 2);
}

static void only_as_far_as_something_is_found(void **state)
{
    struct setup *setup = *state;
    fetching_add_rows(&setup->fetching, "p", 3);
    fetching_add_rows(&setup->fetching, "q", 3);
    struct question question =
        question_of(setup, (struct range){ROW_AT("p", "00001"), B(POSITION_END)});
    assert_int_equal(count_top(setup, &question, 1000), 2);
    assert_int_equal(asked(setup), 1);
}

static void keys_are_asked_for_where_they_suffice(void **state)
{
    struct setup *setup = *state;
    struct seen seen;
    struct on_miss on_miss = {.top = 1000, .keys_only = true};
    fetching_add_rows(&setup->fetching, "p", 3);
    struct question question = question_of(setup, PARTITION);
    question.keys_suffice = true;
    assert_int_equal(count(setup, &question, &on_miss, &seen), 3);
    assert_true(setup->fetching.memory->diary[0].keys_only);
    assert_int_equal(count(setup, &question, &on_miss, &seen), 3);
    assert_int_equal(asked(setup), 1);
    question.keys_suffice = false;
    assert_int_equal(count(setup, &question, &on_miss, &seen), 3);
    assert_int_equal(asked(setup), 2);
    assert_false(setup->fetching.memory->diary[1].keys_only);
}

static void tables_are_asked_about_alike(void **state)
{
    struct setup *setup = *state;
    setup->fetching.memory->max_rows = 2;
    memory_store_add_table(setup->fetching.memory, "c");
    memory_store_add_table(setup->fetching.memory, "a");
    memory_store_add_table(setup->fetching.memory, "b");
    struct question question = question_of(setup, (struct range){B("b"), B("b\x01")});
    question.table = NULL;
    assert_int_equal(count_top(setup, &question, 1000), 1);
    assert_int_equal(asked(setup), 2); /* the first page had none of this name */
    memory_store_forget_diary(setup->fetching.memory);
    question.range = RANGE_ALL;
    setup->fetching.now_ms += TTL_MS + 1;
    question.since = fetching_since_ttl(&setup->fetching);
    assert_int_equal(count_top(setup, &question, 1000), 3);
    assert_int_equal(asked(setup), 2);
    question.range = (struct range){B("d"), B("d\x01")};
    assert_int_equal(count_top(setup, &question, 1000), 0);
    assert_int_equal(asked(setup), 2);
}

static void a_table_that_was_read_is_there(void **state)
{
    (void)state;
    struct setup setup;
    set_up_with(&setup, (struct fetching_options){.faults = "fail=query:2:404:TableNotFound"});
    fetching_add_rows(&setup.fetching, "p", 3);
    struct question question = question_of(&setup, (struct range){B("t"), B("t\x01")});
    question.table = NULL;
    assert_int_equal(count_rows(&setup, PARTITION, 1000), 3);
    assert_int_equal(count_top(&setup, &question, 1), 1);
    assert_int_equal(asked(&setup), 1);
    setup.fetching.now_ms += TTL_MS + 1;
    assert_int_equal(count_rows(&setup, PARTITION, 1000), -ENOENT);
    assert_string_equal(setup.caller.call.failure.code, "TableNotFound");
    question.since = fetching_since_ttl(&setup.fetching);
    assert_int_equal(count_top(&setup, &question, 1), 0);
    assert_int_equal(asked(&setup), 1);
    tear_down(&setup);
}

static void with_ttl_0_each_question_is_asked(void **state)
{
    (void)state;
    struct setup setup;
    set_up_with(&setup, (struct fetching_options){.faults = "latency=100", .is_ttl_0 = true});
    fetching_add_rows(&setup.fetching, "p", 3);
    for (size_t i = 1; i <= 3; i++) {
        struct question question = question_of(&setup, i < 3 ? PARTITION : ROW("x"));
        question.since = stamp_from_now(&setup.fetching.orders, setup.fetching.now_ms);
        assert_int_equal(count_top(&setup, &question, 1000), i < 3 ? 3 : 0);
        assert_int_equal(asked(&setup), i);
    }
    tear_down(&setup);
}

static void a_page_larger_than_the_cache_answers(void **state)
{
    (void)state;
    struct setup setup;
    set_up_with(&setup, (struct fetching_options){.cache_bytes = 1});
    fetching_add_rows(&setup.fetching, "p", 1500);
    assert_int_equal(count_rows(&setup, PARTITION, 1000), 1000);
    assert_int_equal(count_rows(&setup, ROW("00500"), 1), 1); /* it was put last */
    assert_int_equal(asked(&setup), 1);
    assert_int_equal(count_rows(&setup, (struct range){ROW_AT("p", "00999\x01"), B("p\x01")}, 1000),
                     500);
    assert_int_equal(asked(&setup), 2);
    tear_down(&setup);
}

static struct setup *dropped; /* its table, while a page of it is under way */

static int drop_meanwhile(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    (void)number;
    (void)call;
    struct fetching *fetching = &dropped->fetching;
    range_cache_drop_table(fetching->cache, "t", stamp_take(&fetching->orders, fetching->now_ms));
    return 0;
}

/* Whatever takes the page's place in the cache before it is looked for there. */
static void a_page_that_did_not_stay_answers_by_itself(void **state)
{
    struct setup *setup = *state;
    fetching_add_rows(&setup->fetching, "p", 3);
    fetching_add_rows(&setup->fetching, "q", 3);
    dropped = setup;
    setup->fetching.memory->fault = drop_meanwhile;
    setup->fetching.memory->is_fault_late = true;
    struct question question = question_of(setup, PARTITION);
    assert_int_equal(count_top(setup, &question, 1000), 3);
    assert_int_equal(asked(setup), 1);
    assert_true(setup->seen.requested_ms >= question.since.requested_ms);
    assert_true(setup->seen.requested_ms <= setup->fetching.now_ms);
    question = question_of(setup, (struct range){ROW_AT("p", "1"), B("p\x01")});
    assert_int_equal(count_top(setup, &question, 1000), 0);
    question.range.hi = ROW_AT("q", "1");
    assert_int_equal(count_top(setup, &question, 1000), 3); /* after a piece without rows */
    assert_int_equal(asked(setup), 4);
    assert_int_equal(setup->seen.fetched_rows, 3);
}

/* Asks with the n-th allocation failing, and once more. False: there are fewer. */
static bool fails_at(const struct question *question, int rows, long n)
{
    struct setup setup;
    struct seen seen;
    struct on_miss on_miss = {.top = 1};
    set_up(&setup);
    fetching_add_rows(&setup.fetching, "p", 3);
    memory_store_add_table(setup.fetching.memory, "t");
    allocations_until_failure = n;
    int r = count(&setup, question, &on_miss, &seen);
    bool is_reached = allocations_until_failure == 0;
    allocations_until_failure = 0;
    assert_true(r == rows || r == -ENOMEM);
    assert_true(is_reached || r == rows);
    assert_int_equal(count(&setup, question, &on_miss, &seen), rows);
    assert_cache_is_sound(setup.fetching.cache);
    tear_down(&setup);
    return is_reached;
}

static void without_memory_a_question_fails_and_can_be_repeated(void **state)
{
    (void)state;
    struct stamp since = stamp_since(0);
    static const struct range table_t = {B("t"), B("t\x01")};
    const struct {
        struct question question;
        int rows;
    } cases[] = {
        {{"t", PARTITION, since, false}, 1},    {{"t", ROW("00001"), since, false}, 1},
        {{"t", ROW("00007"), since, false}, 0}, {{NULL, table_t, since, false}, 1},
        {{NULL, RANGE_ALL, since, false}, 1},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        long n = 1;
        while (fails_at(&cases[i].question, cases[i].rows, n))
            n++;
        assert_true(n > 5);
    }
}

/* Threads that ask the same question. */
struct joiner {
    struct setup *setup;
    struct seen seen;
    pthread_t thread;
};

static void *join(void *context)
{
    struct joiner *joiner = context;
    struct setup *setup = joiner->setup;
    struct caller caller = fetching_caller(&setup->fetching);
    struct question question = question_of(setup, PARTITION);
    struct on_miss on_miss = {.top = 1000};
    int r = overlay_next(setup->overlay, &caller, &question, &on_miss, &joiner->seen);
    return r == 1 ? joiner : NULL;
}

/* Two, one of which has joined the other; the gate is closed. */
static void start_joiners(struct setup *setup, struct joiner *joiners)
{
    gate_store_let(setup->fetching.store, 0);
    for (size_t i = 0; i < 2; i++) {
        joiners[i] = (struct joiner){.setup = setup};
        assert_int_equal(pthread_create(&joiners[i].thread, NULL, join, &joiners[i]), 0);
    }
    wait_for_joined(&setup->fetching, 1);
}

/* All that was fetched. */
static size_t end_joiners(struct joiner *joiners)
{
    size_t rows = 0;
    for (size_t i = 0; i < 2; i++) {
        struct seen *seen = &joiners[i].seen;
        void *answered;
        assert_int_equal(pthread_join(joiners[i].thread, &answered), 0);
        assert_non_null(answered);
        assert_true(seen->was_fetched);
        assert_int_equal(seen->run.end - seen->run.begin, 3);
        assert_int_equal(seen->fetched_rows > 0, seen->fetched_bytes > 0);
        rows += seen->fetched_rows;
        run_finish(&seen->run);
    }
    return rows;
}

static void what_others_brought_is_not_counted(void **state)
{
    struct setup *setup = *state;
    struct joiner joiners[2];
    fetching_add_rows(&setup->fetching, "p", 3);
    start_joiners(setup, joiners);
    gate_store_let(setup->fetching.store, GATE_OPEN);
    assert_int_equal(end_joiners(joiners), 3);
    assert_int_equal(asked(setup), 1);
}

/* What is younger than a joined flight may have come and gone before the question was asked. */
static void a_caller_that_joined_in_vain_asks_alone(void **state)
{
    struct setup *setup = *state;
    struct joiner joiners[2];
    fetching_add_rows(&setup->fetching, "p", 3);
    start_joiners(setup, joiners);
    range_cache_drop_table(setup->fetching.cache, "t",
                           stamp_take(&setup->fetching.orders, setup->fetching.now_ms));
    gate_store_let(setup->fetching.store, GATE_OPEN);
    assert_int_equal(end_joiners(joiners), 6);
    assert_int_equal(asked(setup), 2);
    struct fetcher_stats stats;
    fetcher_stats(setup->fetching.fetcher, &stats);
    assert_int_equal(stats.joined, 1);
}

struct reading {
    struct setup *setup;
    unsigned number;
    bool is_from_now;
    size_t asked; /* requests, at most */
    int failed;
};

/* Reads ahead from the row on, as by_name does: what it joins may bring nothing. */
static int read_on(struct setup *setup, struct caller *caller, const struct question *question,
                   struct page **ret)
{
    struct fetch fetch = {
        .table = "t", .range = {question->range.lo, PARTITION.hi}, .top = 10, .is_ahead = true};
    bool is_own;
    return fetcher_fetch(setup->fetching.fetcher, caller, &fetch, question->since, ret, &is_own);
}

static bool is_row_seen(struct setup *setup, int row, bool is_from_now, bool reads_on)
{
    _cleanup_(page_unrefp) struct page *page = NULL;
    struct caller caller = fetching_caller(&setup->fetching);
    struct seen seen;
    char lo[8], hi[9];
    (void)snprintf(lo, sizeof(lo), "%c%c%05d", 'p', 0, row);
    (void)snprintf(hi, sizeof(hi), "%c%c%05d\x01", 'p', 0, row);
    struct question question = question_of(setup, (struct range){{lo, 7}, {hi, 8}});
    struct on_miss on_miss = {.top = 1};
    if (is_from_now)
        question.since = stamp_from_now(&setup->fetching.orders, setup->fetching.now_ms);
    if (reads_on && read_on(setup, &caller, &question, &page) < 0)
        return false;
    int r = overlay_next(setup->overlay, &caller, &question, &on_miss, &seen);
    bool is_seen = r == 1 && seen.run.end == seen.run.begin + 1 &&
                   bytes_equal(page_position(seen.run.page, seen.run.begin), question.range.lo);
    if (r == 1)
        run_finish(&seen.run);
    return row < 50 ? is_seen : r == 0;
}

static void *read_rows(void *context)
{
    struct reading *reading = context;
    unsigned seed = reading->number;
    for (int i = 0; i < QUESTIONS; i++) {
        int row = rand_r(&seed) % 60;
        bool reads_on = rand_r(&seed) % 4 == 0;
        reading->asked += reads_on ? 2 : 1;
        reading->failed += !is_row_seen(reading->setup, row, reading->is_from_now, reads_on);
    }
    return NULL;
}

static void a_small_cache_and_many_readers_never_fail(void **state)
{
    (void)state;
    for (size_t round = 0; round < 4; round++) {
        struct setup setup;
        struct reading readings[THREADS];
        pthread_t threads[THREADS];
        size_t most = 0;
        set_up_with(&setup, (struct fetching_options){.cache_bytes = round < 2 ? 1 : 1000});
        fetching_add_rows(&setup.fetching, "p", 50);
        for (unsigned i = 0; i < THREADS; i++) {
            readings[i] =
                (struct reading){.setup = &setup, .number = i, .is_from_now = round % 2 == 0};
            assert_int_equal(pthread_create(&threads[i], NULL, read_rows, &readings[i]), 0);
        }
        for (size_t i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
            assert_int_equal(readings[i].failed, 0);
            most += readings[i].asked;
        }
        assert_in_range(gate_store_arrived(setup.fetching.store), 1, most);
        tear_down(&setup);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(overlay, what_is_missed_is_read_and_then_known),
        TEST_WITH(overlay, rows_come_from_where_the_question_begins),
        TEST_WITH(overlay, a_miss_asks_for_as_many_rows_as_it_is_told),
        TEST_WITH(overlay, a_known_begin_is_not_asked_for_again),
        TEST_WITH(overlay, what_one_query_cannot_ask_is_asked_in_pieces),
        TEST_WITH(overlay, only_as_far_as_something_is_found),
        TEST_WITH(overlay, keys_are_asked_for_where_they_suffice),
        TEST_WITH(overlay, tables_are_asked_about_alike),
        cmocka_unit_test(a_table_that_was_read_is_there),
        cmocka_unit_test(with_ttl_0_each_question_is_asked),
        cmocka_unit_test(a_page_larger_than_the_cache_answers),
        TEST_WITH(overlay, a_page_that_did_not_stay_answers_by_itself),
        cmocka_unit_test(without_memory_a_question_fails_and_can_be_repeated),
        TEST_WITH(overlay, what_others_brought_is_not_counted),
        TEST_WITH(overlay, a_caller_that_joined_in_vain_asks_alone),
        cmocka_unit_test(a_small_cache_and_many_readers_never_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
