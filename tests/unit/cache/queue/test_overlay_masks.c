/* SPDX-License-Identifier: MIT */
/* What pending masks is seen by no question, and what is fetched beside masks.
 * test_overlay_queued.c has random pages, masks and queued changes against an array. */
#include "cache/known/table_page.h"
#include "tests/unit/cache/queue/overlay_fixture.h"

static void mask(struct setup *setup, struct bytes position)
{
    assert_int_equal(pending_mask(setup->fetching.pending, "t", position, B("etag")), 0);
}

static void assert_rows(struct setup *setup, int top, const char *expected)
{
    struct question question = question_of(setup, PARTITION);
    assert_all_rows(setup, &question, top, expected);
}

static void what_is_fetched_is_masked_too(void **state)
{
    (void)state;
    for (size_t bytes = 0; bytes <= 1; bytes++) { /* 1: nothing stays in the cache */
        struct setup setup;
        set_up_with(&setup, (struct fetching_options){.cache_bytes = bytes});
        fetching_add_rows(&setup.fetching, "p", 9);
        mask(&setup, ROW("00000").lo);
        mask(&setup, ROW("00003").lo);
        mask(&setup, ROW("00004").lo);
        mask(&setup, ROW("00008").lo);
        assert_rows(&setup, 1000, "12567");
        assert_rows(&setup, 1, "12567");
        pending_unmask(setup.fetching.pending, "t", ROW("00003").lo);
        assert_rows(&setup, 2, "123567");
        tear_down(&setup);
    }
}

static void a_masked_row_is_absent_without_a_request(void **state)
{
    struct setup *setup = *state;
    fetching_add_rows(&setup->fetching, "p", 2);
    mask(setup, ROW("00001").lo);
    struct question question = question_of(setup, ROW("00001"));
    assert_int_equal(count_top(setup, &question, 1), 0);
    assert_int_equal(asked(setup), 0);
    assert_true(setup->seen.was_overlaid);
    question = question_of(setup, ROW("00000"));
    assert_int_equal(count_top(setup, &question, 1), 1);
    assert_false(setup->seen.was_overlaid);
    assert_true(overlay_is_changing(setup->overlay, "t", ROW("00001").lo));
    assert_false(overlay_is_changing(setup->overlay, "t", ROW("00000").lo));
    assert_false(overlay_is_changing(setup->overlay, NULL, ROW("00001").lo));
}

static void a_scan_of_keys_leaves_masked_ones_out(void **state)
{
    struct setup *setup = *state;
    struct page *page = NULL;
    struct seen seen;
    fetching_add_rows(&setup->fetching, "p", 5);
    mask(setup, ROW("00000").lo);
    mask(setup, ROW("00003").lo);
    struct question question = question_of(setup, PARTITION);
    question.keys_suffice = true;
    setup->caller = fetching_caller(&setup->fetching);
    assert_int_equal(overlay_keys(setup->overlay, &setup->caller, &question, 1000, &page, &seen),
                     0);
    assert_int_equal(page_rows(page), 2); /* it covers no more than these */
    assert_bytes(page_range(page).lo, PARTITION.lo);
    assert_bytes(page_range(page).hi, ROW("00002").hi);
    page_unref(page);
    assert_int_equal(asked(setup), 1);
}

/* A change takes the place of a masked row: it is in the range cache before the mask ends. */
#define TURNS 2000

struct swap {
    struct setup setup;
    _Atomic int stored; /* versions, and the number of the one whose mask ended last */
    _Atomic bool is_over;
};

static void *swap_versions(void *argument)
{
    struct swap *swap = argument;
    struct fetching *fetching = &swap->setup.fetching;
    for (int i = 1; i <= TURNS; i++) {
        _cleanup_(page_unrefp) struct page *page = NULL;
        char etag[16];
        (void)snprintf(etag, sizeof(etag), "%d", i);
        assert_int_equal(pending_mask(fetching->pending, "t", ROW("1").lo, B("e")), 0);
        assert_int_equal(page_create_row(ROW("1").lo, B("text"), bytes_of(etag), i, &page), 0);
        assert_int_equal(
            range_cache_put_change(fetching->cache, "t", page, &fetching->orders, fetching->now_ms),
            0);
        pending_unmask(fetching->pending, "t", ROW("1").lo);
        atomic_store(&swap->stored, i);
    }
    atomic_store(&swap->is_over, true);
    return NULL;
}

static void a_row_is_masked_or_new_but_never_old(void **state)
{
    (void)state;
    struct swap swap = {0};
    pthread_t thread;
    set_up(&swap.setup);
    assert_int_equal(pthread_create(&thread, NULL, swap_versions, &swap), 0);
    struct question question = question_of(&swap.setup, ROW("1"));
    int seen_version = 0;
    while (!atomic_load(&swap.is_over)) {
        int stored = atomic_load(&swap.stored);
        struct seen seen = {0};
        enum knowledge known = overlay_find(swap.setup.overlay, &question, &seen, NULL);
        if (known == KNOWN_ROWS) {
            int version = (int)page_timestamp(seen.run.page, seen.run.begin);
            assert_true(version >= stored && version >= seen_version);
            seen_version = version;
        } else {
            assert_true(known == KNOWN_EMPTY || stored == 0);
        }
        run_finish(&seen.run);
    }
    (void)pthread_join(thread, NULL);
    tear_down(&swap.setup);
}

static struct setup *changed; /* its row 1 is deleted while the first page is under way */

/* The masked row is deleted, and what the cache knows of that is evicted. */
static int delete_masked(struct memory_store *self, size_t number, struct call *call)
{
    struct fetching *fetching = &changed->fetching;
    _cleanup_(page_unrefp) struct page *other = NULL;
    struct bytes position = ROW("00001").lo;
    (void)call;
    if (number > 1)
        return 0;
    memory_store_write(self, &(struct write){.kind = WRITE_DELETE, .position = position});
    assert_int_equal(range_cache_put_gone(fetching->cache, "t", &position, 1, &fetching->orders,
                                          fetching->now_ms),
                     0);
    pending_unmask(fetching->pending, "t", position);
    assert_int_equal(page_create_empty((struct range){B("x"), B("y")}, &other), 0);
    assert_int_equal(range_cache_put(fetching->cache, "t", other,
                                     stamp_take(&fetching->orders, fetching->now_ms)),
                     0);
    return 0;
}

/* Else a row would be seen again that was masked, and is deleted. */
static void a_page_that_is_older_than_a_change_does_not_answer(void **state)
{
    (void)state;
    struct setup setup;
    set_up_with(&setup, (struct fetching_options){.cache_bytes = 1});
    fetching_add_rows(&setup.fetching, "p", 3);
    assert_int_equal(pending_mask(setup.fetching.pending, "t", ROW("00001").lo, B("e")), 0);
    changed = &setup;
    setup.fetching.memory->fault = delete_masked;
    setup.fetching.memory->is_fault_late = true;
    struct range partition = {ROW("00000").lo, ROW("00003").lo};
    struct question question = question_of(&setup, partition);
    assert_int_equal(count_top(&setup, &question, 1000), 2);
    assert_int_equal(asked(&setup), 2);
    tear_down(&setup);
}

/* While a look for the table is under way, the answer to a list of all tables arrives, which has
 * the table. Then the table's deletion ends. */
static int list_tables_meanwhile(struct memory_store *self, size_t number, struct call *call)
{
    struct fetching *fetching = &changed->fetching;
    _cleanup_(page_unrefp) struct page *all = NULL;
    (void)call;
    if (number > 1)
        return 0;
    assert_int_equal(table_page_of_all(buffer_bytes(&self->leaving), &all), 0);
    assert_int_equal(page_rows(all), 1);
    assert_int_equal(range_cache_put(fetching->cache, NULL, all,
                                     stamp_take(&fetching->orders, fetching->now_ms)),
                     0);
    memory_store_end_drops(self);
    return 0;
}

/* The list was asked for later, so it stays known in place of the answer to the look. */
static void a_dropped_table_is_not_seen_in_a_list_from_before_its_end(void **state)
{
    struct setup *setup = *state;
    struct call call = {0};
    struct memory_store *memory = setup->fetching.memory;
    memory->checks_tables = memory->drops_slowly = true;
    memory_store_add_table(memory, "t");
    assert_int_equal(table_store_delete_table(&memory->store, "t", &call), 0);
    assert_int_equal(pending_mask(setup->fetching.pending, NULL, B("t"), B("drop")), 0);
    memory_store_forget_diary(memory);
    changed = setup;
    memory->fault = list_tables_meanwhile;
    struct question question = question_of(setup, (struct range){B("t"), B("t\x01")});
    question.table = NULL;
    assert_int_equal(count_top(setup, &question, 1), 0);
    assert_int_equal(asked(setup), 2); /* the look, and a read of the listed table */
    assert_int_equal(count_top(setup, &question, 1), 0);
    assert_int_equal(asked(setup), 2);
}

/* The service lists the table until its deletion ends: until then it has no rows, or is refused. */
static void dropped_tables_are_left_out_between_others(void **state)
{
    (void)state;
    static const char *const faults[] = {NULL, "fail=query:*:403:AuthorizationFailure"},
                             *const tables[] = {"a", "t", "tb", "tc", "z"},
                             *const dropped[] = {"t", "tb"};
    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        struct setup setup;
        struct seen seen;
        struct call call = {0};
        struct position until;
        set_up_with(&setup, (struct fetching_options){.faults = faults[i]});
        struct memory_store *memory = setup.fetching.memory;
        memory->checks_tables = memory->drops_slowly = true;
        for (size_t k = 0; k < ARRAY_SIZE(tables); k++)
            memory_store_add_table(memory, tables[k]);
        for (size_t k = 0; k < ARRAY_SIZE(dropped); k++) {
            assert_int_equal(table_store_delete_table(&memory->store, dropped[k], &call), 0);
            assert_int_equal(
                pending_mask(setup.fetching.pending, NULL, bytes_of(dropped[k]), B("drop")), 0);
        }
        struct question question = question_of(&setup, RANGE_ALL);
        question.table = NULL;
        assert_int_equal(count(&setup, &question, &(struct on_miss){.top = 1000}, &seen), 1);
        question.range.lo = B("t");
        assert_int_equal(overlay_find(setup.overlay, &question, &seen, &until), KNOWN_NOT);
        assert_bytes(position_bytes(&until), B("t"));
        assert_true(seen.is_unproven);
        question.range.lo = B("");
        assert_all_rows(&setup, &question, 1000, "acz");
        memory_store_end_drops(memory); /* another client creates it again */
        memory_store_add_table(memory, "t");
        setup.fetching.now_ms += TTL_MS + 1;
        question.since = fetching_since_ttl(&setup.fetching);
        assert_all_rows(&setup, &question, 1000, i == 0 ? "atcz" : "acz");
        tear_down(&setup);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_fetched_is_masked_too),
        TEST_WITH(overlay, a_masked_row_is_absent_without_a_request),
        TEST_WITH(overlay, a_scan_of_keys_leaves_masked_ones_out),
        cmocka_unit_test(a_row_is_masked_or_new_but_never_old),
        cmocka_unit_test(a_page_that_is_older_than_a_change_does_not_answer),
        TEST_WITH(overlay, a_dropped_table_is_not_seen_in_a_list_from_before_its_end),
        cmocka_unit_test(dropped_tables_are_left_out_between_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
