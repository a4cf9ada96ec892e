/* SPDX-License-Identifier: MIT */
/* Where the rows of partitions are read before their names are sought. With parallelism 1 nothing
 * is guessed. */
#include "cache/ahead/rows_first.h"
#include "tests/unit/cache/ahead/prefetching.h"

#define FIND  7 /* a process */
#define LARGE ((size_t)64 << 20)

struct setup {
    struct prefetching prefetching;
    struct traversals *traversals;
    struct rows_first rows_first;
    struct caller caller; /* of the last question */
};

/* cache_bytes, ahead_bytes: 0: large. */
static void set_up_small(struct setup *setup, int partitions, int rows, size_t cache_bytes,
                         size_t ahead_bytes)
{
    prefetching_set_up(&setup->prefetching, 1,
                       (struct fetching_options){.cache_bytes = cache_bytes});
    prefetching_add(&setup->prefetching, partitions, rows);
    struct prefetcher_source *source = &setup->prefetching.source;
    if (ahead_bytes > 0)
        source->ahead_bytes = ahead_bytes;
    assert_int_equal(traversals_create(source, PREFETCHED_KEPT, &setup->traversals), 0);
    setup->rows_first = (struct rows_first){
        .traversals = setup->traversals, .prefetchers = source, .cache_bytes = LARGE};
}

static void set_up(struct setup *setup, int partitions, int rows)
{
    set_up_small(setup, partitions, rows, 0, 0);
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
    return !overlay_lacks(setup->prefetching.overlay, &question, NULL);
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

/* It reads that many pages, and some that the prefetcher had requested ahead by then. */
static void assert_gives_up(int partitions, int rows, int fanout, size_t pages, size_t ahead)
{
    struct setup setup;
    set_up(&setup, partitions, rows);
    setup.rows_first.fanout = fanout;
    assert_int_equal(read_table(&setup, FIND, false), 0);
    assert_false(is_all_known(&setup));
    assert_in_range(asked(&setup), pages, pages + ahead);
    tear_down(&setup);
}

static void where_jumps_cost_no_more_it_gives_up(void **state)
{
    (void)state;
    assert_gives_up(60, 400, 4, 2, 3);    /* more partitions than the directory shows */
    assert_gives_up(20, 1000, 0, 1, 3);   /* a partition of a whole page */
    assert_gives_up(200, 300, 0, 25, 10); /* 24,000 rows of 154,000 */
}

static void most_of_the_cache_is_the_limit(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 100, 200);
    setup.rows_first.cache_bytes = 1;
    assert_int_equal(read_table(&setup, FIND, false), 0);
    assert_in_range(asked(&setup), 1, 1 + 3);
    assert_false(is_all_known(&setup));
    tear_down(&setup);
}

static size_t bytes_of_page(void)
{
    struct setup setup;
    struct scan_item item = {0};
    set_up(&setup, 1, 1000);
    struct prefetcher *prefetcher = open_rows(&setup.prefetching);
    assert_int_equal(take_item(&setup.prefetching, prefetcher, &item), 1);
    size_t bytes = page_bytes(item.rows.page);
    run_finish(&item.rows);
    prefetcher_leave(prefetcher);
    tear_down(&setup);
    return bytes;
}

/* Are the rows known from this partition to the one before `end`, and that there are no others? */
static bool are_known(struct setup *setup, const char *begin, const char *end)
{
    struct question question = all(setup);
    question.range = (struct range){bytes_of(begin), bytes_of(end)};
    return !overlay_lacks(setup->prefetching.overlay, &question, NULL);
}

/* Another process reads the page that begins with this partition. */
static void fetch_page(struct setup *setup, int partition)
{
    struct fetching *fetching = &setup->prefetching.fetching;
    struct caller caller = fetching_caller(fetching);
    _cleanup_(page_unrefp) struct page *page = NULL;
    char key[16];
    bool is_own;
    (void)snprintf(key, sizeof(key), "p%04d", partition);
    struct fetch fetch = {.table = "t",
                          .range = {{key, strlen(key) + 1}, B(POSITION_END)},
                          .top = TABLE_STORE_PAGE_ROWS};
    struct stamp since = fetching_since_ttl(fetching);
    assert_int_equal(fetcher_fetch(fetching->fetcher, &caller, &fetch, since, &page, &is_own), 0);
}

/* A process that traverses reads as much as fits beside what it has not visited yet. That is not
 * evicted, whatever others read, until it comes to what is after. */
static void what_is_not_visited_stays(void **state)
{
    (void)state;
    struct setup setup;
    size_t page = bytes_of_page();
    set_up_small(&setup, 40, 1000, 14 * page, 10 * page);
    assert_int_equal(read_table(&setup, FIND, true), 0);
    assert_in_range(asked(&setup), 10, 11);
    for (int i = 20; i < 40; i++)
        fetch_page(&setup, i);
    assert_true(are_known(&setup, "p0000", "p0009"));
    size_t before = asked(&setup);
    assert_int_equal(read_table(&setup, FIND, true), 0); /* there is no room */
    assert_int_equal(asked(&setup), before);
    traversals_follow(setup.traversals, FIND, "t", B("p0005\0"));
    assert_int_equal(read_table(&setup, FIND, true), 0);
    assert_in_range(asked(&setup), before + 4, before + 7);
    assert_true(are_known(&setup, "p0005", "p0014"));
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
        cmocka_unit_test(what_is_not_visited_stays),
        cmocka_unit_test(process_0_reads_no_rows),
        cmocka_unit_test(where_something_is_known_no_rows_are_read),
        cmocka_unit_test(a_process_that_traverses_reads_what_is_missing),
        cmocka_unit_test(a_refusal_is_forgiven),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
