/* SPDX-License-Identifier: MIT */
/* Processes that go through a whole table, as find and grep -r do: they list a directory, then each
 * in it, and look everything up. However small or large its partitions are, that costs about one
 * request for 1,000 rows. */
#include "tests/unit/cache/account_fixture.h"

#define KEY_MAX_BYTES 1024

enum { FIND = 7, OTHER };

struct shape {
    int partitions, rows; /* of each partition */
};

struct walk {
    struct setup *setup;
    size_t rows;        /* that were listed */
    struct buffer last; /* partition key: they come in order */
};

static void set_up_shape(struct setup *setup, struct shape shape, struct setup_options options)
{
    set_up(setup, options);
    setup->process = FIND;
    memory_store_add_table(setup->memory, "t");
    for (int i = 0; i < shape.partitions; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "p%05d", i);
        add_rows(setup, key, shape.rows);
    }
}

/* The directory of a key and a mark after it, in memory of its own. */
struct place {
    struct directory directory;
    struct buffer lo, hi;
};

static void place_finish(struct place *place)
{
    buffer_finish(&place->lo);
    buffer_finish(&place->hi);
}

/* `name`: a partition's key, or a prefix with a "+" after it. */
static void place_init(struct place *place, struct bytes name)
{
    bool is_prefix = name.data[name.size - 1] == '+';
    struct bytes key = bytes_first(name, name.size - is_prefix);
    buffer_init(&place->lo, KEY_MAX_BYTES);
    buffer_init(&place->hi, KEY_MAX_BYTES);
    (void)buffer_append(&place->lo, key);
    if (is_prefix) {
        (void)prefix_append_successor(&place->hi, key, B(POSITION_END));
    } else {
        (void)buffer_append_char(&place->lo, '\0');
        (void)buffer_append(&place->hi, key);
        (void)buffer_append_string(&place->hi, POSITION_AFTER);
    }
    place->directory =
        (struct directory){.kind = is_prefix ? DIRECTORY_AUTO : DIRECTORY_ENTITIES,
                           .table = "t",
                           .range = {buffer_bytes(&place->lo), buffer_bytes(&place->hi)}};
}

static void look_up(struct walk *walk, struct bytes partition_start, struct bytes row_key)
{
    char position[KEY_MAX_BYTES], text[KEY_MAX_BYTES];
    int key_size = (int)partition_start.size - 1;
    int size = snprintf(position, sizeof(position), "%.*s%c%.*s", key_size, partition_start.data,
                        '\0', (int)row_key.size, row_key.data);
    (void)snprintf(text, sizeof(text), "%.*s|%.*s", key_size, partition_start.data,
                   (int)row_key.size, row_key.data);
    assert_found(walk->setup, (struct bytes){position, (size_t)size}, text);
}

static void walk_partition(struct walk *walk, const struct directory *directory)
{
    struct bytes start = directory->range.lo;
    assert_true(bytes_compare(buffer_bytes(&walk->last), start) < 0);
    buffer_clear(&walk->last);
    assert_int_equal(buffer_append(&walk->last, start), 0);
    _cleanup_(listing_closep) struct listing *listing = open_listing(walk->setup, directory);
    struct listing_entry entry = {0};
    int r;
    while ((r = next_entry(walk->setup, listing, entry.cookie, false, &entry)) == 1)
        walk->rows++;
    assert_int_equal(r, 0);
    for (uint64_t cookie = 0; cookie < entry.cookie; cookie++) {
        char row[8];
        (void)snprintf(row, sizeof(row), "%05d", (int)cookie);
        look_up(walk, start, bytes_of(row));
    }
}

static void walk_directory(struct walk *walk, const struct directory *directory);

static void visit(struct walk *walk, struct bytes name)
{
    struct place place;
    place_init(&place, name);
    assert_directory_found(walk->setup, &place.directory, 0);
    if (place.directory.kind == DIRECTORY_AUTO)
        walk_directory(walk, &place.directory);
    else
        walk_partition(walk, &place.directory);
    place_finish(&place);
}

/* All names, each with a NUL after it. */
static void list_names(struct walk *walk, const struct directory *directory, struct buffer *ret)
{
    _cleanup_(listing_closep) struct listing *listing = open_listing(walk->setup, directory);
    struct listing_entry entry = {0};
    int r;
    while ((r = next_entry(walk->setup, listing, entry.cookie, true, &entry)) == 1) {
        (void)buffer_append(ret, entry.key);
        (void)buffer_append_string(ret, entry.kind == LISTING_PREFIX ? "+" : "");
        (void)buffer_append_char(ret, '\0');
    }
    assert_int_equal(r, 0);
}

/* Lists all of it, then goes into each. */
static void walk_directory(struct walk *walk, const struct directory *directory)
{
    _cleanup_(buffer_finish) struct buffer names = {.max = (size_t)16 << 20};
    list_names(walk, directory, &names);
    for (size_t offset = 0; offset < names.size;) {
        struct bytes name = bytes_of(names.data + offset);
        visit(walk, name);
        offset += name.size + 1;
    }
}

static const struct directory level_of_all = {
    .kind = DIRECTORY_AUTO, .table = "t", .range = {B(""), B(POSITION_END)}};

/* How many requests it costs to walk through all. */
static size_t count_requests(struct shape shape, const struct directory *directory,
                             struct setup_options options)
{
    struct setup setup;
    set_up_shape(&setup, shape, options);
    struct walk walk = {.setup = &setup};
    buffer_init(&walk.last, KEY_MAX_BYTES);
    walk_directory(&walk, directory);
    buffer_finish(&walk.last);
    assert_int_equal(walk.rows, (size_t)shape.partitions * (size_t)shape.rows);
    size_t requests = gate_store_settle(setup.gate);
    tear_down(&setup);
    return requests;
}

static const int parallelism[] = {8, 1, 2};

/* Of these; a sanitizer gets the one with most threads. */
#define WALKS (TRIAL_SHARE > 1 ? 1 : ARRAY_SIZE(parallelism))

/* Nothing is larger than a quarter of the cache. What runs ahead by guesses wastes the more, the
 * later its answers come; all of it again would be twice the pages. */
static size_t most_requests(size_t rows, bool runs_ahead)
{
    return runs_ahead ? rows * 2 / 1000 - 1 : rows * 115 / 100000 + 5;
}

static void assert_requests_of_walks(struct shape shape, const struct directory *directory)
{
    size_t rows = (size_t)shape.partitions * (size_t)shape.rows;
    for (size_t i = 0; i < WALKS; i++) {
        struct setup_options options = {.parallelism = parallelism[i]};
        size_t requests = count_requests(shape, directory, options);
        assert_in_range(requests, rows / 1000, most_requests(rows, parallelism[i] > 1));
    }
}

/* Its levels cost little: skip-scans. */
static void a_walk_through_levels_reads_each_row_once(void **state)
{
    (void)state;
    static const struct shape shapes[] = {{20000, 1}, {5000, 5}, {3000, 10}, {5, 5000}, {1, 20000}};
    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
        assert_requests_of_walks(shapes[i], &level_of_all);
}

/* Where partitions are smaller than a page, their rows tell their names. */
static void names_of_many_partitions_come_with_their_rows(void **state)
{
    (void)state;
    static const struct shape shapes[] = {{20000, 1}, {5000, 5}, {3000, 10}, {500, 40}};
    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
        assert_requests_of_walks(shapes[i], PARTITIONS_OF("t"));
    assert_requests_of_walks((struct shape){500, 40}, &level_of_all);
    assert_requests_of_walks((struct shape){5, 5000}, PARTITIONS_OF("t"));
    assert_requests_of_walks((struct shape){1, 20000}, PARTITIONS_OF("t"));
}

/* Answers that hold one partition, or a part of one, say nothing of how large it is, as long as
 * they are few. */
static void short_pages_are_read_once(void **state)
{
    (void)state;
    static const struct shape shape = {50, 400};
    struct setup_options options = {.max_rows = 390};
    size_t pages = (size_t)(shape.partitions * shape.rows / options.max_rows) + 1;
    assert_in_range(count_requests(shape, &level_of_all, options), pages, pages + 5);
}

/* A process that is not known is not remembered: each directory is looked up and listed by itself.
 */
static void an_unknown_process_walks(void **state)
{
    (void)state;
    struct setup setup;
    set_up_shape(&setup, (struct shape){50, 3}, (struct setup_options){.parallelism = 8});
    setup.process = NO_PROCESS;
    struct walk walk = {.setup = &setup};
    buffer_init(&walk.last, KEY_MAX_BYTES);
    walk_directory(&walk, &level_of_all);
    buffer_finish(&walk.last);
    assert_int_equal(walk.rows, 150);
    assert_in_range(gate_store_settle(setup.gate), 1, 2 * 50 + 10);
    tear_down(&setup);
}

static int fail_from_fifth(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    return number >= 5 ? call_fail(call, -EIO, "the fifth fails, and all behind it") : 0;
}

/* `ret_rows`: how many of the partition's rows came, 0 on failure. */
static int list_partition(struct setup *setup, int number, int *ret_rows)
{
    char name[16];
    struct place place;
    struct listing_entry entry;
    (void)snprintf(name, sizeof(name), "p%05d", number);
    place_init(&place, bytes_of(name));
    struct listing *listing = open_listing(setup, &place.directory);
    uint64_t cookie = 0;
    int r;
    while ((r = listing_next(listing, caller_of(setup), cookie, false, true, &entry)) == 1)
        cookie = entry.cookie;
    listing_close(listing);
    place_finish(&place);
    *ret_rows = r == 0 ? (int)cookie : 0;
    return r;
}

static int list_and_heal(struct setup *setup, int number, int *ret_rows)
{
    int r = list_partition(setup, number, ret_rows);
    if (r == 0)
        return 0;
    assert_int_equal(r, -EIO);
    (void)gate_store_settle(setup->gate);
    setup->memory->fault = NULL;
    return r;
}

/* A failure in the midst of a walk is reported, once, and the walk goes on after it. */
static void a_walk_that_fails_goes_on(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(parallelism); i++) {
        struct setup setup;
        set_up_shape(&setup, (struct shape){200, 50},
                     (struct setup_options){.parallelism = parallelism[i]});
        setup.memory->fault = fail_from_fifth;
        struct listing_entry entry;
        int failures = 0, listed = 0, rows;
        (void)list(&setup, ROWS_OF("q"), false); /* not here */
        struct listing *whole = open_listing(&setup, &level_of_all);
        (void)listing_next(whole, caller_of(&setup), 0, true, true, &entry);
        for (int n = 0; n < 200;) {
            bool is_reported = list_and_heal(&setup, n, &rows) < 0;
            failures += is_reported;
            listed += rows;
            n += !is_reported;
        }
        listing_close(whole);
        assert_int_equal(listed, 200 * 50);
        assert_int_equal(failures, 1);
        tear_down(&setup);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_walk_through_levels_reads_each_row_once),
        cmocka_unit_test(names_of_many_partitions_come_with_their_rows),
        cmocka_unit_test(short_pages_are_read_once),
        cmocka_unit_test(an_unknown_process_walks),
        cmocka_unit_test(a_walk_that_fails_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
