#include "cache/read/process_history.h"
#include "tests/unit/unit.h"

#include <pthread.h>

#define TTL_MS 1000
#define GREP   1 /* a process */
#define SHELL  2

#define ACCOUNT     ((struct directory){.kind = DIRECTORY_TABLES, .range = RANGE_ALL})
#define TABLE(name) ((struct directory){DIRECTORY_FLAT, name, RANGE_ALL})
/* Of the literal: its NULs count. */
#define PARTITION(key)                                                                             \
    ((struct directory){.kind = DIRECTORY_ENTITIES,                                                \
                        .table = "t",                                                              \
                        .range = {BYTES_LITERAL(key "\0"), BYTES_LITERAL(key POSITION_AFTER)}})
#define ROW_PREFIX(key, prefix, successor)                                                         \
    ((struct directory){                                                                           \
        .kind = DIRECTORY_ENTITIES,                                                                \
        .table = "t",                                                                              \
        .range = {BYTES_LITERAL(key "\0" prefix), BYTES_LITERAL(key "\0" successor)}})

static struct process_history *new_history(int64_t ttl_ms)
{
    struct process_history *history = NULL;
    assert_int_equal(process_history_create(ttl_ms, 0, &history), 0);
    return history;
}

static int set_up(void **state)
{
    *state = new_history(TTL_MS);
    return 0;
}

static int tear_down(void **state)
{
    process_history_destroy(*state);
    return 0;
}

/* The listing of one READDIR, begun now, leaves nothing behind. */
static void lists(struct process_history *history, uint64_t process, struct directory directory,
                  int64_t began_ms, int64_t now_ms)
{
    struct region left;
    region_init(&left);
    (void)process_history_listed(history, process, &directory, began_ms, now_ms, &left);
    region_finish(&left);
}

static int64_t not_before(struct process_history *history, uint64_t process, const char *in,
                          struct bytes position, int64_t now_ms)
{
    bool is_served;
    return process_history_not_before(history, process, in, position, now_ms, &is_served);
}

static int64_t listing_not_before(struct process_history *history, struct directory directory,
                                  int64_t now_ms, bool expected_is_served)
{
    bool is_served;
    int64_t ms = process_history_listing_not_before(history, GREP, &directory, now_ms, &is_served);
    assert_int_equal(is_served, expected_is_served);
    return ms;
}

/* --- how fresh */

static void who_has_listed_nothing_gets_what_is_ttl_old(void **state)
{
    struct process_history *history = *state;
    lists(history, GREP, TABLE("t"), 5000, 5000);
    assert_int_equal(not_before(history, SHELL, "t", B("p\0r"), 7000), 6000);
    lists(history, 0, TABLE("t"), 5000, 5000);
    assert_int_equal(not_before(history, 0, "t", B("p\0r"), 7000), 6000);
}

static void a_listing_serves_what_it_holds(void **state)
{
    struct process_history *history = *state;
    lists(history, GREP, PARTITION("p"), 5000, 5000);
    assert_int_equal(not_before(history, GREP, "t", B("p\0a"), 20000), 4000);
    assert_int_equal(not_before(history, GREP, "t", B("p\0z"), 20000), 4000);
    assert_int_equal(not_before(history, GREP, "t", B("p\0"), 20000), 4000);
    assert_int_equal(not_before(history, GREP, "t", B("p"), 20000), 19000);
    assert_int_equal(not_before(history, GREP, "t", B("pa\0a"), 20000), 19000);
    assert_int_equal(not_before(history, GREP, "u", B("p\0a"), 20000), 19000);
    assert_int_equal(not_before(history, GREP, "T", B("p\0a"), 20000), 19000);
    assert_int_equal(not_before(history, GREP, "t", B(""), 20000), 19000);
}

static void never_younger_than_ttl_asks_and_never_older_than_30_s(void **state)
{
    struct process_history *history = *state;
    lists(history, GREP, TABLE("t"), 5000, 5000);
    assert_int_equal(not_before(history, GREP, "t", B("p\0a"), 5000), 4000);
    assert_int_equal(not_before(history, GREP, "t", B("p\0b"), 5500), 4000);
    assert_int_equal(not_before(history, GREP, "t", B("p\0c"), 34000), 4000);
    lists(history, GREP, TABLE("t"), 5000, 34500);
    assert_int_equal(not_before(history, GREP, "t", B("p\0d"), 34001), 4001);
    assert_int_equal(not_before(history, GREP, "t", B("p\0e"), 40000), 10000);
    assert_int_equal(not_before(history, GREP, "t", B("p\0f"), 64499), 34499);
    assert_int_equal(not_before(history, GREP, "t", B("p\0g"), 64500), 63500);
    assert_int_equal(not_before(history, GREP, "t", B("p\0h"), 64501), 63501);
}

static void the_30_s_run_from_the_last_readdir(void **state)
{
    struct process_history *history = *state;
    lists(history, GREP, PARTITION("p"), 5000, 5000);
    assert_int_equal(not_before(history, GREP, "t", B("p\0a"), 34999), 4999);
    assert_int_equal(not_before(history, GREP, "t", B("p\0b"), 35000), 34000);
    lists(history, GREP, PARTITION("p"), 5000, 35000);
    assert_int_equal(not_before(history, GREP, "t", B("p\0c"), 35000), 5000);
}

static void a_long_ttl_rules(void **state)
{
    (void)state;
    struct process_history *history = new_history(600000);
    lists(history, GREP, TABLE("t"), 5000, 5000);
    assert_int_equal(not_before(history, GREP, "t", B("p\0a"), 6000), -594000);
    assert_int_equal(not_before(history, GREP, "t", B("p\0b"), 700000), 100000);
    process_history_destroy(history);
}

static void with_ttl_0_a_listing_still_serves(void **state)
{
    (void)state;
    struct process_history *history = new_history(0);
    assert_int_equal(not_before(history, GREP, "t", B("p\0a"), 7000), 7000);
    lists(history, GREP, TABLE("t"), 5000, 5000);
    assert_int_equal(not_before(history, GREP, "t", B("p\0a"), 7000), 5000);
    assert_int_equal(not_before(history, GREP, "t", B("p\0b"), 34999), 5000);
    assert_int_equal(not_before(history, GREP, "t", B("p\0c"), 35000), 35000);
    process_history_destroy(history);
}

static void a_clock_may_begin_at_0(void **state)
{
    struct process_history *history = *state;
    assert_int_equal(not_before(history, GREP, "t", B("p\0a"), 0), -1000);
    lists(history, GREP, TABLE("t"), 0, 0);
    assert_int_equal(not_before(history, GREP, "t", B("p\0a"), 0), -1000);
    assert_int_equal(not_before(history, GREP, "t", B("p\0b"), 29000), -1000);
}

static void a_listing_that_begins_anew_replaces_the_old(void **state)
{
    struct process_history *history = *state;
    lists(history, GREP, TABLE("t"), 5000, 5000);
    lists(history, GREP, TABLE("t"), 9000, 9000);
    assert_int_equal(not_before(history, GREP, "t", B("p\0a"), 20000), 8000);
    lists(history, GREP, ACCOUNT, 10000, 10000);
    lists(history, GREP, ACCOUNT, 12000, 12000);
    assert_int_equal(not_before(history, GREP, NULL, B("u"), 20000), 11000);
}

static void of_several_listings_the_oldest_serves(void **state)
{
    struct process_history *history = *state;
    lists(history, GREP, TABLE("t"), 5000, 5000);
    lists(history, GREP, PARTITION("p"), 9000, 9000);
    assert_int_equal(not_before(history, GREP, "t", B("p\0a"), 20000), 4000);
    assert_int_equal(not_before(history, GREP, "t", B("p\0b"), 35000), 5000);
    /* it goes on in key order; what it comes back to is another matter */
    assert_int_equal(not_before(history, GREP, "t", B("p\0c"), 39000), 9000);
    assert_int_equal(not_before(history, GREP, "t", B("p\0a"), 39000), 38000);
    assert_int_equal(not_before(history, GREP, "t", B("p\0d"), 69001), 68001);
}

static void whoever_listed_inside_a_table_has_seen_it(void **state)
{
    struct process_history *history = *state;
    lists(history, GREP, PARTITION("p"), 5000, 5000);
    assert_int_equal(not_before(history, GREP, NULL, B("t"), 20000), 4000);
    assert_int_equal(not_before(history, GREP, NULL, B("tt"), 20000), 19000);
    assert_int_equal(not_before(history, GREP, NULL, B("u"), 20000), 19000);
    assert_int_equal(not_before(history, GREP, NULL, B(""), 20000), 19000);
}

static void the_account_holds_the_names_of_tables(void **state)
{
    struct process_history *history = *state;
    lists(history, GREP, ACCOUNT, 5000, 5000);
    assert_int_equal(not_before(history, GREP, NULL, B("t"), 20000), 4000);
    /* names is all that it brought */
    assert_int_equal(not_before(history, GREP, "u", B("p\0r"), 20000), 19000);
    assert_int_equal(not_before(history, GREP, "u", B(""), 20000), 19000);
    assert_int_equal(listing_not_before(history, TABLE("t"), 20000, false), 19000);
}

static void eight_directories_are_remembered(void **state)
{
    struct process_history *history = *state;
    static const char keys[] = "abcdefghi";
    char lo[2], hi[2] = {0, POSITION_AFTER[0]};
    for (size_t i = 0; i < 9; i++) {
        lo[0] = hi[0] = keys[i];
        lo[1] = '\0';
        lists(history, GREP, (struct directory){DIRECTORY_ENTITIES, "t", {{lo, 2}, {hi, 2}}}, 5000,
              5000);
        lists(history, GREP, PARTITION("a"), 5000, 5000); /* as diff does, with the other side */
    }
    assert_int_equal(not_before(history, GREP, "t", B("a\0r"), 20000), 4000);
    assert_int_equal(not_before(history, GREP, "t", B("b\0r"), 20000), 19000);
    assert_int_equal(not_before(history, GREP, "t", B("c\0r"), 20000), 4000);
    assert_int_equal(not_before(history, GREP, "t", B("i\0r"), 20000), 4000);
}

/* --- one name again and again */

static void a_walk_keeps_what_it_is_in(void **state)
{
    struct process_history *history = *state;
    char key[8] = {0};
    lists(history, GREP, TABLE("t"), 5000, 5000);
    for (int i = 0; i < 100; i++) { /* one every second: longer than 30 s */
        struct range range = {{key, 4}, {key, 4}};
        struct directory partition = {DIRECTORY_ENTITIES, "t", range};
        (void)snprintf(key, sizeof(key), "p%02d", i);
        lists(history, GREP, partition, 5000 + 1000 * i, 5000 + 1000 * i);
    }
    assert_int_equal(not_before(history, GREP, "t", B("q\0r"), 104000), 74000);
    assert_int_equal(not_before(history, GREP, "t", B("q\0s"), 134000), 133000);
}

/* ls -lR names what it lists by its whole path, and the kernel asks for the steps now and then. */
static void what_leads_to_a_listing_is_not_asked_for_again(void **state)
{
    struct process_history *history = *state;
    char key[8] = {0};
    lists(history, GREP, TABLE("t"), 5000, 5000);
    for (int i = 0; i < 20; i++) {
        int64_t now_ms = 5000 + PROCESS_HISTORY_REPEAT_MS * i;
        (void)snprintf(key, sizeof(key), "p1%02d", i);
        struct range range = {{key, 5}, {key, 5}};
        assert_int_equal(not_before(history, GREP, NULL, B("t"), now_ms), 4000);
        assert_int_equal(not_before(history, GREP, "t", B("p1"), now_ms), 4000);
        lists(history, GREP, (struct directory){DIRECTORY_ENTITIES, "t", range}, now_ms, now_ms);
    }
    (void)not_before(history, GREP, "t", B("q"), 8000); /* it looks elsewhere, and waits for it */
    (void)not_before(history, GREP, "t", B("p1"), 8000);
    assert_int_equal(not_before(history, GREP, "t", B("p1"), 8100), 7100);
    assert_int_equal(not_before(history, GREP, "t", B("q"), 8100), 7100);
}

static void going_round_is_no_walk(void **state)
{
    struct process_history *history = *state;
    char key[8] = {0};
    lists(history, GREP, TABLE("t"), 5000, 5000);
    for (int i = 0; i < 200; i++) { /* ten partitions, again and again: more than are remembered */
        int64_t now_ms = 5000 + 500 * i;
        struct range range = {{key, 4}, {key, 4}};
        struct directory partition = {DIRECTORY_ENTITIES, "t", range};
        (void)snprintf(key, sizeof(key), "p%02d", i % 10);
        (void)listing_not_before(history, partition, now_ms, i < 60);
        lists(history, GREP, partition, now_ms, now_ms);
        int64_t row_ms = not_before(history, GREP, "t", (struct bytes){key, 4}, now_ms);
        assert_true(i < 70 || row_ms == now_ms - TTL_MS);
    }
}

static void a_directory_of_a_walk_is_as_old_as_the_walk(void **state)
{
    struct process_history *history = *state;
    assert_int_equal(listing_not_before(history, PARTITION("p"), 5000, false), 4000);
    lists(history, GREP, TABLE("t"), 5000, 5000);
    assert_int_equal(listing_not_before(history, PARTITION("p"), 9000, true), 4000);
    lists(history, GREP, PARTITION("p"), 5000, 9000);
    /* grep opens it twice; a loop comes back later */
    assert_int_equal(listing_not_before(history, PARTITION("p"), 9099, true), 4000);
    assert_int_equal(listing_not_before(history, PARTITION("p"), 9100, false), 8100);
    assert_int_equal(listing_not_before(history, PARTITION("q"), 9100, true), 4000);
    assert_int_equal(listing_not_before(history, TABLE("t"), 9100, false), 8100);
    assert_int_equal(listing_not_before(history, PARTITION("q"), 38999, true), 8999);
    assert_int_equal(listing_not_before(history, PARTITION("q"), 39000, false), 38000);
}

/* The process walks through `whole` where it comes to the directory; NULL: it does not walk. */
static void assert_walks(struct process_history *history, struct directory directory,
                         int64_t now_ms, const struct directory *whole)
{
    struct region found;
    region_init(&found);
    assert_int_equal(
        process_history_walks(history, GREP, directory.table, directory.range, now_ms, &found),
        whole != NULL);
    if (whole) {
        assert_string_equal(found.table, whole->table);
        assert_bytes(found.range.lo, whole->range.lo);
        assert_bytes(found.range.hi, whole->range.hi);
    }
    region_finish(&found);
}

static void below_what_it_listed_a_process_walks(void **state)
{
    struct process_history *history = *state;
    struct directory table = TABLE("t"), partition = PARTITION("p");
    assert_walks(history, partition, 5000, NULL);
    lists(history, SHELL, table, 5000, 5000);
    assert_walks(history, partition, 5000, NULL); /* another process */
    lists(history, GREP, ACCOUNT, 5000, 5000);
    assert_walks(history, partition, 5000, NULL); /* a walk is of one table */
    lists(history, GREP, table, 5000, 5000);
    assert_walks(history, partition, 5000, &table);
    assert_walks(history, table, 5000, NULL); /* that is what it listed, not below */
    assert_walks(history, TABLE("u"), 5000, NULL);
    lists(history, GREP, partition, 6000, 6000);
    assert_walks(history, PARTITION("q"), 6000, &table);
    assert_walks(history, ROW_PREFIX("p", "a", "b"), 6000, &table); /* the largest */
    lists(history, 0, table, 5000, 5000);
    struct region none;
    region_init(&none);
    assert_false(
        process_history_walks(history, 0, "t", partition.range, 5000, &none)); /* never known */
    region_finish(&none);
}

static void a_walk_is_over_30_s_after_it_last_read(void **state)
{
    struct process_history *history = *state;
    struct directory table = TABLE("t");
    lists(history, GREP, table, 5000, 5000);
    assert_walks(history, PARTITION("p"), 34999, &table);
    assert_walks(history, PARTITION("p"), 35000, NULL);
    lists(history, GREP, table, 40000, 40000);
    lists(history, GREP, PARTITION("p"), 60000, 60000); /* below it: it goes on */
    assert_walks(history, PARTITION("q"), 89999, &table);
    assert_walks(history, PARTITION("q"), 90000, NULL);
}

static void who_decides_is_told(void **state)
{
    (void)state;
    struct process_history *history = new_history(0);
    bool is_served = true;
    assert_int_equal(process_history_not_before(history, GREP, "t", B("p\0r"), 5000, &is_served),
                     5000);
    assert_false(is_served);
    lists(history, GREP, TABLE("t"), 5000, 5000);
    assert_int_equal(process_history_not_before(history, GREP, "t", B("p\0s"), 5000, &is_served),
                     5000);
    assert_true(is_served);
    assert_int_equal(listing_not_before(history, PARTITION("p"), 5000, true), 5000);
    process_history_destroy(history);
}

static void tar_asks_twice_at_once(void **state)
{
    struct process_history *history = *state;
    lists(history, GREP, PARTITION("p"), 5000, 5000);
    for (int64_t now_ms = 20000; now_ms < 20026; now_ms++) {
        char row = (char)('a' + now_ms - 20000);
        const char position[] = {'p', '\0', row};
        struct bytes bytes = {position, sizeof(position)};
        assert_int_equal(not_before(history, GREP, "t", bytes, now_ms), 4000);
        assert_int_equal(not_before(history, GREP, "t", bytes, now_ms), 4000);
    }
}

static void a_shell_in_a_loop_sees_news(void **state)
{
    struct process_history *history = *state;
    lists(history, SHELL, PARTITION("p"), 5000, 5000);
    assert_int_equal(not_before(history, SHELL, "t", B("p\0a"), 20000), 4000);
    assert_int_equal(not_before(history, SHELL, "t", B("p\0a"), 20050), 4000);
    assert_int_equal(not_before(history, SHELL, "t", B("p\0a"), 20099), 4000);
    assert_int_equal(not_before(history, SHELL, "t", B("p\0a"), 20100), 19100);
    assert_int_equal(not_before(history, SHELL, "t", B("p\0a"), 20101), 19101);
    assert_int_equal(not_before(history, SHELL, "t", B("p\0a"), 29000), 28000);
    /* it may wait for several */
    assert_int_equal(not_before(history, SHELL, "t", B("p\0b"), 29000), 4000);
    assert_int_equal(not_before(history, SHELL, "t", B("p\0a"), 29000), 28000);
    assert_int_equal(not_before(history, SHELL, "t", B("p\0b"), 29099), 4000);
    assert_int_equal(not_before(history, SHELL, "t", B("p\0b"), 29100), 28100);
    /* the same name elsewhere is another */
    assert_int_equal(not_before(history, SHELL, "u", B("p\0c"), 29100), 28100);
    assert_int_equal(not_before(history, SHELL, "t", B("p\0c"), 29101), 4000);
    /* eight others, and the loop is over */
    for (char row[] = "p\0d"; row[2] < 'l'; row[2]++)
        assert_int_equal(not_before(history, SHELL, "t", (struct bytes){row, 3}, 29200), 4000);
    assert_int_equal(not_before(history, SHELL, "t", B("p\0a"), 29200), 4000);
}

static void the_path_to_a_name_does_not_end_the_loop(void **state)
{
    struct process_history *history = *state;
    lists(history, SHELL, ACCOUNT, 5000, 5000);
    lists(history, SHELL, TABLE("t"), 5000, 5000);
    for (int64_t now_ms = 20000; now_ms < 29000; now_ms += 1000) {
        assert_int_equal(not_before(history, SHELL, NULL, B("t"), now_ms), 4000);
        assert_int_equal(not_before(history, SHELL, "t", B("p\0"), now_ms), 4000);
        assert_int_equal(not_before(history, SHELL, "t", B("p\0a"), now_ms),
                         now_ms == 20000 ? 4000 : now_ms - 1000);
    }
    /* a prefix of a row's key is another row */
    assert_int_equal(not_before(history, SHELL, "t", B("p\0abc"), 29000), 4000);
    assert_int_equal(not_before(history, SHELL, "t", B("p\0ab"), 29500), 4000);
    assert_int_equal(not_before(history, SHELL, "t", B("p\0abc"), 29500), 28500);
}

static void a_directory_is_a_name_as_well(void **state)
{
    struct process_history *history = *state;
    lists(history, SHELL, ACCOUNT, 5000, 5000);
    lists(history, SHELL, TABLE("t"), 5000, 5000);
    for (int64_t now_ms = 20000; now_ms < 25000; now_ms += 1000) {
        assert_int_equal(not_before(history, SHELL, NULL, B("t"), now_ms), 4000);
        assert_int_equal(not_before(history, SHELL, "t", B("p\0"), now_ms),
                         now_ms == 20000 ? 4000 : now_ms - 1000);
    }
    assert_int_equal(not_before(history, SHELL, NULL, B("u"), 25000), 4000);
    assert_int_equal(not_before(history, SHELL, NULL, B("u"), 25100), 24100);
}

/* --- left behind */

static void assert_leaves_nothing(struct process_history *history, struct directory to)
{
    struct region left;
    region_init(&left);
    assert_false(process_history_listed(history, GREP, &to, 5000, 5000, &left));
    assert_int_equal(left.text.size, 0);
    region_finish(&left);
}

static void assert_leaves(struct process_history *history, struct directory to,
                          struct directory from)
{
    struct region left;
    region_init(&left);
    assert_true(process_history_listed(history, GREP, &to, 5000, 5000, &left));
    if (from.table)
        assert_string_equal(left.table, from.table);
    else
        assert_null(left.table);
    assert_bytes(left.range.lo, from.range.lo);
    assert_bytes(left.range.hi, from.range.hi);
    region_finish(&left);
}

static void find_leaves_each_sibling(void **state)
{
    struct process_history *history = *state;
    assert_leaves_nothing(history, ACCOUNT);
    assert_leaves_nothing(history, TABLE("t"));
    assert_leaves_nothing(history, TABLE("t")); /* the next READDIR */
    assert_leaves_nothing(history, PARTITION("a"));
    assert_leaves_nothing(history, PARTITION("a"));
    assert_leaves(history, PARTITION("b"), PARTITION("a"));
    assert_leaves(history, PARTITION("c"), PARTITION("b"));
    assert_leaves_nothing(history, ROW_PREFIX("c", "2024", "2025"));
    assert_leaves(history, ROW_PREFIX("c", "2025", "2026"), ROW_PREFIX("c", "2024", "2025"));
    assert_leaves(history, PARTITION("c"), ROW_PREFIX("c", "2025", "2026"));
    assert_leaves(history, TABLE("u"), PARTITION("c"));
    assert_leaves(history, ACCOUNT, TABLE("u"));
    assert_leaves_nothing(history, PARTITION("c"));
}

static void ranges_that_overlap_hold_not_each_other(void **state)
{
    struct process_history *history = *state;
    assert_leaves_nothing(history, ROW_PREFIX("p", "b", "d"));
    assert_leaves(history, ROW_PREFIX("p", "a", "c"), ROW_PREFIX("p", "b", "d"));
    assert_leaves(history, ROW_PREFIX("p", "b", "d"), ROW_PREFIX("p", "a", "c"));
    assert_leaves_nothing(history, ROW_PREFIX("p", "b", "c"));
    struct directory elsewhere = ROW_PREFIX("p", "b", "c");
    elsewhere.table = "u";
    assert_leaves(history, elsewhere, ROW_PREFIX("p", "b", "c"));
}

static void process_0_leaves_nothing(void **state)
{
    struct process_history *history = *state;
    struct directory directories[] = {PARTITION("a"), PARTITION("b")};
    struct region left;
    region_init(&left);
    for (size_t i = 0; i < ARRAY_SIZE(directories); i++)
        assert_false(process_history_listed(history, 0, &directories[i], 1, 1, &left));
    region_finish(&left);
}

static void what_is_too_long_is_not_remembered(void **state)
{
    struct process_history *history = *state;
    char *key = calloc(1, 20000);
    assert_non_null(key);
    memset(key, 'k', 20000);
    struct directory large = {DIRECTORY_ENTITIES, "t", {{key, 9000}, {key, 9001}}};
    struct bytes position = {key, 20000};
    lists(history, GREP, TABLE("t"), 5000, 5000);
    assert_leaves_nothing(history, large);
    assert_leaves_nothing(history, TABLE("u"));
    assert_int_equal(not_before(history, GREP, "t", position, 20000), 4000);
    assert_int_equal(not_before(history, GREP, "t", position, 21000), 20000);
    for (int i = 0; i < 4; i++) {
        struct reading reading = process_history_ask(history, GREP, "t", position);
        assert_int_equal(reading.rows, 1);
        assert_false(reading.is_in_order);
        process_history_missed(history, GREP, "t", position, 1, 10);
        position.size--;
    }
    free(key);
}

/* --- how many processes */

static void the_process_that_was_idle_longest_is_forgotten(void **state)
{
    struct process_history *history = *state;
    for (uint64_t process = 1; process <= PROCESS_HISTORY_SIZE; process++)
        lists(history, process << 40, TABLE("t"), 5000, 5000);
    /* every use counts */
    assert_int_equal(not_before(history, (uint64_t)1 << 40, "t", B("p\0r"), 20000), 4000);
    (void)process_history_ask(history, (uint64_t)2 << 40, "t", B("p\0r"));
    process_history_missed(history, (uint64_t)3 << 40, "t", B("p\0r"), 1, 1);
    lists(history, (uint64_t)4 << 40, TABLE("t"), 5000, 5000);
    for (uint64_t process = 1; process <= 4; process++)
        lists(history, process, TABLE("t"), 5000, 5000); /* in place of 5 to 8 */
    for (uint64_t process = 1; process <= PROCESS_HISTORY_SIZE; process++) {
        bool is_forgotten = process >= 5 && process <= 8;
        assert_int_equal(not_before(history, process << 40, "t", B("p\0r"), 20000),
                         is_forgotten ? 19000 : 4000);
    }
}

/* --- threads */

struct worker {
    struct process_history *history;
    uint64_t first;
};

static void *work(void *context)
{
    const struct worker *worker = context;
    struct region left;
    region_init(&left);
    for (uint64_t i = 0; i < 2000; i++) {
        uint64_t process = 1 + (worker->first + i) % 1500;
        struct directory directory = i % 3 ? PARTITION("p") : PARTITION("q");
        (void)process_history_listed(worker->history, process, &directory, 5000, 5000, &left);
        int64_t since_ms = not_before(worker->history, process, "t", B("p\0a"), 20000);
        assert_true(since_ms == 4000 || since_ms == 19000);
        struct reading reading = process_history_ask(worker->history, process, "t", B("p\0a"));
        assert_int_equal(reading.rows, 1);
        process_history_missed(worker->history, process, "t", B("p\0a"), 1, 500);
    }
    region_finish(&left);
    return NULL;
}

static void threads_share_it(void **state)
{
    struct worker workers[4];
    pthread_t threads[4];
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        workers[i] = (struct worker){*state, i * 300};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_has_listed_nothing_gets_what_is_ttl_old),
        TEST(a_listing_serves_what_it_holds),
        TEST(never_younger_than_ttl_asks_and_never_older_than_30_s),
        TEST(the_30_s_run_from_the_last_readdir),
        TEST(a_long_ttl_rules),
        TEST(with_ttl_0_a_listing_still_serves),
        TEST(a_clock_may_begin_at_0),
        TEST(a_listing_that_begins_anew_replaces_the_old),
        TEST(of_several_listings_the_oldest_serves),
        TEST(whoever_listed_inside_a_table_has_seen_it),
        TEST(the_account_holds_the_names_of_tables),
        TEST(eight_directories_are_remembered),
        TEST(a_walk_keeps_what_it_is_in),
        TEST(what_leads_to_a_listing_is_not_asked_for_again),
        TEST(going_round_is_no_walk),
        TEST(a_directory_of_a_walk_is_as_old_as_the_walk),
        TEST(below_what_it_listed_a_process_walks),
        TEST(a_walk_is_over_30_s_after_it_last_read),
        TEST(who_decides_is_told),
        TEST(tar_asks_twice_at_once),
        TEST(a_shell_in_a_loop_sees_news),
        TEST(the_path_to_a_name_does_not_end_the_loop),
        TEST(a_directory_is_a_name_as_well),
        TEST(find_leaves_each_sibling),
        TEST(ranges_that_overlap_hold_not_each_other),
        TEST(process_0_leaves_nothing),
        TEST(what_is_too_long_is_not_remembered),
        TEST(the_process_that_was_idle_longest_is_forgotten),
        TEST(threads_share_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
