/* SPDX-License-Identifier: MIT */
/* What the directory of a level lists: partitions or prefixes. It depends on the rows alone. */
#include "cache/ahead/fanout.h"
#include "tests/scan/rows.h"
#include "tests/unit/cache/account_fixture.h"

#define ROWS_MAX 20 /* of a partition that is made here */

/* Partitions p00000 and on, of as many rows each. */
static void add_partitions(struct setup *setup, int begin, int end, int rows)
{
    for (int i = begin; i < end; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "p%05d", i);
        add_rows(setup, key, rows);
    }
}

static const struct directory table = {
    .kind = DIRECTORY_AUTO, .table = "t", .range = {B(""), B(POSITION_END)}};

/* All names, as "p00000 " or "p00+ ". */
static void read_names(struct setup *setup, const struct directory *directory, struct buffer *ret)
{
    _cleanup_(listing_closep) struct listing *listing = open_listing(setup, directory);
    struct listing_entry entry = {0};
    buffer_init(ret, 1 << 20);
    while (next_entry(setup, listing, entry.cookie, true, &entry) == 1) {
        (void)buffer_append(ret, entry.key);
        (void)buffer_append_string(ret, entry.kind == LISTING_PREFIX ? "+ " : " ");
    }
}

static bool lists_prefixes(struct setup *setup, const struct directory *directory)
{
    struct buffer names;
    read_names(setup, directory, &names);
    bool has_prefixes = strchr(buffer_string(&names), '+') != NULL;
    buffer_finish(&names);
    return has_prefixes;
}

static void the_border_depends_on_the_rows_of_the_first_page(void **state)
{
    (void)state;
    static const struct {
        int fanout, partitions, rows;
        bool has_prefixes;
    } cases[] = {
        {0, 512, 1, false},  {0, 513, 1, false},    {0, 4096, 1, false}, {0, 4097, 1, true},
        {0, 512, 15, false}, {0, 4096, 15, false},  {0, 4097, 15, true}, /* 67 partitions */
        {0, 512, 16, false}, {0, 513, 16, true},                         /* 63 */
        {512, 513, 1, true}, {600, 600, 16, false}, {600, 601, 1, true},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        for (int parallelism = 1; parallelism <= 8; parallelism += 7) {
            struct setup setup;
            set_up(&setup,
                   (struct setup_options){.parallelism = parallelism, .fanout = cases[i].fanout});
            add_partitions(&setup, 0, cases[i].partitions, cases[i].rows);
            assert_int_equal(lists_prefixes(&setup, &table), cases[i].has_prefixes);
            tear_down(&setup);
        }
    }
}

/* 63 or 64 partitions in 1,000 rows, of which the last has one. Later ones count for nothing. */
static void the_1000th_row_may_begin_the_64th_partition(void **state)
{
    (void)state;
    for (int rows = 15; rows <= 16; rows++) {
        struct setup setup;
        set_up(&setup, (struct setup_options){0});
        add_partitions(&setup, 0, 62, 15);
        add_partitions(&setup, 62, 63, 1000 - 62 * 15 - (16 - rows));
        add_partitions(&setup, 63, 600, 1);
        assert_int_equal(lists_prefixes(&setup, &table), rows == 16);
        tear_down(&setup);
    }
}

/* A prefix has first rows of its own. */
static void each_level_has_its_own(void **state)
{
    (void)state;
    static const struct directory below = {
        .kind = DIRECTORY_AUTO, .table = "t", .range = {B("p1"), B("p2")}};
    struct setup setup;
    set_up(&setup, (struct setup_options){0});
    add_partitions(&setup, 0, 600, 16);
    add_partitions(&setup, 10000, 11000, 1);
    assert_true(lists_prefixes(&setup, &table));
    assert_false(lists_prefixes(&setup, &below));
    tear_down(&setup);
}

/* A table of days that gets more rows at its end: 4,096 days are days whatever these hold. */
static void growth_at_the_end_changes_nothing(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){.is_ttl_0 = true});
    add_partitions(&setup, 0, 600, 3);
    add_partitions(&setup, 600, 700, 100);
    assert_false(lists_prefixes(&setup, &table));
    for (int days = 700; days < 900; days += 100) {
        add_partitions(&setup, days, days + 100, 50);
        assert_false(lists_prefixes(&setup, &table));
    }
    tear_down(&setup);
}

/* The rows that decide are the ones that this mount sees. */
static void queued_changes_count(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup,
           (struct setup_options){
               .is_write_back = true, .pending_bytes = 1 << 20, .is_ttl_0 = true, .fanout = 0});
    add_partitions(&setup, 0, 4096, 1);
    assert_false(lists_prefixes(&setup, &table));
    struct edit edit = {.address = {"t", B("q\0r")}, .begin = EDIT_NEW, .text = B("{}")};
    struct entity entity = {0};
    assert_int_equal(account_store(setup.account, caller_of(&setup), &edit, &entity), 0);
    entity_finish(&entity);
    assert_true(lists_prefixes(&setup, &table));
    tear_down(&setup);
}

/* --- what is known before */

struct shape { /* of a table: a group of partitions of rows after the other */
    int partitions[3], rows[3];
};

static void add_shape(struct setup *setup, const struct shape *shape)
{
    int begin = 0;
    for (size_t i = 0; i < ARRAY_SIZE(shape->rows); i++) {
        add_partitions(setup, begin, begin + shape->partitions[i], shape->rows[i]);
        begin += shape->partitions[i];
    }
}

static int count_of(const struct shape *shape)
{
    return shape->partitions[0] + shape->partitions[1] + shape->partitions[2];
}

static void look_at_a_row(struct setup *setup, uint64_t *seed, int partitions)
{
    char position[32];
    int size =
        snprintf(position, sizeof(position), "p%05d%c%05d", (int)random_below(seed, partitions),
                 '\0', (int)random_below(seed, ROWS_MAX));
    struct address address = {"t", {position, (size_t)size}};
    _cleanup_(entity_finish) struct entity entity = {0};
    int r = account_find(setup->account, caller_of(setup), address, &entity);
    assert_true(r == 0 || r == -ENOENT);
}

static void list_a_partition(struct setup *setup, uint64_t *seed, int partitions)
{
    char lo[16], hi[16];
    int n = (int)random_below(seed, partitions);
    int size = snprintf(lo, sizeof(lo), "p%05d%c", n, '\0');
    (void)snprintf(hi, sizeof(hi), "p%05d%s", n, POSITION_AFTER);
    const struct directory directory = {.kind = DIRECTORY_ENTITIES,
                                        .table = "t",
                                        .range = {{lo, (size_t)size}, {hi, (size_t)size}}};
    (void)list(setup, &directory, random_below(seed, 2));
}

/* Some of the table's first rows and of others, in pieces. */
static void know_something(struct setup *setup, uint64_t *seed, const struct shape *shape)
{
    for (uint64_t i = random_below(seed, 40); i > 0; i--) {
        setup->process = random_below(seed, 3); /* 0: none that is known */
        int partitions = random_below(seed, 2) ? count_of(shape) : 70;
        if (random_below(seed, 3) > 0)
            look_at_a_row(setup, seed, partitions);
        else
            list_a_partition(setup, seed, partitions);
    }
    if (random_below(seed, 4) == 0)
        (void)list(setup, PARTITIONS_OF("t"), random_below(seed, 2));
    setup->process = random_below(seed, 3);
}

static void assert_names_after(uint64_t *seed, const struct shape *shape, struct bytes expected)
{
    struct setup setup;
    struct buffer names;
    set_up(&setup,
           (struct setup_options){.parallelism = random_below(seed, 2) ? 1 : 8,
                                  .cache_bytes = (size_t[]){0, 0, 1, 200000}[random_below(seed, 4)],
                                  .max_rows = (int[]){0, 0, 999, 100, 7}[random_below(seed, 5)]});
    add_shape(&setup, shape);
    know_something(&setup, seed, shape);
    read_names(&setup, &table, &names);
    assert_bytes(buffer_bytes(&names), expected);
    buffer_finish(&names);
    tear_down(&setup);
}

/* The names are the same whatever is known of the table before, however small the cache is, and
 * however short the service's pages are. */
static void what_is_known_changes_nothing(void **state)
{
    (void)state;
    static const struct {
        struct shape shape;
        bool has_prefixes;
    } cases[] = {
        {{{600, 0, 0}, {1, 1, 1}}, false},    {{{600, 0, 0}, {16, 1, 1}}, true},
        {{{62, 1, 600}, {15, 70, 1}}, true},  {{{62, 1, 600}, {15, 69, 1}}, false},
        {{{1, 700, 0}, {940, 1, 1}}, true},   {{{1, 700, 0}, {937, 1, 1}}, false},
        {{{513, 3, 20}, {15, 20, 1}}, false},
    };
    uint64_t seed = 38;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setup setup;
        struct buffer cold;
        set_up(&setup, (struct setup_options){0});
        add_shape(&setup, &cases[i].shape);
        read_names(&setup, &table, &cold);
        assert_int_equal(strchr(buffer_string(&cold), '+') != NULL, cases[i].has_prefixes);
        tear_down(&setup);
        for (int j = 0; j < 30; j++)
            assert_names_after(&seed, &cases[i].shape, buffer_bytes(&cold));
        buffer_finish(&cold);
    }
}

/* --- requests */

/* A listing of names costs what it did: the page that decides is the first that names need, too. */
static void deciding_costs_no_request(void **state)
{
    (void)state;
    for (uint64_t process = 0; process <= 1; process++) {
        size_t asked[2];
        for (int by_rows = 0; by_rows <= 1; by_rows++) {
            struct setup setup;
            set_up(&setup, (struct setup_options){.fanout = by_rows ? 0 : FANOUT_FEW});
            setup.process = process;
            add_partitions(&setup, 0, 30, 100);
            assert_int_equal(list(&setup, &table, true), 30);
            asked[by_rows] = setup.memory->asked;
            tear_down(&setup);
        }
        assert_int_equal(asked[0], asked[1]);
    }
}

static void a_failure_is_the_listings(void **state)
{
    (void)state;
    struct setup setup;
    struct listing_entry entry;
    set_up(&setup, (struct setup_options){.faults = "fail=query:1+:403:AuthorizationFailure"});
    add_partitions(&setup, 0, 600, 1);
    struct listing *listing = open_listing(&setup, &table);
    int r = listing_next(listing, caller_of(&setup), 0, true, true, &entry);
    assert_true(r < 0 && r != -ENOENT);
    assert_int_equal(setup.caller.call.failure.error, r);
    listing_close(listing);
    tear_down(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_border_depends_on_the_rows_of_the_first_page),
        cmocka_unit_test(the_1000th_row_may_begin_the_64th_partition),
        cmocka_unit_test(each_level_has_its_own),
        cmocka_unit_test(growth_at_the_end_changes_nothing),
        cmocka_unit_test(queued_changes_count),
        cmocka_unit_test(what_is_known_changes_nothing),
        cmocka_unit_test(deciding_costs_no_request),
        cmocka_unit_test(a_failure_is_the_listings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
