/* SPDX-License-Identifier: MIT */
/* What a directory shows after its listing: local directories, but those that were listed. */
#include "tests/unit/cache/account_writing.h"

#define FANOUT 4
#define LEVEL  (&(struct directory){.kind = DIRECTORY_AUTO, .table = "t", .range = RANGE_ALL})
#define PREFIX(key, end)                                                                           \
    (&(struct directory){.kind = DIRECTORY_AUTO, .table = "t", .range = {B(key), B(end)}})

static void set_up_table(struct setup *setup)
{
    set_up(setup, (struct setup_options){.fanout = FANOUT});
    memory_store_add_table(setup->memory, "t");
}

/* a0 to a4 and b0: a level of prefixes. */
static void add_partitions(struct setup *setup)
{
    char key[] = "a0";
    for (; key[1] <= '4'; key[1]++)
        add_rows(setup, key, 1);
    add_rows(setup, "b0", 1);
}

static void make(struct setup *setup, const struct directory_path *path)
{
    assert_int_equal(account_make_directory(setup->account, caller_of(setup), path), 0);
}

/* Appends the rest after the listing: "key " or "prefix+ ". */
static void append_local(struct listing *listing, struct buffer *ret)
{
    _cleanup_(buffer_finish) struct buffer lo, after;
    int r;
    buffer_init(&lo, POSITION_MAX_BYTES);
    buffer_init(&after, POSITION_MAX_BYTES);
    while ((r = listing_next_local(listing, buffer_bytes(&after), &lo)) == 1) {
        (void)buffer_append(ret, position_partition_key(buffer_bytes(&lo)));
        (void)buffer_append_string(ret, position_has_row(buffer_bytes(&lo)) ? " " : "+ ");
        buffer_swap(&lo, &after);
    }
    assert_int_equal(r, 0);
}

/* What the directory shows: "key " or "prefix+ ", and after "| " what only this mount has. */
static void assert_shown(struct setup *setup, const struct directory *directory,
                         const char *expected)
{
    _cleanup_(buffer_finish) struct buffer shown = {.max = 1000};
    _cleanup_(listing_closep) struct listing *listing = open_listing(setup, directory);
    struct listing_entry entry = {0};
    while (next_entry(setup, listing, entry.cookie, true, &entry) == 1) {
        (void)buffer_append(&shown, entry.key);
        (void)buffer_append_string(&shown, entry.kind == LISTING_PREFIX ? "+ " : " ");
    }
    (void)buffer_append_string(&shown, "| ");
    memory_store_forget_diary(setup->memory);
    append_local(listing, &shown);
    assert_request_count(setup, 0);
    assert_string_equal(buffer_string(&shown), expected);
}

DEFINE_FIXTURE(table, struct setup, set_up_table(test), tear_down(test))

static void local_directories_stand_behind_a_listing(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 1);
    assert_shown(setup, LEVEL, "p | ");
    make(setup, PATH_OF(*ROWS_OF("q"), *LEVEL));
    make(setup, PATH_OF(*PREFIX("N", "O"), *LEVEL));
    make(setup, PATH_OF(*ROWS_OF("New"), *PREFIX("N", "O"), *LEVEL));
    assert_shown(setup, LEVEL, "p | N+ q ");
    assert_shown(setup, PARTITIONS_OF("t"), "p | New q ");
    assert_shown(setup, PREFIX("N", "O"), "| New ");
    assert_shown(setup, ROWS_OF("q"), "| ");
}

/* By its name, by a partition that begins with its prefix, and by its prefix. */
static void what_another_client_filled_is_shown_by_the_listing_alone(void **state)
{
    struct setup *setup = *state;
    make(setup, PATH_OF(*ROWS_OF("p"), *LEVEL));
    make(setup, PATH_OF(*ROWS_OF("New"), *PREFIX("N", "O"), *LEVEL));
    make(setup, PATH_OF(*PREFIX("M", "N"), *LEVEL));
    assert_shown(setup, LEVEL, "| M+ N+ p ");
    another_stores(setup, B("News\0x"), "other");
    another_stores(setup, P_ROW("x"), "other");
    setup->now_ms += KEPT_MS + 1;
    assert_shown(setup, LEVEL, "News p | M+ ");
    assert_shown(setup, PARTITIONS_OF("t"), "News p | New ");
    assert_shown(setup, PREFIX("N", "O"), "News | New ");
}

static void below_a_prefix_that_is_shown_an_empty_one_is_shown_too(void **state)
{
    struct setup *setup = *state;
    add_partitions(setup);
    assert_shown(setup, LEVEL, "a+ b0 | ");
    make(setup, PATH_OF(*ROWS_OF("a9"), *LEVEL));
    make(setup, PATH_OF(*ROWS_OF("a8"), *PREFIX("a", "b"), *LEVEL));
    assert_shown(setup, LEVEL, "a+ b0 | a9 ");
    assert_shown(setup, PREFIX("a", "b"), "a0 a1 a2 a3 a4 | a8 ");
}

/* The names are those of the listing. When another client has emptied it, it is still there. */
static void what_this_mount_filled_is_shown_by_the_listing_alone(void **state)
{
    struct setup *setup = *state;
    add_partitions(setup);
    make(setup, PATH_OF(*ROWS_OF("p"), *PREFIX("p", "q"), *LEVEL));
    assert_shown(setup, LEVEL, "a+ b0 | p+ ");
    assert_int_equal(store_text(setup, EDIT_NEW, P_ROW("x"), "{}"), 0);
    assert_shown(setup, LEVEL, "a+ b0 p | ");
    assert_shown(setup, PREFIX("p", "q"), "p | ");
    another_client_writes(setup, WRITE_DELETE, P_ROW("x"), "");
    setup->now_ms += KEPT_MS + 1;
    assert_partition_found(setup, "p", 0);
    assert_shown(setup, LEVEL, "a+ b0 | p+ ");
    assert_shown(setup, PARTITIONS_OF("t"), "a0 a1 a2 a3 a4 b0 | p ");
}

/* In T/p some rows were deleted. The level shows it below p+ alone. */
static void what_may_hold_entities_is_not_shown_twice(void **state)
{
    struct setup *setup = *state;
    add_partitions(setup);
    another_stores(setup, B("a9\0x"), "other");
    another_stores(setup, B("a9\0y"), "other");
    assert_shown(setup, LEVEL, "a+ b0 | ");
    assert_int_equal(account_unlink(setup->account, caller_of(setup), address_of(B("a9\0x")),
                                    B("version-1"), PATH_OF(*ROWS_OF("a9"), *LEVEL)),
                     0);
    assert_shown(setup, LEVEL, "a+ b0 | ");
    setup->now_ms += KEPT_MS + 1;
    assert_shown(setup, LEVEL, "a+ b0 | ");
}

/* The directories in which something was removed stay by the path that was used. */
static void what_an_unlink_emptied_is_shown(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 1);
    assert_shown(setup, LEVEL, "p | ");
    assert_int_equal(account_unlink(setup->account, caller_of(setup), address_of(P_ROW("00000")),
                                    B("etag"), PATH_OF(*ROWS_OF("p"), *PREFIX("p", "q"), *LEVEL)),
                     0);
    assert_directory_found(setup, PREFIX("p", "q"), 0);
    assert_partition_found(setup, "p", 0);
    assert_shown(setup, LEVEL, "| p+ ");
    assert_shown(setup, PREFIX("p", "q"), "| p ");
}

static void a_row_is_known_that_was_read_or_stored(void **state)
{
    struct setup *setup = *state;
    const struct range x = {P_ROW("x"), P_ROW("x\x01")};
    _cleanup_(listing_closep) struct listing *listing = open_listing(setup, ROWS_OF("p"));
    assert_end(setup, listing, 0);
    assert_int_equal(listing_knows_row(listing, x), 0);
    assert_int_equal(store_text(setup, EDIT_NEW, P_ROW("x"), "{}"), 0);
    assert_int_equal(listing_knows_row(listing, x), 1);
    assert_int_equal(listing_knows_row(listing, ROWS_OF("q")->range), 0);
    setup->now_ms += KEPT_MS + 1; /* it may have been deleted since */
    assert_int_equal(listing_knows_row(listing, x), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(table, local_directories_stand_behind_a_listing),
        TEST_WITH(table, what_another_client_filled_is_shown_by_the_listing_alone),
        TEST_WITH(table, below_a_prefix_that_is_shown_an_empty_one_is_shown_too),
        TEST_WITH(table, what_this_mount_filled_is_shown_by_the_listing_alone),
        TEST_WITH(table, what_may_hold_entities_is_not_shown_twice),
        TEST_WITH(table, what_an_unlink_emptied_is_shown),
        TEST_WITH(table, a_row_is_known_that_was_read_or_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
