/* SPDX-License-Identifier: MIT */
/* Which processes traverse a table, and which ask for one name again and again. */
#include "tests/unit/cache/known/freshness_fixture.h"

/* The partition of a number, its key in the caller's memory. */
static struct directory numbered(int number, char key[8])
{
    size_t size = (size_t)snprintf(key, 8, "p%02d", number) + 1;
    return (struct directory){
        .kind = DIRECTORY_ENTITIES, .table = "t", .range = {{key, size}, {key, size}}};
}

static void a_traversal_keeps_the_directories_it_is_in(void **state)
{
    struct setup *setup = *state;
    char key[8];
    lists(setup, GREP, TABLE("t"), 5000, 5000);
    for (int i = 0; i < 100; i++) /* one every second: longer than 30 s */
        lists(setup, GREP, numbered(i, key), 5000 + 1000 * i, 5000 + 1000 * i);
    assert_int_equal(since(setup, GREP, "t", B("q\0r"), 104000), 74000);
    assert_int_equal(since(setup, GREP, "t", B("q\0s"), 134000), 133000);
}

/* ls -lR names what it lists by its whole path, and the kernel asks for the steps now and then. */
static void the_path_to_a_listing_is_no_new_question(void **state)
{
    struct setup *setup = *state;
    char key[8];
    lists(setup, GREP, TABLE("t"), 5000, 5000);
    for (int i = 0; i < 20; i++) {
        int64_t now_ms = 5000 + FRESHNESS_REPEAT_MS * i;
        assert_int_equal(since(setup, GREP, NULL, B("t"), now_ms), 4000);
        assert_int_equal(since(setup, GREP, "t", B("p1"), now_ms), 4000);
        lists(setup, GREP, numbered(100 + i, key), now_ms, now_ms);
    }
    (void)since(setup, GREP, "t", B("q"), 8000); /* it looks elsewhere, and waits for it */
    (void)since(setup, GREP, "t", B("p1"), 8000);
    assert_int_equal(since(setup, GREP, "t", B("p1"), 8100), 7100);
    assert_int_equal(since(setup, GREP, "t", B("q"), 8100), 7100);
}

static void visiting_the_same_again_is_no_traversal(void **state)
{
    struct setup *setup = *state;
    char key[8];
    lists(setup, GREP, TABLE("t"), 5000, 5000);
    for (int i = 0; i < 200; i++) { /* ten partitions, again and again: more than are remembered */
        int64_t now_ms = 5000 + 500 * i;
        struct directory partition = numbered(i % 10, key);
        (void)listing_since(setup, partition, now_ms);
        lists(setup, GREP, partition, now_ms, now_ms);
        int64_t row_ms = since(setup, GREP, "t", (struct bytes){key, 4}, now_ms);
        assert_true(i < 70 || row_ms == now_ms - TTL_MS);
    }
}

static void a_directory_is_as_old_as_its_traversal(void **state)
{
    struct setup *setup = *state;
    assert_int_equal(listing_since(setup, PARTITION("p"), 5000), 4000);
    lists(setup, GREP, TABLE("t"), 5000, 5000);
    assert_int_equal(listing_since(setup, PARTITION("p"), 9000), 4000);
    lists(setup, GREP, PARTITION("p"), 5000, 9000);
    /* grep opens it twice; a loop comes back later */
    assert_int_equal(listing_since(setup, PARTITION("p"), 9099), 4000);
    assert_int_equal(listing_since(setup, PARTITION("p"), 9100), 8100);
    assert_int_equal(listing_since(setup, PARTITION("q"), 9100), 4000);
    assert_int_equal(listing_since(setup, TABLE("t"), 9100), 8100);
    assert_int_equal(listing_since(setup, PARTITION("q"), 38999), 8999);
    assert_int_equal(listing_since(setup, PARTITION("q"), 39000), 38000);
}

/* GREP traverses `whole` where it comes to the directory; NULL: it does not traverse. */
static void assert_traverses(struct setup *setup, struct directory directory, int64_t now_ms,
                             const struct directory *whole)
{
    struct owned_range found;
    owned_range_init(&found);
    setup->now_ms = now_ms;
    assert_int_equal(
        freshness_traverses(setup->freshness, GREP, directory.table, directory.range, &found),
        whole != NULL);
    if (whole) {
        assert_string_equal(found.table, whole->table);
        assert_bytes(found.range.lo, whole->range.lo);
        assert_bytes(found.range.hi, whole->range.hi);
    }
    owned_range_finish(&found);
}

static void below_what_it_listed_a_process_traverses(void **state)
{
    struct setup *setup = *state;
    struct directory table = TABLE("t"), partition = PARTITION("p");
    assert_traverses(setup, partition, 5000, NULL);
    lists(setup, SHELL, table, 5000, 5000);
    assert_traverses(setup, partition, 5000, NULL); /* another process */
    lists(setup, GREP, ACCOUNT, 5000, 5000);
    assert_traverses(setup, partition, 5000, NULL); /* a traversal is of one table */
    lists(setup, GREP, table, 5000, 5000);
    assert_traverses(setup, partition, 5000, &table);
    assert_traverses(setup, table, 5000, NULL); /* that is what it listed, not below */
    assert_traverses(setup, TABLE("u"), 5000, NULL);
    lists(setup, GREP, partition, 6000, 6000);
    assert_traverses(setup, PARTITION("q"), 6000, &table);
    assert_traverses(setup, ROW_PREFIX("p", "a", "b"), 6000, &table); /* the largest */
    lists(setup, 0, table, 5000, 5000);
    struct owned_range none;
    owned_range_init(&none);
    assert_false(freshness_traverses(setup->freshness, 0, "t", partition.range, &none));
    owned_range_finish(&none);
}

static void a_traversal_is_over_30_s_after_its_last_read(void **state)
{
    struct setup *setup = *state;
    struct directory table = TABLE("t");
    lists(setup, GREP, table, 5000, 5000);
    assert_traverses(setup, PARTITION("p"), 34999, &table);
    assert_traverses(setup, PARTITION("p"), 35000, NULL);
    lists(setup, GREP, table, 40000, 40000);
    lists(setup, GREP, PARTITION("p"), 60000, 60000); /* below it: it goes on */
    assert_traverses(setup, PARTITION("q"), 89999, &table);
    assert_traverses(setup, PARTITION("q"), 90000, NULL);
}

/* With ttl 0 an answer is as old as the listing, or is to be asked for from now on. */
static void a_listing_that_decides_is_told(void **state)
{
    (void)state;
    struct setup *setup = new_setup(0);
    struct served served;
    setup->orders = 7;
    setup->now_ms = 5000;
    struct stamp stamp = freshness_oldest(setup->freshness, GREP, "t", B("p\0r"), &served);
    assert_false(served.is_served);
    assert_int_equal(stamp.order, 8);
    lists(setup, GREP, TABLE("t"), 5000, 5000);
    stamp = freshness_oldest(setup->freshness, GREP, "t", B("p\0s"), &served);
    assert_true(served.is_served);
    assert_int_equal(stamp.requested_ms, 5000);
    assert_int_equal(stamp.order, 0);
    stamp = freshness_begin_listing(setup->freshness, GREP, &PARTITION("p"));
    assert_int_equal(stamp.order, 0);
    stamp = freshness_begin_listing(setup->freshness, SHELL, &PARTITION("p"));
    assert_int_equal(stamp.requested_ms, 5000);
    assert_int_equal(stamp.order, 8);
    destroy_setup(setup);
}

static void assert_asked_to(struct setup *setup, uint64_t process, struct directory directory,
                            struct bytes expected)
{
    struct position position;
    position_set(&position, B("another"));
    freshness_read_to(setup->freshness, process, &directory, &position);
    assert_bytes(position_bytes(&position), expected);
}

static void the_greatest_position_of_a_process_is_returned(void **state)
{
    struct setup *setup = *state;
    (void)since(setup, GREP, "t", B("p\0c"), 5000);
    assert_asked_to(setup, GREP, PARTITION("p"), B("")); /* it has not listed it */
    lists(setup, GREP, TABLE("t"), 5000, 5000);
    lists(setup, GREP, PARTITION("p"), 5000, 5000);
    assert_asked_to(setup, GREP, PARTITION("p"), B(""));
    (void)since(setup, GREP, "t", B("p\0c"), 5000);
    (void)since(setup, GREP, "t", B("p\0b"), 5000);
    (void)since(setup, GREP, "u", B("p\0d"), 5000);
    (void)since(setup, SHELL, "t", B("p\0e"), 5000);
    assert_asked_to(setup, GREP, PARTITION("p"), B("p\0c"));
    (void)since(setup, GREP, "t", B("q\0a"), 5000);
    assert_asked_to(setup, GREP, PARTITION("p"), B("p\0c"));
    assert_asked_to(setup, GREP, TABLE("t"), B("q\0a"));
    assert_asked_to(setup, SHELL, PARTITION("p"), B(""));
    assert_asked_to(setup, 0, PARTITION("p"), B(""));
    lists(setup, GREP, PARTITION("p"), 5000, 6000); /* goes on */
    assert_asked_to(setup, GREP, PARTITION("p"), B("p\0c"));
    lists(setup, GREP, PARTITION("p"), 7000, 7000); /* begins again */
    assert_asked_to(setup, GREP, PARTITION("p"), B(""));
}

static void tar_asks_twice_at_once(void **state)
{
    struct setup *setup = *state;
    lists(setup, GREP, PARTITION("p"), 5000, 5000);
    for (int64_t now_ms = 20000; now_ms < 20026; now_ms++) {
        char row = (char)('a' + now_ms - 20000);
        const char position[] = {'p', '\0', row};
        struct bytes bytes = {position, sizeof(position)};
        assert_int_equal(since(setup, GREP, "t", bytes, now_ms), 4000);
        assert_int_equal(since(setup, GREP, "t", bytes, now_ms), 4000);
    }
}

static void a_shell_in_a_loop_sees_news(void **state)
{
    struct setup *setup = *state;
    lists(setup, SHELL, PARTITION("p"), 5000, 5000);
    assert_int_equal(since(setup, SHELL, "t", B("p\0a"), 20000), 4000);
    assert_int_equal(since(setup, SHELL, "t", B("p\0a"), 20050), 4000);
    assert_int_equal(since(setup, SHELL, "t", B("p\0a"), 20099), 4000);
    assert_int_equal(since(setup, SHELL, "t", B("p\0a"), 20100), 19100);
    assert_int_equal(since(setup, SHELL, "t", B("p\0a"), 20101), 19101);
    assert_int_equal(since(setup, SHELL, "t", B("p\0a"), 29000), 28000);
    /* it may wait for several */
    assert_int_equal(since(setup, SHELL, "t", B("p\0b"), 29000), 4000);
    assert_int_equal(since(setup, SHELL, "t", B("p\0a"), 29000), 28000);
    assert_int_equal(since(setup, SHELL, "t", B("p\0b"), 29099), 4000);
    assert_int_equal(since(setup, SHELL, "t", B("p\0b"), 29100), 28100);
    /* the same name elsewhere is another */
    assert_int_equal(since(setup, SHELL, "u", B("p\0c"), 29100), 28100);
    assert_int_equal(since(setup, SHELL, "t", B("p\0c"), 29101), 4000);
    /* eight others, and the loop is over */
    for (char row[] = "p\0d"; row[2] < 'l'; row[2]++)
        assert_int_equal(since(setup, SHELL, "t", (struct bytes){row, 3}, 29200), 4000);
    assert_int_equal(since(setup, SHELL, "t", B("p\0a"), 29200), 4000);
}

static void the_path_to_a_name_does_not_end_the_loop(void **state)
{
    struct setup *setup = *state;
    lists(setup, SHELL, ACCOUNT, 5000, 5000);
    lists(setup, SHELL, TABLE("t"), 5000, 5000);
    for (int64_t now_ms = 20000; now_ms < 29000; now_ms += 1000) {
        assert_int_equal(since(setup, SHELL, NULL, B("t"), now_ms), 4000);
        assert_int_equal(since(setup, SHELL, "t", B("p\0"), now_ms), 4000);
        assert_int_equal(since(setup, SHELL, "t", B("p\0a"), now_ms),
                         now_ms == 20000 ? 4000 : now_ms - 1000);
    }
    /* a prefix of a row's key is another row */
    assert_int_equal(since(setup, SHELL, "t", B("p\0abc"), 29000), 4000);
    assert_int_equal(since(setup, SHELL, "t", B("p\0ab"), 29500), 4000);
    assert_int_equal(since(setup, SHELL, "t", B("p\0abc"), 29500), 28500);
}

static void a_directory_is_a_name_as_well(void **state)
{
    struct setup *setup = *state;
    lists(setup, SHELL, ACCOUNT, 5000, 5000);
    lists(setup, SHELL, TABLE("t"), 5000, 5000);
    for (int64_t now_ms = 20000; now_ms < 25000; now_ms += 1000) {
        assert_int_equal(since(setup, SHELL, NULL, B("t"), now_ms), 4000);
        assert_int_equal(since(setup, SHELL, "t", B("p\0"), now_ms),
                         now_ms == 20000 ? 4000 : now_ms - 1000);
    }
    assert_int_equal(since(setup, SHELL, NULL, B("u"), 25000), 4000);
    assert_int_equal(since(setup, SHELL, NULL, B("u"), 25100), 24100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_traversal_keeps_the_directories_it_is_in),
        TEST(the_path_to_a_listing_is_no_new_question),
        TEST(visiting_the_same_again_is_no_traversal),
        TEST(a_directory_is_as_old_as_its_traversal),
        TEST(below_what_it_listed_a_process_traverses),
        TEST(a_traversal_is_over_30_s_after_its_last_read),
        TEST(a_listing_that_decides_is_told),
        TEST(the_greatest_position_of_a_process_is_returned),
        TEST(tar_asks_twice_at_once),
        TEST(a_shell_in_a_loop_sees_news),
        TEST(the_path_to_a_name_does_not_end_the_loop),
        TEST(a_directory_is_a_name_as_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
