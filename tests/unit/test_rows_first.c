/* Where the rows of partitions are read before their names are sought. With parallelism 1 nothing
 * is guessed. */
#include "cache/read/rows_first.h"
#include "tests/unit/prefetching.h"

#define FIND  7 /* a process */
#define LARGE ((size_t)64 << 20)

struct setup {
    struct prefetching prefetching;
    struct traversals *traversals;
    struct rows_first rows_first;
    struct caller caller; /* of the last question */
};

static void set_up(struct setup *setup, int partitions, int rows)
{
    prefetching_set_up(&setup->prefetching, 1, (struct fetching_options){0});
    prefetching_add(&setup->prefetching, partitions, rows);
    struct prefetcher_source *source = &setup->prefetching.source;
    assert_int_equal(traversals_create(source, PREFETCHED_KEPT, &setup->traversals), 0);
    setup->rows_first = (struct rows_first){
        .traversals = setup->traversals, .prefetchers = source, .cache_bytes = LARGE};
}

static void tear_down(struct setup *setup)
{
    traversals_destroy(setup->traversals);
    prefetching_tear_down(&setup->prefetching);
}

static struct question all(struct setup *setup)
{
    return (struct question){"t", RANGE_ALL, fetching_since_ttl(&setup->prefetching.fetching),
                             false};
}

/* Reads the table. is_traversed: the process traverses it. */
static int read_table(struct setup *setup, uint64_t process, bool is_traversed)
{
    struct question question = all(setup);
    struct owned_range whole;
    setup->caller = fetching_caller(&setup->prefetching.fetching);
    setup->caller.process = process;
    owned_range_init(&whole);
    assert_true(owned_range_set(&whole, "t", RANGE_ALL));
    int r = rows_first_read(&setup->rows_first, &setup->caller, &question,
                            is_traversed ? &whole : NULL);
    assert_int_equal(setup->caller.call.failure.error, r);
    owned_range_finish(&whole);
    return r;
}

static size_t asked(struct setup *setup)
{
    return prefetching_asked(&setup->prefetching);
}

static bool is_all_known(struct setup *setup)
{
    struct question question = all(setup);
    struct buffer until;
    buffer_init(&until, PREFETCHED_MAX);
    int lacks = overlay_lacks(setup->prefetching.overlay, &question, &until);
    buffer_finish(&until);
    assert_in_range(lacks, 0, 1);
    return lacks == 0;
}

static void many_partitions_on_few_pages_are_read(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 300, 5);
    assert_int_equal(read_table(&setup, FIND, false), 0);
    assert_true(is_all_known(&setup));
    assert_int_equal(asked(&setup), 2);
    assert_int_equal(read_table(&setup, FIND, false), 0);
    assert_int_equal(asked(&setup), 2);
    tear_down(&setup);
}

/* It reads that many pages, and up to three that the prefetcher had requested ahead by then. */
static void assert_gives_up(int partitions, int rows, int fanout, size_t pages)
{
    struct setup setup;
    set_up(&setup, partitions, rows);
    setup.prefetching.source.fanout = fanout;
    assert_int_equal(read_table(&setup, FIND, false), 0);
    assert_false(is_all_known(&setup));
    assert_in_range(asked(&setup), pages, pages + 3);
    tear_down(&setup);
}

static void where_jumps_cost_no_more_it_gives_up(void **state)
{
    (void)state;
    assert_gives_up(60, 400, 4, 2);    /* more partitions than the directory shows */
    assert_gives_up(20, 1000, 512, 1); /* a partition of a whole page */
}

static void most_of_the_cache_is_the_limit(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 100, 200);
    setup.rows_first.cache_bytes = 1;
    assert_int_equal(read_table(&setup, FIND, false), 0);
    assert_in_range(asked(&setup), 1, 1 + 3);
    assert_int_equal(read_table(&setup, FIND + 1, true), 0);
    assert_false(is_all_known(&setup));
    tear_down(&setup);
}

static void process_0_reads_no_rows(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 300, 5);
    assert_int_equal(read_table(&setup, 0, false), 0);
    assert_int_equal(asked(&setup), 0);
    tear_down(&setup);
}

/* Others have begun to read here: the names that are known would be asked for again. */
static void where_something_is_known_no_rows_are_read(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 300, 20);
    struct prefetcher *prefetcher = open_rows(&setup.prefetching);
    prefetcher_want(prefetcher, 1);
    take(&setup.prefetching, prefetcher);
    prefetcher_leave(prefetcher);
    size_t before = asked(&setup);
    assert_int_equal(read_table(&setup, FIND, false), 0);
    assert_int_equal(asked(&setup), before);
    tear_down(&setup);
}

/* What is known is passed; its own traversal brings the rest, across all borders. */
static void a_process_that_traverses_reads_what_is_missing(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 20, 1000);
    assert_int_equal(read_table(&setup, FIND, true), 0);
    assert_true(is_all_known(&setup));
    assert_int_equal(asked(&setup), 20);
    tear_down(&setup);
}

static int fail_always(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    (void)number;
    return call_fail(call, -EACCES, "refused");
}

/* The names are sought then, and tell the truth. */
static void a_refusal_is_forgiven(void **state)
{
    (void)state;
    for (int is_traversed = 0; is_traversed <= 1; is_traversed++) {
        struct setup setup;
        set_up(&setup, 300, 5);
        setup.prefetching.fetching.memory->fault = fail_always;
        assert_int_equal(read_table(&setup, FIND, is_traversed), 0);
        assert_int_equal(asked(&setup), 1);
        tear_down(&setup);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_partitions_on_few_pages_are_read),
        cmocka_unit_test(where_jumps_cost_no_more_it_gives_up),
        cmocka_unit_test(most_of_the_cache_is_the_limit),
        cmocka_unit_test(process_0_reads_no_rows),
        cmocka_unit_test(where_something_is_known_no_rows_are_read),
        cmocka_unit_test(a_process_that_traverses_reads_what_is_missing),
        cmocka_unit_test(a_refusal_is_forgiven),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
