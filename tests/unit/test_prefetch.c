#include "cache/prefetch.h"
#include "tests/unit/view_fixture.h"

#define ROW(key)  B("p\0" key)
#define PARTITION ((struct range){B("p\0"), B("p\x01")})

struct setup {
    struct viewing viewing;
    struct prefetch prefetch;
};

/* Partition p has so many rows. */
static void set_up(struct setup *setup, int parallelism, int rows)
{
    viewing_set_up(&setup->viewing, parallelism, 512);
    viewing_add(&setup->viewing, "p", rows);
    prefetch_init(&setup->prefetch, &setup->viewing.view);
}

static void tear_down(struct setup *setup)
{
    prefetch_reset(&setup->prefetch);
    viewing_tear_down(&setup->viewing);
}

static struct question question_at(struct setup *setup, enum prefetch_kind kind,
                                   struct bytes position, struct range directory)
{
    return (struct question){.table = "t",
                             .range = {position, directory.hi},
                             .since = viewing_since(&setup->viewing),
                             .keys_suffice = kind != PREFETCH_ROWS};
}

/* A listing of the directory comes to this position: 1 or 0. Where it is 1, it is known. */
static int reach_in(struct setup *setup, enum prefetch_kind kind, struct range directory,
                    struct bytes position)
{
    struct view *view = &setup->viewing.view;
    struct question question = question_at(setup, kind, position, directory);
    struct caller *caller = viewing_caller(&setup->viewing);
    struct buffer until;
    struct page *page = NULL;
    int r = prefetch_reach(&setup->prefetch, caller, kind, directory, &question, &page);
    assert_int_equal(caller->call.failure.error, MIN(r, 0));
    buffer_init(&until, ANSWER_MAX);
    if (r == 1)
        assert_int_equal(overlay_misses(view->overlay, &question, &until), 0);
    buffer_finish(&until);
    page_unref(page);
    return r;
}

static int reach(struct setup *setup, enum prefetch_kind kind, struct bytes position)
{
    return reach_in(setup, kind, PARTITION, position);
}

static bool was_keys_only(struct setup *setup, size_t request)
{
    assert_true(request <= viewing_asked(&setup->viewing));
    return setup->viewing.memory->diary[request - 1].keys_only;
}

static void the_first_miss_is_left_to_who_lists(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 4, 9000);
    assert_int_equal(reach(&setup, PREFETCH_ROWS, B("p\0")), 0);
    assert_int_equal(viewing_asked(&setup.viewing), 0);
    assert_int_equal(reach(&setup, PREFETCH_ROWS, ROW("01000")), 1);
    assert_int_equal(viewing_asked(&setup.viewing), 1); /* none ahead */
    assert_int_equal(reach(&setup, PREFETCH_ROWS, ROW("02000")), 1);
    assert_true(viewing_asked(&setup.viewing) >= 4); /* a reader that goes on is worth some */
    assert_false(was_keys_only(&setup, 1));
    assert_bytes(buffer_bytes(&setup.viewing.memory->diary[0].lo), ROW("01000"));
    assert_int_equal(reach(&setup, PREFETCH_ROWS, ROW("04000")), 0); /* no miss: it is known */
    tear_down(&setup);
}

static void what_is_known_is_no_miss(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 4, 20000);
    assert_int_equal(reach(&setup, PREFETCH_ROWS, B("p\0")), 0);
    assert_int_equal(reach(&setup, PREFETCH_ROWS, B("p\0")), 1);
    size_t asked = viewing_asked(&setup.viewing);
    assert_int_equal(reach(&setup, PREFETCH_ROWS, B("p\0")), 0);
    assert_int_equal(reach(&setup, PREFETCH_ROWS, ROW("00999")), 0);
    assert_int_equal(viewing_asked(&setup.viewing), asked);
    tear_down(&setup);
}

static void one_request_at_a_time_runs_nothing_ahead(void **state)
{
    (void)state;
    static const enum prefetch_kind kinds[] = {PREFETCH_NONE, PREFETCH_ROWS, PREFETCH_KEYS,
                                               PREFETCH_PARTITIONS};
    struct setup setup;
    set_up(&setup, 1, 9000);
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        for (int times = 0; times < 3; times++)
            assert_int_equal(reach(&setup, kinds[i], B("p\0")), 0);
    assert_int_equal(viewing_asked(&setup.viewing), 0);
    tear_down(&setup);
}

static void nothing_runs_where_none_is_wanted(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 4, 9000);
    for (int times = 0; times < 3; times++)
        assert_int_equal(reach(&setup, PREFETCH_NONE, B("p\0")), 0);
    assert_int_equal(viewing_asked(&setup.viewing), 0);
    tear_down(&setup);
}

static void names_alone_are_another_scan(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 2, 50000);
    assert_int_equal(reach(&setup, PREFETCH_ROWS, B("p\0")), 0);
    assert_int_equal(reach(&setup, PREFETCH_ROWS, B("p\0")), 1);
    size_t asked = viewing_asked(&setup.viewing);
    assert_false(was_keys_only(&setup, asked));
    setup.viewing.now_ms += TTL_MS + 1; /* nothing is known any more */
    assert_int_equal(reach(&setup, PREFETCH_KEYS, ROW("40000")), 1);
    assert_bytes(buffer_bytes(&setup.viewing.memory->diary[asked].lo), ROW("40000"));
    assert_true(was_keys_only(&setup, asked + 1));
    asked = viewing_asked(&setup.viewing);
    assert_int_equal(reach(&setup, PREFETCH_ROWS, ROW("40000")), 1); /* the texts are wanted */
    assert_false(was_keys_only(&setup, asked + 1));
    tear_down(&setup);
}

static void partitions_are_found_by_their_keys(void **state)
{
    (void)state;
    struct setup setup;
    viewing_set_up(&setup.viewing, 4, 512);
    viewing_add_many(&setup.viewing, 3, 5000);
    prefetch_init(&setup.prefetch, &setup.viewing.view);
    assert_int_equal(reach_in(&setup, PREFETCH_PARTITIONS, RANGE_ALL, B("")), 0);
    assert_int_equal(reach_in(&setup, PREFETCH_PARTITIONS, RANGE_ALL, B("p0000\x01")), 1);
    (void)reach_in(&setup, PREFETCH_PARTITIONS, RANGE_ALL, B("p0001\x01")); /* or known already */
    size_t asked = viewing_asked(&setup.viewing);
    assert_in_range(asked, 2, 6); /* jumps, not 10 pages */
    for (size_t i = 1; i <= asked; i++)
        assert_true(was_keys_only(&setup, i));
    tear_down(&setup);
}

static void a_reader_that_is_elsewhere_begins_there(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 2, 50000);
    assert_int_equal(reach(&setup, PREFETCH_ROWS, ROW("30000")), 0);
    assert_int_equal(reach(&setup, PREFETCH_ROWS, ROW("30000")), 1);
    assert_int_equal(reach(&setup, PREFETCH_ROWS, ROW("00500")), 0); /* it went back */
    assert_null(setup.prefetch.stream);
    size_t asked = viewing_asked(&setup.viewing);
    assert_int_equal(reach(&setup, PREFETCH_ROWS, ROW("00500")), 1);
    (void)viewing_asked(&setup.viewing);
    assert_bytes(buffer_bytes(&setup.viewing.memory->diary[asked].lo), ROW("00500"));
    tear_down(&setup);
}

static void one_that_was_not_used_for_long_is_replaced(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 2, 50000);
    assert_int_equal(reach(&setup, PREFETCH_ROWS, B("p\0")), 0);
    assert_int_equal(reach(&setup, PREFETCH_ROWS, B("p\0")), 1);
    size_t asked = viewing_asked(&setup.viewing);
    setup.viewing.now_ms += STREAM_KEPT_MS + 1;
    assert_int_equal(reach(&setup, PREFETCH_ROWS, ROW("01000")), 1);
    (void)viewing_asked(&setup.viewing);
    assert_bytes(buffer_bytes(&setup.viewing.memory->diary[asked].lo), ROW("01000"));
    tear_down(&setup);
}

static void reset_it_begins_as_at_first(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 2, 50000);
    assert_int_equal(reach(&setup, PREFETCH_ROWS, B("p\0")), 0);
    assert_int_equal(reach(&setup, PREFETCH_ROWS, B("p\0")), 1);
    prefetch_reset(&setup.prefetch);
    setup.viewing.now_ms += TTL_MS + 1;
    size_t asked = viewing_asked(&setup.viewing);
    assert_int_equal(reach(&setup, PREFETCH_ROWS, B("p\0")), 0);
    assert_int_equal(viewing_asked(&setup.viewing), asked);
    assert_int_equal(reach(&setup, PREFETCH_ROWS, B("p\0")), 1);
    tear_down(&setup);
}

static int fail_always(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    (void)number;
    return call_fail(call, -EIO, "broken");
}

static void a_failure_is_left_to_who_asks_there(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 2, 5000);
    assert_int_equal(reach(&setup, PREFETCH_ROWS, B("p\0")), 0);
    setup.viewing.memory->fault = fail_always;
    assert_int_equal(reach(&setup, PREFETCH_ROWS, B("p\0")), 0);
    assert_int_equal(setup.viewing.caller.call.failure.error, 0);
    (void)viewing_asked(&setup.viewing);
    setup.viewing.memory->fault = NULL;
    assert_int_equal(reach(&setup, PREFETCH_ROWS, B("p\0")), 1);
    tear_down(&setup);
}

/* The process has listed the table: what it misses in a directory is brought by its walk, from the
 * first on, also where nothing else runs ahead. */
static void a_walk_comes_first(void **state)
{
    (void)state;
    static const struct directory table = {DIRECTORY_FLAT, "t", {B(""), B(POSITION_END)}};
    for (int parallelism = 1; parallelism <= 8; parallelism *= 2) {
        struct setup setup;
        struct region left;
        region_init(&left);
        set_up(&setup, parallelism, 2500);
        (void)process_history_listed(setup.viewing.view.history, FIND, &table, setup.viewing.now_ms,
                                     setup.viewing.now_ms, &left);
        assert_int_equal(reach(&setup, PREFETCH_ROWS, B("p\0")), 1);
        assert_int_equal(reach(&setup, PREFETCH_KEYS, ROW("x")), 0); /* names: not its way */
        assert_null(setup.prefetch.stream);
        region_finish(&left);
        tear_down(&setup);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_miss_is_left_to_who_lists),
        cmocka_unit_test(what_is_known_is_no_miss),
        cmocka_unit_test(one_request_at_a_time_runs_nothing_ahead),
        cmocka_unit_test(nothing_runs_where_none_is_wanted),
        cmocka_unit_test(names_alone_are_another_scan),
        cmocka_unit_test(partitions_are_found_by_their_keys),
        cmocka_unit_test(a_reader_that_is_elsewhere_begins_there),
        cmocka_unit_test(one_that_was_not_used_for_long_is_replaced),
        cmocka_unit_test(reset_it_begins_as_at_first),
        cmocka_unit_test(a_failure_is_left_to_who_asks_there),
        cmocka_unit_test(a_walk_comes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
