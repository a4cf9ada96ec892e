/* SPDX-License-Identifier: MIT */
/* What pending masks is seen by no question: random pages and masks against an array; and what is
 * fetched beside masks. */
#include "cache/known/table_page.h"
#include "tests/unit/cache/queue/overlay_fixture.h"
#include "tests/unit/failing_memory.h"

#define ROWS      12
#define POSITIONS (2 * ROWS) /* row i stands at 2 i; 2 i + 1 is what lies after it */
#define WORLDS    TRIALS(3000)
#define QUESTIONS 20
#define PARTITION ((struct range){B("p\0"), B("p\x01")})
#define ROW(key)  ((struct range){B("p\0" key), B("p\0" key "\x01")})

struct model {
    unsigned random;
    bool is_known[POSITIONS], has_row[POSITIONS], is_masked[POSITIONS];
    bool are_keys; /* its pages have no texts */
};

static int chance(struct model *model, int n)
{
    model->random = model->random * 1664525 + 1013904223;
    return (int)((model->random >> 8) % (unsigned)n);
}

static struct bytes position_of(int number, struct buffer *ret)
{
    buffer_clear(ret);
    (void)buffer_append(ret, B("p\0"));
    (void)buffer_append_format(ret, "%02d%s", number / 2, number % 2 ? POSITION_AFTER : "");
    return buffer_bytes(ret);
}

static void put_page(struct setup *setup, struct model *model)
{
    _cleanup_(page_builder_destroyp) struct page_builder *builder = NULL;
    _cleanup_(page_unrefp) struct page *page = NULL;
    struct buffer lo = {.max = 100}, hi = {.max = 100};
    struct fetching *fetching = &setup->fetching;
    int begin = chance(model, POSITIONS), end = begin + chance(model, POSITIONS - begin + 1);
    assert_int_equal(page_builder_create(1 << 20, &builder), 0);
    if (model->are_keys) /* a page without rows counts as one of texts, which younger keys leave */
        begin -= begin % 2, end = MAX(end, begin + 1);
    for (int i = begin; i < end; i++) {
        model->is_known[i] = true;
        model->has_row[i] = i % 2 == 0 && (chance(model, 2) == 0 || i == begin);
        if (!model->has_row[i])
            continue;
        (void)buffer_append_string(page_builder_text(builder), model->are_keys ? "" : "text");
        assert_int_equal(page_builder_end_row(builder, position_of(i, &lo), B("e"), 0), 0);
    }
    struct range range = {position_of(begin, &lo), position_of(end, &hi)};
    assert_int_equal(page_builder_finish(builder, range, model->are_keys, &page), 0);
    struct stamp stamp = stamp_take(&fetching->orders, fetching->now_ms);
    assert_int_equal(range_cache_put(fetching->cache, "t", page, stamp), 0);
    buffer_finish(&lo);
    buffer_finish(&hi);
}

/* A row may be masked whether it is known or not. */
static void turn_mask(struct setup *setup, struct model *model)
{
    struct buffer position = {.max = 100};
    int i = 2 * chance(model, ROWS);
    struct bytes masked = position_of(i, &position);
    if (model->is_masked[i])
        pending_unmask(setup->fetching.pending, "t", masked);
    else
        assert_int_equal(pending_mask(setup->fetching.pending, "t", masked, B("e")), 0);
    model->is_masked[i] = !model->is_masked[i];
    buffer_finish(&position);
}

/* The first position from `begin` on at which a row is seen, or nothing is known; `end`: none. */
static int first_of(const struct model *model, int begin, int end)
{
    int i = begin;
    while (i < end && (model->is_masked[i] || (model->is_known[i] && !model->has_row[i])))
        i++;
    return i;
}

/* One look from `begin` on answers what the model does; where to go on: `end`: nowhere. */
static int check_look(struct setup *setup, const struct model *model, int begin, int end)
{
    struct buffer lo = {.max = 100}, hi = {.max = 100}, until = {.max = 100};
    struct question question =
        question_of(setup, (struct range){position_of(begin, &lo), position_of(end, &hi)});
    question.keys_suffice = model->are_keys;
    struct seen seen = {0};
    int first = first_of(model, begin, end), next = end;
    int known = overlay_find(setup->overlay, &question, &seen, &until);
    if (first == end) {
        assert_int_equal(known, KNOWN_EMPTY);
    } else if (!model->is_known[first]) {
        assert_int_equal(known, KNOWN_NOT);
        assert_bytes(buffer_bytes(&until), position_of(first, &lo));
    } else {
        assert_int_equal(known, KNOWN_ROWS);
        next = first;
        for (size_t row = seen.run.begin; row < seen.run.end; row++) {
            next = first_of(model, next, end);
            assert_true(next < end && model->is_known[next]);
            assert_bytes(page_position(seen.run.page, row), position_of(next, &lo));
            next++;
        }
    }
    run_finish(&seen.run);
    buffer_finish(&lo);
    buffer_finish(&hi);
    buffer_finish(&until);
    return next;
}

static void check_question(struct setup *setup, struct model *model)
{
    int begin = chance(model, POSITIONS), end = begin + chance(model, POSITIONS - begin + 1);
    do
        begin = check_look(setup, model, begin, end);
    while (begin < end);
}

static void looks_agree_with_a_model(void **state)
{
    (void)state;
    for (unsigned world = 0; world < WORLDS; world++) {
        struct model model = {.random = world, .are_keys = world % 3 == 0};
        struct setup setup;
        set_up(&setup);
        for (int i = 0; i < QUESTIONS; i++) {
            if (chance(&model, 3) == 0)
                put_page(&setup, &model);
            if (chance(&model, 2) == 0)
                turn_mask(&setup, &model);
            check_question(&setup, &model);
        }
        tear_down(&setup);
    }
}

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
    (void)state;
    struct setup setup;
    struct on_miss on_miss = {.top = 1};
    struct seen seen;
    set_up(&setup);
    fetching_add_rows(&setup.fetching, "p", 2);
    mask(&setup, ROW("00001").lo);
    struct question question = question_of(&setup, ROW("00001"));
    assert_int_equal(count(&setup, &question, &on_miss, &seen), 0);
    assert_int_equal(asked(&setup), 0);
    assert_true(seen.was_overlaid);
    question = question_of(&setup, ROW("00000"));
    assert_int_equal(count(&setup, &question, &on_miss, &seen), 1);
    assert_false(seen.was_overlaid);
    assert_true(overlay_is_changing(setup.overlay, "t", ROW("00001").lo));
    assert_false(overlay_is_changing(setup.overlay, "t", ROW("00000").lo));
    assert_false(overlay_is_changing(setup.overlay, NULL, ROW("00001").lo));
    tear_down(&setup);
}

static void a_scan_of_keys_leaves_masked_ones_out(void **state)
{
    (void)state;
    struct setup setup;
    struct page *page = NULL;
    struct seen seen;
    set_up(&setup);
    fetching_add_rows(&setup.fetching, "p", 5);
    mask(&setup, ROW("00000").lo);
    mask(&setup, ROW("00003").lo);
    struct question question = question_of(&setup, PARTITION);
    question.keys_suffice = true;
    setup.caller = fetching_caller(&setup.fetching);
    assert_int_equal(overlay_keys(setup.overlay, &setup.caller, &question, 1000, &page, &seen), 0);
    assert_int_equal(page_rows(page), 2); /* it covers no more than these */
    assert_bytes(page_range(page).lo, PARTITION.lo);
    assert_bytes(page_range(page).hi, ROW("00002").hi);
    page_unref(page);
    assert_int_equal(asked(&setup), 1);
    tear_down(&setup);
}

static void without_memory_a_look_beside_masks_fails(void **state)
{
    (void)state;
    for (int n = 1; n <= 3; n++) { /* the masked position, what is after it, until */
        struct setup setup;
        struct seen seen = {0};
        struct buffer until = {.max = 100};
        set_up(&setup);
        mask(&setup, ROW("00001").lo);
        struct question question = question_of(&setup, (struct range){ROW("00001").lo, B("q")});
        allocations_until_failure = n;
        assert_int_equal(overlay_find(setup.overlay, &question, &seen, &until), -ENOMEM);
        assert_int_equal(allocations_until_failure, 0);
        assert_null(seen.run.page);
        buffer_finish(&until);
        tear_down(&setup);
    }
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
        _cleanup_(page_builder_destroyp) struct page_builder *builder = NULL;
        _cleanup_(page_unrefp) struct page *page = NULL;
        char etag[16];
        (void)snprintf(etag, sizeof(etag), "%d", i);
        assert_int_equal(pending_mask(fetching->pending, "t", ROW("1").lo, B("e")), 0);
        assert_int_equal(page_builder_create(1000, &builder), 0);
        (void)buffer_append_string(page_builder_text(builder), "text");
        assert_int_equal(page_builder_end_row(builder, ROW("1").lo, bytes_of(etag), i), 0);
        assert_int_equal(page_builder_finish(builder, ROW("1"), false, &page), 0);
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
        int known = overlay_find(swap.setup.overlay, &question, &seen, NULL);
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
    struct seen seen;
    struct on_miss on_miss = {.top = 1000};
    set_up_with(&setup, (struct fetching_options){.cache_bytes = 1});
    fetching_add_rows(&setup.fetching, "p", 3);
    assert_int_equal(pending_mask(setup.fetching.pending, "t", ROW("00001").lo, B("e")), 0);
    changed = &setup;
    setup.fetching.memory->fault = delete_masked;
    setup.fetching.memory->is_fault_late = true;
    struct range partition = {ROW("00000").lo, ROW("00003").lo};
    struct question question = question_of(&setup, partition);
    assert_int_equal(count(&setup, &question, &on_miss, &seen), 2);
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
    (void)state;
    struct setup setup;
    struct seen seen;
    struct call call = {0};
    struct on_miss on_miss = {.top = 1};
    set_up(&setup);
    struct memory_store *memory = setup.fetching.memory;
    memory->checks_tables = memory->drops_slowly = true;
    memory_store_add_table(memory, "t");
    assert_int_equal(table_store_delete_table(&memory->store, "t", &call), 0);
    assert_int_equal(pending_mask(setup.fetching.pending, NULL, B("t"), B("drop")), 0);
    memory_store_forget_diary(memory);
    changed = &setup;
    memory->fault = list_tables_meanwhile;
    struct question question = question_of(&setup, (struct range){B("t"), B("t\x01")});
    question.table = NULL;
    assert_int_equal(count(&setup, &question, &on_miss, &seen), 0);
    assert_int_equal(asked(&setup), 2); /* the look, and a read of the listed table */
    assert_int_equal(count(&setup, &question, &on_miss, &seen), 0);
    assert_int_equal(asked(&setup), 2);
    tear_down(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_agree_with_a_model),
        cmocka_unit_test(what_is_fetched_is_masked_too),
        cmocka_unit_test(a_masked_row_is_absent_without_a_request),
        cmocka_unit_test(a_scan_of_keys_leaves_masked_ones_out),
        cmocka_unit_test(without_memory_a_look_beside_masks_fails),
        cmocka_unit_test(a_row_is_masked_or_new_but_never_old),
        cmocka_unit_test(a_page_that_is_older_than_a_change_does_not_answer),
        cmocka_unit_test(a_dropped_table_is_not_seen_in_a_list_from_before_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
