/* Who walks, and who only asks for one name again and again. */
#include "tests/unit/remembering.h"

/* The partition of a number, its key in the caller's memory. */
static struct directory numbered(int number, char key[8])
{
    size_t size = (size_t)snprintf(key, 8, "p%02d", number) + 1;
    return (struct directory){DIRECTORY_ENTITIES, "t", {{key, size}, {key, size}}};
}

static void a_walk_keeps_what_it_is_in(void **state)
{
    struct process_history *history = *state;
    char key[8];
    lists(history, GREP, TABLE("t"), 5000, 5000);
    for (int i = 0; i < 100; i++) /* one every second: longer than 30 s */
        lists(history, GREP, numbered(i, key), 5000 + 1000 * i, 5000 + 1000 * i);
    assert_int_equal(not_before(history, GREP, "t", B("q\0r"), 104000), 74000);
    assert_int_equal(not_before(history, GREP, "t", B("q\0s"), 134000), 133000);
}

/* ls -lR names what it lists by its whole path, and the kernel asks for the steps now and then. */
static void what_leads_to_a_listing_is_not_asked_for_again(void **state)
{
    struct process_history *history = *state;
    char key[8];
    lists(history, GREP, TABLE("t"), 5000, 5000);
    for (int i = 0; i < 20; i++) {
        int64_t now_ms = 5000 + PROCESS_HISTORY_REPEAT_MS * i;
        assert_int_equal(not_before(history, GREP, NULL, B("t"), now_ms), 4000);
        assert_int_equal(not_before(history, GREP, "t", B("p1"), now_ms), 4000);
        lists(history, GREP, numbered(100 + i, key), now_ms, now_ms);
    }
    (void)not_before(history, GREP, "t", B("q"), 8000); /* it looks elsewhere, and waits for it */
    (void)not_before(history, GREP, "t", B("p1"), 8000);
    assert_int_equal(not_before(history, GREP, "t", B("p1"), 8100), 7100);
    assert_int_equal(not_before(history, GREP, "t", B("q"), 8100), 7100);
}

static void going_round_is_no_walk(void **state)
{
    struct process_history *history = *state;
    char key[8];
    lists(history, GREP, TABLE("t"), 5000, 5000);
    for (int i = 0; i < 200; i++) { /* ten partitions, again and again: more than are remembered */
        int64_t now_ms = 5000 + 500 * i;
        struct directory partition = numbered(i % 10, key);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
