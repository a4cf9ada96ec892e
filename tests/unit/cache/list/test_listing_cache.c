/* SPDX-License-Identifier: MIT */
/* Listings and what is kept of what they read: shared pages, keys alone of what is too long, and
 * what it costs to list a directory first and to open its files later. */
#include "tests/unit/cache/account_fixture.h"

enum { GREP = 7 };

/* Since the test began. */
static void assert_counted(struct setup *setup, size_t hits, size_t misses)
{
    assert_int_equal(metric(setup, "tablefuse_cache_hits_total"), hits);
    assert_int_equal(metric(setup, "tablefuse_cache_misses_total"), misses);
}

/* A step of a listing is a page, or the end. */
static void each_question_counts_once(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 2500);
    assert_int_equal(list(setup, ROWS_OF("p"), false), 2500);
    assert_counted(setup, 1, 3); /* its end came with the last page */
    assert_int_equal(list(setup, ROWS_OF("p"), false), 2500);
    assert_counted(setup, 5, 3);
    assert_row_found(setup, "p", 7);
    assert_partition_found(setup, "p", 0);
    assert_counted(setup, 7, 3);
    assert_partition_found(setup, "q", -ENOENT);
    assert_counted(setup, 7, 4);
    assert_partition_found(setup, "q", -ENOENT);
    assert_counted(setup, 8, 4);
}

/* The caller had to wait for it, though a prefetcher sent the request. What has arrived before the
 * caller came to it is a hit: the second page may be either. */
static void what_a_traversal_waits_for_is_a_miss(void **state)
{
    struct setup *setup = *state;
    setup->process = GREP;
    add_rows(setup, "p", 1500);
    add_rows(setup, "q", 1500);
    assert_int_equal(list(setup, PARTITIONS_OF("t"), true), 2);
    assert_counted(setup, 0, 3); /* p, q and the end */
    assert_requests(setup, "rows [ ~) 1000, keys [p+ ~) 16, keys [q+ ~) 16");
    assert_int_equal(list(setup, ROWS_OF("q"), false), 1500);
    assert_requests(setup, "rows [q/ ~) 1000, rows [q/ ~) 1000"); /* one scan */
    size_t hits = metric(setup, "tablefuse_cache_hits_total");
    assert_in_range(hits, 1, 2);
    assert_counted(setup, hits, 6 - hits);
}

static void what_failed_is_a_miss(void **state)
{
    (void)state;
    struct setup setup;
    struct listing_entry entry;
    set_up(&setup, (struct setup_options){.faults = "fail=query:1:400:InvalidInput"});
    add_rows(&setup, "p", 10);
    struct listing *listing = open_listing(&setup, ROWS_OF("p"));
    assert_true(next_entry(&setup, listing, 0, false, &entry) < 0);
    assert_counted(&setup, 0, 1);
    listing_close(listing);
    tear_down(&setup);
}

/* What a cache needs to hold n rows of p with their texts. */
static size_t bytes_of_rows(int n)
{
    struct setup setup;
    set_up(&setup, (struct setup_options){0});
    add_rows(&setup, "p", n);
    assert_int_equal(list(&setup, ROWS_OF("p"), false), n);
    size_t bytes = metric(&setup, "tablefuse_cache_bytes");
    assert_int_equal(metric(&setup, "tablefuse_cache_evicted_total"), 0);
    tear_down(&setup);
    return bytes;
}

static void a_second_listing_costs_nothing(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 2500);
    assert_int_equal(list(setup, ROWS_OF("p"), false), 2500);
    assert_requests(setup, "rows [p/ p+) 1000, rows [p/00999+ p+) 1000, rows [p/01999+ p+) 1000");
    setup->now_ms += TTL_MS;
    assert_int_equal(list(setup, ROWS_OF("p"), false), 2500);
    assert_int_equal(list(setup, ROWS_OF("p"), true), 2500);
    assert_requests(setup, "");
    setup->now_ms += 1;
    assert_int_equal(list(setup, ROWS_OF("p"), false), 2500);
    assert_requests(setup, "rows [p/ p+) 1000, rows [p/00999+ p+) 1000, rows [p/01999+ p+) 1000");
}

static void names_are_read_with_their_texts(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 20);
    assert_int_equal(list(setup, ROWS_OF("p"), true), 20);
    assert_int_equal(list(setup, ROWS_OF("p"), false), 20);
    assert_requests(setup, "rows [p/ p+) 1000");
}

static void two_listings_at_once_share_their_pages(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 2500);
    _cleanup_(listing_closep) struct listing *ahead = open_listing(setup, ROWS_OF("p"));
    _cleanup_(listing_closep) struct listing *behind = open_listing(setup, ROWS_OF("p"));
    for (uint64_t cookie = 0; cookie < 2500; cookie++) {
        assert_row(setup, ahead, cookie);
        if (cookie >= 700)
            assert_row(setup, behind, cookie - 700);
    }
    for (uint64_t cookie = 1800; cookie < 2500; cookie++)
        assert_row(setup, behind, cookie);
    assert_end(setup, ahead, 2500);
    assert_end(setup, behind, 2500);
    assert_requests(setup, "rows [p/ p+) 1000, rows [p/00999+ p+) 1000, rows [p/01999+ p+) 1000");
}

static void a_listing_and_a_finder_share_their_pages(void **state)
{
    struct setup *setup = *state;
    setup->process = GREP;
    add_rows(setup, "p", 1500);
    struct listing *listing = open_listing(setup, ROWS_OF("p"));
    for (int row = 0; row < 1500; row++) { /* each file is opened as soon as it was listed */
        assert_row(setup, listing, (uint64_t)row);
        assert_row_found(setup, "p", row);
    }
    assert_requests(setup, "rows [p/ p+) 1000, rows [p/00999+ p+) 1000");
    listing_close(listing);
    setup->now_ms += TTL_MS + 1;
    setup->process = NO_PROCESS;
    assert_row_found(setup, "p", 500); /* clips the page that others read */
    assert_found(setup, P_ROW("00700!"), NULL);
    setup->process = GREP;
    for (int row = 0; row < 1500; row++)
        assert_row_found(setup, "p", row);
    assert_requests_at(setup, "p/00500, p/00700!");
}

/* A listing that had begun before shows what was written after its cursor; what it has read it
 * shows as it was. */
static void an_open_listing_sees_what_is_written_behind_its_cursor(void **state)
{
    (void)state;
    for (int is_ttl_0 = 0; is_ttl_0 <= 1; is_ttl_0++) {
        static const char *const keys[] = {"00000", "00001", "00002", "00003", "00003!", "00005"};
        struct setup setup;
        struct listing_entry entry = {0};
        set_up(&setup, (struct setup_options){.is_ttl_0 = is_ttl_0, .faults = "short=3"});
        add_rows(&setup, "p", 6);
        struct listing *listing = open_listing(&setup, ROWS_OF("p"));
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
            assert_int_equal(next_entry(&setup, listing, entry.cookie, false, &entry), 1);
            assert_bytes(entry.key, bytes_of(keys[i]));
            if (i > 0)
                continue;
            another_client_writes(&setup, WRITE_DELETE, P_ROW("00001"), "");
            another_client_writes(&setup, WRITE_INSERT, P_ROW("00001!"), "{}");
            another_client_writes(&setup, WRITE_INSERT, P_ROW("00003!"), "{}");
            another_client_writes(&setup, WRITE_DELETE, P_ROW("00004"), "");
        }
        assert_end(&setup, listing, ARRAY_SIZE(keys));
        assert_requests(&setup, "rows [p/ p+) 3, rows [p/00002+ p+) 3");
        listing_close(listing);
        tear_down(&setup);
    }
}

static void with_ttl_0_others_ask_while_a_listing_is_open(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){.is_ttl_0 = true});
    add_rows(&setup, "p", 3);
    struct listing *listing = open_listing(&setup, ROWS_OF("p"));
    assert_row(&setup, listing, 0);
    assert_int_equal(setup.caller.valid_ms, 0);
    assert_row(&setup, listing, 1); /* its own page, however long it takes */
    setup.now_ms += KEPT_MS;
    assert_row(&setup, listing, 2);
    assert_end(&setup, listing, 3);
    assert_requests(&setup, "rows [p/ p+) 1000");
    setup.now_ms += 1; /* and never longer */
    assert_row(&setup, listing, 2);
    assert_requests(&setup, "rows [p/00001+ p+) 1000");
    struct listing *other = open_listing(&setup, ROWS_OF("p"));
    assert_row(&setup, other, 0);
    assert_row(&setup, listing, 0); /* rewound: a new listing */
    assert_requests(&setup, "rows [p/ p+) 1000, rows [p/ p+) 1000");
    listing_close(other);
    listing_close(listing);
    tear_down(&setup);
}

#define LONG 10000 /* rows; the cache of these tests holds a fifth of them */

static void assert_entry(struct setup *setup, struct listing *listing, uint64_t cookie,
                         bool names_suffice, bool has_text)
{
    struct listing_entry entry;
    char expected[8];
    (void)snprintf(expected, sizeof(expected), "%05d", (int)cookie);
    assert_int_equal(next_entry(setup, listing, cookie, names_suffice, &entry), 1);
    assert_bytes(entry.key, bytes_of(expected));
    assert_int_equal(entry.cookie, cookie + 1);
    assert_int_equal(entry.entity.page != NULL, has_text);
}

static void a_long_listing_goes_on_with_names_alone(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){.cache_bytes = bytes_of_rows(LONG) / 5});
    add_rows(&setup, "p", LONG);
    struct listing *listing = open_listing(&setup, ROWS_OF("p"));
    for (uint64_t cookie = 0; cookie < LONG; cookie++)
        assert_entry(&setup, listing, cookie, true, cookie < 2000); /* 3/4 of 2,000 and a page */
    assert_end(&setup, listing, LONG);
    assert_requests(&setup,
                    "rows [p/ p+) 1000, rows [p/00999+ p+) 1000, keys [p/01999+ p+) 1000, "
                    "keys [p/02999+ p+) 1000, keys [p/03999+ p+) 1000, keys [p/04999+ p+) 1000, "
                    "keys [p/05999+ p+) 1000, keys [p/06999+ p+) 1000, keys [p/07999+ p+) 1000, "
                    "keys [p/08999+ p+) 1000");
    setup.now_ms += TTL_MS + 1;
    assert_entry(&setup, listing, 0, true, true); /* rewound: a new listing */
    assert_requests(&setup, "rows [p/ p+) 1000");
    listing_close(listing);
    tear_down(&setup);
}

/* In the middle of names alone, at the start of a window, and again with names alone. */
static void texts_are_read_again_when_they_are_wanted(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){.cache_bytes = bytes_of_rows(LONG) / 5});
    add_rows(&setup, "p", LONG);
    struct listing *listing = open_listing(&setup, ROWS_OF("p"));
    for (uint64_t cookie = 0; cookie < LONG; cookie++) {
        bool wants_texts = (cookie >= 3500 && cookie < 3700) || (cookie >= 4699 && cookie < 5200);
        bool has_texts =
            cookie < 2000 || (cookie >= 3500 && cookie < 4500) || (cookie >= 4699 && cookie < 5699);
        assert_entry(&setup, listing, cookie, !wants_texts, has_texts);
    }
    assert_end(&setup, listing, LONG);
    assert_requests(&setup,
                    "rows [p/ p+) 1000, rows [p/00999+ p+) 1000, keys [p/01999+ p+) 1000, "
                    "keys [p/02999+ p+) 1000, rows [p/03500 p+) 1000, keys [p/04499+ p+) 1000, "
                    "rows [p/04699 p+) 1000, keys [p/05698+ p+) 1000, keys [p/06698+ p+) 1000, "
                    "keys [p/07698+ p+) 1000, keys [p/08698+ p+) 1000, keys [p/09698+ p+) 1000");
    listing_close(listing);
    tear_down(&setup);
}

static void numbers_ascend_along_a_listing(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){.cache_bytes = bytes_of_rows(LONG) / 5});
    add_rows(&setup, "p", LONG);
    assert_partition_found(&setup, "p", 0); /* the first rows are known already */
    struct listing *listing = open_listing(&setup, ROWS_OF("p"));
    uint64_t number = UINT64_C(1) << 63;
    for (uint64_t cookie = 0; cookie < LONG; cookie++) {
        struct listing_entry entry;
        assert_int_equal(next_entry(&setup, listing, cookie, cookie % 3000 < 2500, &entry), 1);
        assert_true(entry.number > number);
        number = entry.number;
    }
    listing_close(listing);
    tear_down(&setup);
}

static void what_was_listed_and_left_leaves_first(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){.cache_bytes = bytes_of_rows(3500)});
    add_rows(&setup, "a", 1000);
    add_rows(&setup, "p", 1000);
    add_rows(&setup, "q", 1000);
    add_rows(&setup, "r", 1000);
    assert_int_equal(list(&setup, ROWS_OF("a"), false), 1000);
    setup.process = GREP;
    assert_int_equal(list(&setup, ROWS_OF("p"), false), 1000);
    assert_int_equal(list(&setup, ROWS_OF("q"), false), 1000);
    assert_int_equal(list(&setup, ROWS_OF("r"), false), 1000);
    memory_store_forget_diary(setup.memory);
    assert_int_equal(list(&setup, ROWS_OF("a"), false), 1000);
    assert_int_equal(list(&setup, ROWS_OF("q"), false), 1000);
    assert_requests(&setup, "");
    assert_int_equal(list(&setup, ROWS_OF("p"), false), 1000);
    assert_requests(&setup, "rows [p/ p+) 1000");
    tear_down(&setup);
}

#define MANY 50000

/* Lists all, then opens all in key order. Opening a hundred files takes hundred_ms, listing them a
 * quarter of that. Answers the number of requests. */
static size_t list_then_find(size_t cache_bytes, int64_t hundred_ms)
{
    struct setup setup;
    set_up(&setup, (struct setup_options){.cache_bytes = cache_bytes});
    setup.process = GREP;
    add_rows(&setup, "p", MANY);
    assert_partition_found(&setup, "p", 0);
    struct listing *listing = open_listing(&setup, ROWS_OF("p"));
    struct listing_entry entry = {0};
    for (int row = 0; row < MANY; row++) {
        assert_int_equal(next_entry(&setup, listing, entry.cookie, true, &entry), 1);
        setup.now_ms += row % 400 == 0 ? hundred_ms : 0;
    }
    assert_end(&setup, listing, MANY);
    listing_close(listing);
    for (int row = 0; row < MANY; row++) {
        assert_row_found(&setup, "p", row);
        setup.now_ms += row % 100 == 0 ? hundred_ms : 0;
    }
    size_t requests = setup.memory->asked;
    tear_down(&setup);
    return requests;
}

static void list_first_and_open_later_costs_the_data_once(void **state)
{
    (void)state;
    size_t much = bytes_of_rows(MANY) / 3 * 4; /* it is not more than three quarters of that */
    assert_in_range(list_then_find(much, 0), 50, 57);
    assert_in_range(list_then_find(much, 40), 50, 57); /* 25 s in all */
}

/* At most 2.3 requests a thousand rows. */
static void list_first_and_open_later_costs_it_twice_where_it_does_not_fit(void **state)
{
    (void)state;
    size_t fifth = bytes_of_rows(MANY) / 5;
    assert_in_range(list_then_find(fifth, 0), 50, 115);
    assert_in_range(list_then_find(fifth, 40), 50, 115);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(account, each_question_counts_once),
        TEST_WITH(account, what_a_traversal_waits_for_is_a_miss),
        cmocka_unit_test(what_failed_is_a_miss),
        TEST_WITH(account, a_second_listing_costs_nothing),
        TEST_WITH(account, names_are_read_with_their_texts),
        TEST_WITH(account, two_listings_at_once_share_their_pages),
        TEST_WITH(account, a_listing_and_a_finder_share_their_pages),
        cmocka_unit_test(an_open_listing_sees_what_is_written_behind_its_cursor),
        cmocka_unit_test(with_ttl_0_others_ask_while_a_listing_is_open),
        cmocka_unit_test(a_long_listing_goes_on_with_names_alone),
        cmocka_unit_test(texts_are_read_again_when_they_are_wanted),
        cmocka_unit_test(numbers_ascend_along_a_listing),
        cmocka_unit_test(what_was_listed_and_left_leaves_first),
        cmocka_unit_test(list_first_and_open_later_costs_the_data_once),
        cmocka_unit_test(list_first_and_open_later_costs_it_twice_where_it_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
