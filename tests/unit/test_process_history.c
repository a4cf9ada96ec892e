/* How fresh a process wants what it asks for, what it leaves behind, and how many are known. */
#include "tests/unit/remembering.h"

#include <pthread.h>

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

/* The steps that lead there are not asked for again when it is listed. */
static void coming_to_a_partition_before_is_not_remembered(void **state)
{
    struct process_history *history = *state;
    assert_int_equal(process_history_ahead(history, GREP, "t", B("p\0")), 0);
    assert_int_equal(not_before(history, GREP, "t", B("p\0"), 4000), 3000);
    lists(history, GREP, PARTITION("p"), 5000, 5000);
    assert_int_equal(not_before(history, GREP, "t", B("p\0"), 20000), 4000);
    assert_int_equal(process_history_ahead(history, 0, "t", B("p\0")), 0);
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
        process_history_missed(history, GREP, WAY_ROWS, "t", position, 1, 10);
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
    process_history_missed(history, (uint64_t)3 << 40, WAY_ROWS, "t", B("p\0r"), 1, 1);
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
        process_history_missed(worker->history, process, WAY_ROWS, "t", B("p\0a"), 1, 500);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_has_listed_nothing_gets_what_is_ttl_old),
        TEST(a_listing_serves_what_it_holds),
        TEST(coming_to_a_partition_before_is_not_remembered),
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
        TEST(find_leaves_each_sibling),
        TEST(ranges_that_overlap_hold_not_each_other),
        TEST(process_0_leaves_nothing),
        TEST(what_is_too_long_is_not_remembered),
        TEST(the_process_that_was_idle_longest_is_forgotten),
        TEST(threads_share_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
