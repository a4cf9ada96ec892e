/* SPDX-License-Identifier: MIT */
/* Listings go back and forth over what is kept, what has left and what is too old, and every entry
 * is where it was. */
#include "tests/unit/cache/account_fixture.h"

#define NAME_SIZE  16
#define PARTITIONS 400 /* of the table whose partitions are listed */
#define HUGE       1500
#define OPEN       3 /* listings at once */

/* What a directory holds, in order. */
struct truth {
    struct directory directory;
    const char *partition; /* its rows'; NULL: entries are no rows */
    char (*names)[NAME_SIZE];
    size_t n;
};

static struct truth new_truth(const struct directory *directory, size_t n)
{
    struct truth truth = {.directory = *directory, .names = calloc(n, NAME_SIZE), .n = n};
    assert_non_null(truth.names);
    return truth;
}

static struct truth rows_truth(const struct directory *directory, const char *partition, size_t n)
{
    struct truth truth = new_truth(directory, n);
    truth.partition = partition;
    for (size_t i = 0; i < n; i++)
        (void)snprintf(truth.names[i], NAME_SIZE, "%05d", (int)i);
    return truth;
}

struct walk {
    struct setup setup;
    unsigned random;
    size_t reads; /* entries */
};

static size_t pick(struct walk *walk, size_t n)
{
    walk->random = walk->random * 1664525 + 1013904223;
    return (size_t)(((uint64_t)(walk->random >> 8) * n) >> 24);
}

static void assert_text(const struct truth *truth, const struct entity *entity, const char *name)
{
    char expected[NAME_SIZE * 2];
    (void)snprintf(expected, sizeof(expected), "%s|%s", truth->partition, name);
    assert_non_null(entity->page);
    assert_bytes(page_text(entity->page, entity->row), bytes_of(expected));
}

static void assert_true_entry(struct walk *walk, const struct truth *truth, struct listing *listing,
                              uint64_t cookie, bool names_suffice)
{
    struct listing_entry entry;
    int r = next_entry(&walk->setup, listing, cookie, names_suffice, &entry);
    assert_int_equal(r, cookie < truth->n);
    walk->reads++;
    if (r == 0)
        return;
    assert_bytes(entry.key, bytes_of(truth->names[cookie]));
    assert_int_equal(entry.cookie, cookie + 1);
    assert_true(truth->partition || !entry.entity.page);
    if (truth->partition && (!names_suffice || entry.entity.page))
        assert_text(truth, &entry.entity, truth->names[cookie]);
}

/* A place, and some entries from there on; now and then to the end, or back to the start. */
static void read_some(struct walk *walk, const struct truth *truth, struct listing *listing)
{
    static const size_t lengths[] = {1, 1, 2, 5, 30, 400};
    bool names_suffice = pick(walk, 2) == 0;
    size_t from = pick(walk, 20) == 0 ? 0 : pick(walk, truth->n + 1);
    size_t to = MIN(from + lengths[pick(walk, ARRAY_SIZE(lengths))], truth->n + 1);
    for (size_t cookie = from; cookie < to; cookie++)
        assert_true_entry(walk, truth, listing, cookie, names_suffice);
}

static void find_one(struct walk *walk, const struct truth *truth)
{
    if (truth->partition)
        assert_row_found(&walk->setup, truth->partition, (int)pick(walk, truth->n));
}

static void take_steps(struct walk *walk, const struct truth *truth, size_t steps)
{
    static const int64_t pauses[] = {0, 0, 0, 1, 10, TTL_MS + 1, KEPT_MS + 1};
    struct listing *listings[OPEN];
    for (size_t i = 0; i < OPEN; i++)
        listings[i] = open_listing(&walk->setup, &truth->directory);
    for (size_t step = 0; step < steps; step++) {
        walk->setup.process = pick(walk, 3);
        read_some(walk, truth, listings[pick(walk, OPEN)]);
        find_one(walk, truth);
        if (pick(walk, 8) == 0)
            walk->setup.now_ms += pauses[pick(walk, ARRAY_SIZE(pauses))];
    }
    for (size_t i = 0; i < OPEN; i++)
        listing_close(listings[i]);
}

static const struct setup_options conditions[] = {
    {.cache_bytes = 0},
    {.cache_bytes = 1}, /* only what was put last */
    {.cache_bytes = 20000},
    {.cache_bytes = 20000, .faults = "short=7"},
    {.cache_bytes = 5000, .faults = "short=100,empty=1"},
    {.cache_bytes = 50000, .is_ttl_0 = true},
};

static void walk_everywhere(struct truth *truth, void (*fill)(struct setup *setup), size_t steps)
{
    for (size_t i = 0; i < ARRAY_SIZE(conditions); i++) {
        for (unsigned seed = 1; seed <= 4; seed++) {
            struct walk walk = {.random = seed};
            set_up(&walk.setup, conditions[i]);
            fill(&walk.setup);
            take_steps(&walk, truth, steps);
            assert_true(walk.reads > 10 * steps);
            tear_down(&walk.setup);
        }
    }
    free(truth->names);
}

static void add_three_partitions(struct setup *setup)
{
    add_rows(setup, "a", 700);
    add_rows(setup, "b", 2500);
    add_rows(setup, "c", 3);
}

static void rows_are_where_they_were(void **state)
{
    (void)state;
    struct truth truths[] = {rows_truth(ROWS_OF("a"), "a", 700),
                             rows_truth(ROWS_OF("b"), "b", 2500), rows_truth(ROWS_OF("c"), "c", 3)};
    walk_everywhere(&truths[0], add_three_partitions, 100);
    walk_everywhere(&truths[1], add_three_partitions, 200);
    walk_everywhere(&truths[2], add_three_partitions, 400);
}

/* The rows that start with "01": a piece of a partition. */
static void rows_of_a_prefix_are_where_they_were(void **state)
{
    (void)state;
    struct directory directory = {
        .kind = DIRECTORY_ENTITIES, .table = "t", .range = {ROW_AT("b", "01"), ROW_AT("b", "02")}};
    struct truth truth = new_truth(&directory, 1000);
    truth.partition = "b";
    for (size_t i = 0; i < truth.n; i++)
        (void)snprintf(truth.names[i], NAME_SIZE, "%05d", (int)i + 1000);
    walk_everywhere(&truth, add_three_partitions, 200);
}

/* Most have a few rows, some many more than a page holds. */
static void add_many_partitions(struct setup *setup)
{
    for (int i = 0; i < PARTITIONS; i++) {
        char key[8];
        (void)snprintf(key, sizeof(key), "%03d", i);
        add_rows(setup, key, i % 97 == 50 ? HUGE : 1 + i % 5);
    }
}

static void partitions_are_where_they_were(void **state)
{
    (void)state;
    struct truth truth = new_truth(PARTITIONS_OF("t"), PARTITIONS);
    for (size_t i = 0; i < truth.n; i++)
        (void)snprintf(truth.names[i], NAME_SIZE, "%03d", (int)i);
    walk_everywhere(&truth, add_many_partitions, 100);
}

static void add_tables(struct setup *setup)
{
    setup->memory->max_rows = 7;
    for (int i = 40; i-- > 0;) {
        char name[8];
        (void)snprintf(name, sizeof(name), "t%02d", i);
        memory_store_add_table(setup->memory, name);
    }
}

static void tables_are_where_they_were(void **state)
{
    (void)state;
    struct truth truth = new_truth(TABLES, 40);
    for (size_t i = 0; i < truth.n; i++)
        (void)snprintf(truth.names[i], NAME_SIZE, "t%02d", (int)i);
    walk_everywhere(&truth, add_tables, 300);
}

static void going_back_costs_nothing_over_what_is_kept(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){0});
    add_rows(&setup, "p", 3500);
    struct listing *listing = open_listing(&setup, ROWS_OF("p"));
    for (uint64_t cookie = 0; cookie < 3500; cookie++)
        assert_row(&setup, listing, cookie);
    assert_end(&setup, listing, 3500);
    assert_requests(&setup, "rows [p/ p+) 1000, rows [p/00999+ p+) 1000, rows [p/01999+ p+) 1000, "
                            "rows [p/02999+ p+) 1000");
    for (uint64_t cookie = 3499; cookie > 0; cookie--)
        assert_row(&setup, listing, cookie);
    assert_row(&setup, listing, 3000);
    assert_row(&setup, listing, 100);
    assert_end(&setup, listing, 3500);
    assert_requests(&setup, "");
    listing_close(listing);
    tear_down(&setup);
}

static void going_back_asks_for_what_has_left(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){.cache_bytes = 1});
    add_rows(&setup, "p", 3500);
    struct listing *listing = open_listing(&setup, ROWS_OF("p"));
    for (uint64_t cookie = 0; cookie < 3500; cookie++)
        assert_row(&setup, listing, cookie);
    memory_store_forget_diary(setup.memory);
    assert_row(&setup, listing, 1500);
    assert_row(&setup, listing, 1999);
    assert_requests(&setup, "rows [p/00999+ p+) 1000");
    assert_row(&setup, listing, 2000);
    assert_row(&setup, listing, 999);
    assert_requests(&setup, "rows [p/01999+ p+) 1000, rows [p/ p+) 1000");
    assert_row(&setup, listing, 3100); /* reads on from where it is: there may be new ones */
    assert_end(&setup, listing, 3500);
    assert_requests(&setup, "rows [p/00999+ p+) 1000, rows [p/01999+ p+) 1000, "
                            "rows [p/02999+ p+) 1000");
    listing_close(listing);
    tear_down(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_where_they_were),
        cmocka_unit_test(rows_of_a_prefix_are_where_they_were),
        cmocka_unit_test(partitions_are_where_they_were),
        cmocka_unit_test(tables_are_where_they_were),
        cmocka_unit_test(going_back_costs_nothing_over_what_is_kept),
        cmocka_unit_test(going_back_asks_for_what_has_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
