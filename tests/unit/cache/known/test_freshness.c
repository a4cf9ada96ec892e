/* SPDX-License-Identifier: MIT */
/* How old an answer a process may get, which directory it leaves, and how many processes are
 * remembered. */
#include "tests/unit/cache/known/freshness_fixture.h"
#include "tests/unit/threads.h"

/* --- how old an answer may be */

static void without_a_listing_ttl_alone_counts(void **state)
{
    struct setup *setup = *state;
    lists(setup, GREP, TABLE("t"), 5000, 5000);
    assert_int_equal(since(setup, SHELL, "t", B("p\0r"), 7000), 6000);
    lists(setup, 0, TABLE("t"), 5000, 5000);
    assert_int_equal(since(setup, 0, "t", B("p\0r"), 7000), 6000);
}

static void a_listing_serves_what_it_holds(void **state)
{
    struct setup *setup = *state;
    lists(setup, GREP, PARTITION("p"), 5000, 5000);
    assert_int_equal(since(setup, GREP, "t", B("p\0a"), 20000), 4000);
    assert_int_equal(since(setup, GREP, "t", B("p\0z"), 20000), 4000);
    assert_int_equal(since(setup, GREP, "t", B("p\0"), 20000), 4000);
    assert_int_equal(since(setup, GREP, "t", B("p"), 20000), 19000);
    assert_int_equal(since(setup, GREP, "t", B("pa\0a"), 20000), 19000);
    assert_int_equal(since(setup, GREP, "u", B("p\0a"), 20000), 19000);
    assert_int_equal(since(setup, GREP, "T", B("p\0a"), 20000), 19000);
    assert_int_equal(since(setup, GREP, "t", B(""), 20000), 19000);
}

/* The lookup of a directory and the listing after it are one visit. */
static void a_question_before_the_first_listing_is_not_remembered(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(since(setup, GREP, "t", B("p\0"), 4000), 3000);
    lists(setup, GREP, PARTITION("p"), 5000, 5000);
    assert_int_equal(since(setup, GREP, "t", B("p\0"), 20000), 4000);
}

static void never_younger_than_ttl_asks_and_never_older_than_30_s(void **state)
{
    struct setup *setup = *state;
    lists(setup, GREP, TABLE("t"), 5000, 5000);
    assert_int_equal(since(setup, GREP, "t", B("p\0a"), 5000), 4000);
    assert_int_equal(since(setup, GREP, "t", B("p\0b"), 5500), 4000);
    assert_int_equal(since(setup, GREP, "t", B("p\0c"), 34000), 4000);
    lists(setup, GREP, TABLE("t"), 5000, 34500);
    assert_int_equal(since(setup, GREP, "t", B("p\0d"), 34001), 4001);
    assert_int_equal(since(setup, GREP, "t", B("p\0e"), 40000), 10000);
    assert_int_equal(since(setup, GREP, "t", B("p\0f"), 64499), 34499);
    assert_int_equal(since(setup, GREP, "t", B("p\0g"), 64500), 63500);
    assert_int_equal(since(setup, GREP, "t", B("p\0h"), 64501), 63501);
}

static void the_30_s_run_from_the_last_readdir(void **state)
{
    struct setup *setup = *state;
    lists(setup, GREP, PARTITION("p"), 5000, 5000);
    assert_int_equal(since(setup, GREP, "t", B("p\0a"), 34999), 4999);
    assert_int_equal(since(setup, GREP, "t", B("p\0b"), 35000), 34000);
    lists(setup, GREP, PARTITION("p"), 5000, 35000);
    assert_int_equal(since(setup, GREP, "t", B("p\0c"), 35000), 5000);
}

static void a_long_ttl_rules(void **state)
{
    (void)state;
    struct setup *setup = new_setup(600000);
    lists(setup, GREP, TABLE("t"), 5000, 5000);
    assert_int_equal(since(setup, GREP, "t", B("p\0a"), 6000), -594000);
    assert_int_equal(since(setup, GREP, "t", B("p\0b"), 700000), 100000);
    destroy_setup(setup);
}

static void with_ttl_0_a_listing_still_serves(void **state)
{
    (void)state;
    struct setup *setup = new_setup(0);
    assert_int_equal(since(setup, GREP, "t", B("p\0a"), 7000), 7000);
    lists(setup, GREP, TABLE("t"), 5000, 5000);
    assert_int_equal(since(setup, GREP, "t", B("p\0a"), 7000), 5000);
    assert_int_equal(since(setup, GREP, "t", B("p\0b"), 34999), 5000);
    assert_int_equal(since(setup, GREP, "t", B("p\0c"), 35000), 35000);
    destroy_setup(setup);
}

static void a_clock_may_begin_at_0(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(since(setup, GREP, "t", B("p\0a"), 0), -1000);
    lists(setup, GREP, TABLE("t"), 0, 0);
    assert_int_equal(since(setup, GREP, "t", B("p\0a"), 0), -1000);
    assert_int_equal(since(setup, GREP, "t", B("p\0b"), 29000), -1000);
}

static void a_listing_that_begins_anew_replaces_the_old(void **state)
{
    struct setup *setup = *state;
    lists(setup, GREP, TABLE("t"), 5000, 5000);
    lists(setup, GREP, TABLE("t"), 9000, 9000);
    assert_int_equal(since(setup, GREP, "t", B("p\0a"), 20000), 8000);
    lists(setup, GREP, ACCOUNT, 10000, 10000);
    lists(setup, GREP, ACCOUNT, 12000, 12000);
    assert_int_equal(since(setup, GREP, NULL, B("u"), 20000), 11000);
}

static void of_several_listings_the_oldest_serves(void **state)
{
    struct setup *setup = *state;
    lists(setup, GREP, TABLE("t"), 5000, 5000);
    lists(setup, GREP, PARTITION("p"), 9000, 9000);
    assert_int_equal(since(setup, GREP, "t", B("p\0a"), 20000), 4000);
    assert_int_equal(since(setup, GREP, "t", B("p\0b"), 35000), 5000);
    /* it goes on in key order; a position that it comes back to is not served */
    assert_int_equal(since(setup, GREP, "t", B("p\0c"), 39000), 9000);
    assert_int_equal(since(setup, GREP, "t", B("p\0a"), 39000), 38000);
    assert_int_equal(since(setup, GREP, "t", B("p\0d"), 69001), 68001);
}

static void a_listing_inside_a_table_shows_the_table(void **state)
{
    struct setup *setup = *state;
    lists(setup, GREP, PARTITION("p"), 5000, 5000);
    assert_int_equal(since(setup, GREP, NULL, B("t"), 20000), 4000);
    assert_int_equal(since(setup, GREP, NULL, B("tt"), 20000), 19000);
    assert_int_equal(since(setup, GREP, NULL, B("u"), 20000), 19000);
    assert_int_equal(since(setup, GREP, NULL, B(""), 20000), 19000);
}

static void the_account_holds_the_names_of_tables(void **state)
{
    struct setup *setup = *state;
    lists(setup, GREP, ACCOUNT, 5000, 5000);
    assert_int_equal(since(setup, GREP, NULL, B("t"), 20000), 4000);
    /* it brought names and nothing else */
    assert_int_equal(since(setup, GREP, "u", B("p\0r"), 20000), 19000);
    assert_int_equal(since(setup, GREP, "u", B(""), 20000), 19000);
    assert_int_equal(listing_since(setup, TABLE("t"), 20000), 19000);
}

static void eight_directories_are_remembered(void **state)
{
    struct setup *setup = *state;
    static const char keys[] = "abcdefghi";
    char lo[2], hi[2] = {0, POSITION_AFTER[0]};
    for (size_t i = 0; i < 9; i++) {
        lo[0] = hi[0] = keys[i];
        lo[1] = '\0';
        lists(setup, GREP,
              (struct directory){
                  .kind = DIRECTORY_ENTITIES, .table = "t", .range = {{lo, 2}, {hi, 2}}},
              5000, 5000);
        lists(setup, GREP, PARTITION("a"), 5000, 5000); /* as diff does, which reads two trees */
    }
    assert_int_equal(since(setup, GREP, "t", B("a\0r"), 20000), 4000);
    assert_int_equal(since(setup, GREP, "t", B("b\0r"), 20000), 19000);
    assert_int_equal(since(setup, GREP, "t", B("c\0r"), 20000), 4000);
    assert_int_equal(since(setup, GREP, "t", B("i\0r"), 20000), 4000);
}

static void a_listing_is_never_older_than_30_s(void **state)
{
    struct setup *setup = *state;
    setup->now_ms = 20000;
    assert_int_equal(freshness_of_listing(setup->freshness, stamp_since(4000)).requested_ms, 4000);
    setup->now_ms = 40000;
    assert_int_equal(freshness_of_listing(setup->freshness, stamp_since(4000)).requested_ms, 10000);
    struct setup *slow = new_setup(50000);
    slow->now_ms = 90000;
    assert_int_equal(freshness_of_listing(slow->freshness, stamp_since(4000)).requested_ms, 40000);
    destroy_setup(slow);
}

static void the_kernel_keeps_an_answer_for_the_rest_of_ttl(void **state)
{
    struct setup *setup = *state;
    struct setup *none = new_setup(0);
    setup->now_ms = 20000;
    assert_int_equal(freshness_valid_ms(setup->freshness, 20000), 1000);
    assert_int_equal(freshness_valid_ms(setup->freshness, 19300), 300);
    assert_int_equal(freshness_valid_ms(setup->freshness, 4000), 0);
    assert_int_equal(freshness_valid_ms(setup->freshness, 20001), 1000);
    assert_int_equal(freshness_hold_ms(setup->freshness, 0), 100); /* what a listing has shown */
    assert_int_equal(freshness_hold_ms(setup->freshness, 300), 300);
    assert_int_equal(freshness_hold_ms(none->freshness, 0), 0);
    destroy_setup(none);
}

static void a_slow_answer_counts_from_half_a_ttl_before_it_came(void **state)
{
    (void)state;
    assert_int_equal(freshness_requested_ms(5000, 5500, 1000), 5000);
    assert_int_equal(freshness_requested_ms(5000, 9000, 1000), 8500);
    assert_int_equal(freshness_requested_ms(5000, 9000, 0), 9000);
}

/* --- which directory is left */

static void assert_leaves_nothing(struct setup *setup, struct directory to)
{
    struct owned_range left;
    owned_range_init(&left);
    assert_false(lists_and_leaves(setup, GREP, to, 5000, 5000, &left));
    assert_int_equal(left.text.size, 0);
    owned_range_finish(&left);
}

static void assert_leaves(struct setup *setup, struct directory to, struct directory from)
{
    struct owned_range left;
    owned_range_init(&left);
    assert_true(lists_and_leaves(setup, GREP, to, 5000, 5000, &left));
    if (from.table)
        assert_string_equal(left.table, from.table);
    else
        assert_null(left.table);
    assert_bytes(left.range.lo, from.range.lo);
    assert_bytes(left.range.hi, from.range.hi);
    owned_range_finish(&left);
}

static void find_leaves_each_sibling(void **state)
{
    struct setup *setup = *state;
    assert_leaves_nothing(setup, ACCOUNT);
    assert_leaves_nothing(setup, TABLE("t"));
    assert_leaves_nothing(setup, TABLE("t")); /* the next READDIR */
    assert_leaves_nothing(setup, PARTITION("a"));
    assert_leaves_nothing(setup, PARTITION("a"));
    assert_leaves(setup, PARTITION("b"), PARTITION("a"));
    assert_leaves(setup, PARTITION("c"), PARTITION("b"));
    assert_leaves_nothing(setup, ROW_PREFIX("c", "2024", "2025"));
    assert_leaves(setup, ROW_PREFIX("c", "2025", "2026"), ROW_PREFIX("c", "2024", "2025"));
    assert_leaves(setup, PARTITION("c"), ROW_PREFIX("c", "2025", "2026"));
    assert_leaves(setup, TABLE("u"), PARTITION("c"));
    assert_leaves(setup, ACCOUNT, TABLE("u"));
    assert_leaves_nothing(setup, PARTITION("c"));
}

static void ranges_that_overlap_do_not_hold_each_other(void **state)
{
    struct setup *setup = *state;
    assert_leaves_nothing(setup, ROW_PREFIX("p", "b", "d"));
    assert_leaves(setup, ROW_PREFIX("p", "a", "c"), ROW_PREFIX("p", "b", "d"));
    assert_leaves(setup, ROW_PREFIX("p", "b", "d"), ROW_PREFIX("p", "a", "c"));
    assert_leaves_nothing(setup, ROW_PREFIX("p", "b", "c"));
    struct directory elsewhere = ROW_PREFIX("p", "b", "c");
    elsewhere.table = "u";
    assert_leaves(setup, elsewhere, ROW_PREFIX("p", "b", "c"));
}

static void process_0_leaves_nothing(void **state)
{
    struct setup *setup = *state;
    struct directory directories[] = {PARTITION("a"), PARTITION("b")};
    struct owned_range left;
    owned_range_init(&left);
    for (size_t i = 0; i < ARRAY_SIZE(directories); i++)
        assert_false(lists_and_leaves(setup, 0, directories[i], 1, 1, &left));
    owned_range_finish(&left);
}

static void what_is_too_long_is_not_remembered(void **state)
{
    struct setup *setup = *state;
    char *key = calloc(1, 20000);
    assert_non_null(key);
    memset(key, 'k', 20000);
    struct directory large = {
        .kind = DIRECTORY_ENTITIES, .table = "t", .range = {{key, 9000}, {key, 9001}}};
    struct bytes position = {key, 20000};
    lists(setup, GREP, TABLE("t"), 5000, 5000);
    assert_leaves_nothing(setup, large);
    assert_leaves_nothing(setup, TABLE("u"));
    assert_int_equal(since(setup, GREP, "t", position, 20000), 4000);
    assert_int_equal(since(setup, GREP, "t", position, 21000), 20000);
    free(key);
}

/* --- how many processes */

static void the_process_that_was_idle_for_longest_is_forgotten(void **state)
{
    struct setup *setup = *state;
    for (uint64_t process = 1; process <= FRESHNESS_PROCESSES; process++)
        lists(setup, process << 40, TABLE("t"), 5000, 5000);
    /* every use counts */
    assert_int_equal(since(setup, (uint64_t)1 << 40, "t", B("p\0r"), 20000), 4000);
    assert_int_equal(since(setup, (uint64_t)2 << 40, NULL, B("t"), 20000), 4000);
    (void)freshness_begin_listing(setup->freshness, (uint64_t)3 << 40, &TABLE("t"));
    lists(setup, (uint64_t)4 << 40, TABLE("t"), 5000, 5000);
    for (uint64_t process = 1; process <= 4; process++)
        lists(setup, process, TABLE("t"), 5000, 5000); /* in place of 5 to 8 */
    for (uint64_t process = 1; process <= FRESHNESS_PROCESSES; process++) {
        bool is_forgotten = process >= 5 && process <= 8;
        assert_int_equal(since(setup, process << 40, "t", B("p\0r"), 20000),
                         is_forgotten ? 19000 : 4000);
    }
}

/* --- threads */

struct worker {
    struct setup *setup;
    uint64_t first;
};

static void *work(void *context)
{
    const struct worker *worker = context;
    struct freshness *freshness = worker->setup->freshness;
    struct owned_range left;
    owned_range_init(&left);
    for (uint64_t i = 0; i < 2000; i++) {
        uint64_t process = 1 + (worker->first + i) % 1500;
        struct directory directory = i % 3 ? PARTITION("p") : PARTITION("q");
        (void)freshness_listed(freshness, process, &directory, stamp_since(4000), &left);
        struct served served;
        int64_t since_ms =
            freshness_oldest(freshness, process, "t", B("p\0a"), &served).requested_ms;
        assert_true(since_ms == 4000 || since_ms == 19000);
        (void)freshness_traverses(freshness, process, "t", directory.range, &left);
    }
    owned_range_finish(&left);
    return NULL;
}

static void threads_share_it(void **state)
{
    struct setup *setup = *state;
    struct worker workers[4];
    setup->now_ms = 20000;
    for (size_t i = 0; i < ARRAY_SIZE(workers); i++)
        workers[i] = (struct worker){setup, i * 300};
    run_in_threads(ARRAY_SIZE(workers), work, workers, sizeof(workers[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_a_listing_ttl_alone_counts),
        TEST(a_listing_serves_what_it_holds),
        TEST(a_question_before_the_first_listing_is_not_remembered),
        TEST(never_younger_than_ttl_asks_and_never_older_than_30_s),
        TEST(the_30_s_run_from_the_last_readdir),
        TEST(a_long_ttl_rules),
        TEST(with_ttl_0_a_listing_still_serves),
        TEST(a_clock_may_begin_at_0),
        TEST(a_listing_that_begins_anew_replaces_the_old),
        TEST(of_several_listings_the_oldest_serves),
        TEST(a_listing_inside_a_table_shows_the_table),
        TEST(the_account_holds_the_names_of_tables),
        TEST(eight_directories_are_remembered),
        TEST(a_listing_is_never_older_than_30_s),
        TEST(the_kernel_keeps_an_answer_for_the_rest_of_ttl),
        TEST(a_slow_answer_counts_from_half_a_ttl_before_it_came),
        TEST(find_leaves_each_sibling),
        TEST(ranges_that_overlap_do_not_hold_each_other),
        TEST(process_0_leaves_nothing),
        TEST(what_is_too_long_is_not_remembered),
        TEST(the_process_that_was_idle_for_longest_is_forgotten),
        TEST(threads_share_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
