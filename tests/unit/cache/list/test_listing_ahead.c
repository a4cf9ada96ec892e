/* SPDX-License-Identifier: MIT */
/* Listings that pages are read ahead for. What they show is the same as without; only the requests
 * differ. */
#include "tests/unit/cache/account_fixture.h"

static const int parallelism[] = {2, 4, 8};

static const struct directory level_of_all = {
    .kind = DIRECTORY_AUTO, .table = "t", .range = {B(""), B(POSITION_END)}};

static void a_small_directory_costs_one_request(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(parallelism); i++) {
        struct setup setup;
        set_up(&setup, (struct setup_options){.parallelism = parallelism[i]});
        add_rows(&setup, "p", 1000);
        assert_int_equal(list(&setup, ROWS_OF("p"), false), 1000);
        assert_int_equal(gate_store_settle(setup.gate), 1);
        assert_requests(&setup, "rows [p/ p+) 1000");
        tear_down(&setup);
    }
}

static void a_large_one_costs_little_more_than_its_pages(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(parallelism); i++) {
        struct setup setup;
        set_up(&setup, (struct setup_options){.parallelism = parallelism[i]});
        add_rows(&setup, "p", 30500);
        assert_int_equal(list(&setup, ROWS_OF("p"), false), 30500);
        assert_in_range(gate_store_settle(setup.gate), 31, 31 * 115 / 100 + 20);
        tear_down(&setup);
    }
}

static void each_row_comes_once_with_its_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(parallelism); i++) {
        struct setup setup;
        set_up(&setup, (struct setup_options){.parallelism = parallelism[i]});
        add_rows(&setup, "o", 10);
        add_rows(&setup, "p", 12345);
        add_rows(&setup, "q", 10);
        struct listing *listing = open_listing(&setup, ROWS_OF("p"));
        for (uint64_t cookie = 0; cookie < 12345; cookie++)
            assert_row(&setup, listing, cookie);
        assert_end(&setup, listing, 12345);
        assert_row(&setup, listing, 7000); /* seekdir */
        assert_row(&setup, listing, 12344);
        assert_end(&setup, listing, 12345);
        listing_close(listing);
        tear_down(&setup);
    }
}

static int fail_some(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    return number % 4 == 3 ? call_fail(call, -EIO, "one in four fails") : 0;
}

static void failures_lose_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(parallelism); i++) {
        struct setup setup;
        struct listing_entry entry;
        uint64_t cookie = 0;
        int failures = 0, r;
        set_up(&setup, (struct setup_options){.parallelism = parallelism[i]});
        add_rows(&setup, "p", 12345);
        setup.memory->fault = fail_some;
        struct listing *listing = open_listing(&setup, ROWS_OF("p"));
        while ((r = listing_next(listing, caller_of(&setup), cookie, false, true, &entry)) != 0) {
            assert_true(r == 1 || r == -EIO);
            failures += r < 0;
            cookie += r == 1;
        }
        assert_int_equal(cookie, 12345);
        assert_in_range(failures, 0, 10); /* what failed ahead is asked for once more */
        listing_close(listing);
        tear_down(&setup);
    }
}

static int drop_third(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    return number >= 3 ? call_fail(call, -ENOENT, "no such table") : 0;
}

/* ENOENT would end the listing, and make it a short one. */
static void a_table_that_is_dropped_is_an_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(parallelism); i++) {
        struct setup setup;
        struct listing_entry entry;
        uint64_t cookie = 0;
        int r;
        set_up(&setup, (struct setup_options){.parallelism = parallelism[i]});
        add_rows(&setup, "p", 12345);
        setup.memory->fault = drop_third;
        struct listing *listing = open_listing(&setup, ROWS_OF("p"));
        while ((r = listing_next(listing, caller_of(&setup), cookie, false, true, &entry)) == 1)
            cookie++;
        assert_int_equal(r, -ESTALE);
        assert_int_equal(setup.caller.call.failure.error, -ESTALE);
        listing_close(listing);
        tear_down(&setup);
    }
}

static int no_table(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    (void)number;
    return call_fail(call, -ENOENT, "no such table");
}

static void a_level_of_a_dropped_table_is_an_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(parallelism); i++) {
        struct setup setup;
        struct listing_entry entry;
        set_up(&setup, (struct setup_options){.parallelism = parallelism[i]});
        setup.memory->fault = no_table;
        struct listing *listing = open_listing(&setup, &level_of_all);
        for (int times = 0; times < 2; times++) {
            assert_int_equal(listing_next(listing, caller_of(&setup), 0, true, true, &entry),
                             -ESTALE);
            assert_int_equal(setup.caller.call.failure.error, -ESTALE);
        }
        listing_close(listing);
        tear_down(&setup);
    }
}

static void partitions_are_found_by_jumps(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(parallelism); i++) {
        struct setup setup;
        set_up(&setup, (struct setup_options){.parallelism = parallelism[i]});
        for (char key[] = "a"; key[0] <= 'j'; key[0]++)
            add_rows(&setup, key, 3000);
        assert_int_equal(list(&setup, PARTITIONS_OF("t"), true), 10);
        assert_in_range(gate_store_settle(setup.gate), 10, 10 + 16);
        tear_down(&setup);
    }
}

/* Names that are read again within ttl, by any process. */
static void what_was_listed_is_listed_again_for_nothing(void **state)
{
    (void)state;
    static const struct directory flat = {
        .kind = DIRECTORY_FLAT, .table = "t", .range = {B(""), B(POSITION_END)}};
    const struct directory *const directories[] = {&level_of_all, &flat, ROWS_OF("c")};
    static const size_t names[] = {10, 10, 3000};
    for (size_t i = 0; i < ARRAY_SIZE(directories); i++) {
        struct setup setup;
        set_up(&setup, (struct setup_options){.parallelism = 4});
        for (char key[] = "a"; key[0] <= 'j'; key[0]++)
            add_rows(&setup, key, 3000);
        assert_int_equal(list(&setup, directories[i], true), names[i]);
        size_t asked = gate_store_settle(setup.gate);
        setup.now_ms += TTL_MS;
        assert_int_equal(list(&setup, directories[i], true), names[i]);
        assert_int_equal(gate_store_settle(setup.gate), asked);
        setup.now_ms += 1;
        assert_int_equal(list(&setup, directories[i], true), names[i]);
        assert_true(gate_store_settle(setup.gate) > asked);
        tear_down(&setup);
    }
}

/* More than the cache may keep: the rest is read by name. */
static void a_listing_that_is_long_goes_on_with_names(void **state)
{
    (void)state;
    char etag[1000];
    memset(etag, 'e', sizeof(etag));
    etag[sizeof(etag) - 1] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(parallelism); i++) {
        struct setup setup;
        size_t keys = 0;
        set_up(&setup, (struct setup_options){.parallelism = parallelism[i],
                                              .cache_bytes = (size_t)8 << 20});
        add_rows_with(&setup, "p", 20000, etag);
        assert_int_equal(list(&setup, ROWS_OF("p"), true), 20000);
        size_t asked = gate_store_settle(setup.gate);
        for (size_t k = 0; k < asked; k++)
            keys += setup.memory->diary[k].keys_only;
        assert_in_range(asked, 20, 23 + 20);
        assert_in_range(keys, 8, asked - 7); /* 7 pages of rows fit */
        tear_down(&setup);
    }
}

/* Lists at_once entries, then opens these, and so on, as fts does. Answers how many requests were
 * for names alone. */
static size_t list_and_open(struct setup *setup, int rows, int at_once, size_t *ret_asked)
{
    struct listing *listing = open_listing(setup, ROWS_OF("p"));
    size_t keys = 0;
    for (int begin = 0; begin < rows; begin += at_once) {
        struct listing_entry entry;
        for (int i = begin; i < begin + at_once; i++)
            assert_int_equal(next_entry(setup, listing, (uint64_t)i, true, &entry), 1);
        for (int i = begin; i < begin + at_once; i++)
            assert_row_found(setup, "p", i);
    }
    *ret_asked = gate_store_settle(setup->gate);
    for (size_t i = 0; i < *ret_asked; i++)
        keys += setup->memory->diary[i].keys_only;
    listing_close(listing);
    return keys;
}

/* What was opened needs no room any more: 20 MB are listed and opened through a cache of 8 MB. A
 * process that lists them again has not opened what it lists then. */
static void a_listing_whose_entries_are_opened_is_not_long(void **state)
{
    (void)state;
    char etag[1000];
    memset(etag, 'e', sizeof(etag));
    etag[sizeof(etag) - 1] = '\0';
    for (int slots = 1; slots <= 8; slots *= 2) {
        struct setup setup;
        size_t asked, keys = 0;
        set_up(&setup,
               (struct setup_options){.parallelism = slots, .cache_bytes = (size_t)8 << 20});
        setup.process = 7;
        add_rows_with(&setup, "p", 20000, etag);
        assert_int_equal(list_and_open(&setup, 20000, 4000, &asked), 0);
        assert_in_range(asked, 20, slots == 1 ? 20 : 23 + 20);
        assert_int_equal(list(&setup, ROWS_OF("p"), true), 20000);
        size_t again = gate_store_settle(setup.gate);
        for (size_t k = asked; k < again; k++)
            keys += setup.memory->diary[k].keys_only;
        assert_in_range(keys, 8, again - asked);
        tear_down(&setup);
    }
}

/* A listing is left half-way, with requests under way. */
static void closing_waits_for_no_request(void **state)
{
    (void)state;
    struct setup setup;
    struct listing_entry entry;
    set_up(&setup, (struct setup_options){.parallelism = 4});
    add_rows(&setup, "p", 30000);
    gate_store_let(setup.gate, 3);
    struct listing *listing = open_listing(&setup, ROWS_OF("p"));
    for (uint64_t cookie = 0; cookie < 2500; cookie++)
        assert_int_equal(next_entry(&setup, listing, cookie, false, &entry), 1);
    while (gate_store_arrived(setup.gate) < 4)
        (void)usleep(200);
    listing_close(listing);
    tear_down(&setup); /* the gate was not opened */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_directory_costs_one_request),
        cmocka_unit_test(a_large_one_costs_little_more_than_its_pages),
        cmocka_unit_test(each_row_comes_once_with_its_text),
        cmocka_unit_test(failures_lose_nothing),
        cmocka_unit_test(a_table_that_is_dropped_is_an_error),
        cmocka_unit_test(a_level_of_a_dropped_table_is_an_error),
        cmocka_unit_test(partitions_are_found_by_jumps),
        cmocka_unit_test(what_was_listed_is_listed_again_for_nothing),
        cmocka_unit_test(a_listing_that_is_long_goes_on_with_names),
        cmocka_unit_test(a_listing_whose_entries_are_opened_is_not_long),
        cmocka_unit_test(closing_waits_for_no_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
