/* SPDX-License-Identifier: MIT */
/* A listing by itself: pages, places, failures, and how long its entries hold. */
#include "tests/unit/cache/account_fixture.h"

static void rows_come_a_page_a_request_and_opening_is_free(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 2500);
    memory_store_add_strings(setup->memory, "p!", "not ours");
    _cleanup_(listing_closep) struct listing *listing = open_listing(setup, ROWS_OF("p"));
    assert_int_equal(setup->memory->asked, 0);
    uint64_t number = 0;
    for (uint64_t cookie = 0; cookie < 2500; cookie++) {
        struct listing_entry entry;
        assert_row(setup, listing, cookie);
        assert_int_equal(next_entry(setup, listing, cookie, false, &entry), 1); /* costs nothing */
        assert_true(entry.number > number);
        number = entry.number;
        assert_int_equal(setup->memory->asked, cookie / 1000 + 1);
    }
    assert_end(setup, listing, 2500);
    assert_false(setup->memory->diary[1].is_continued); /* no token is kept over a pause */
    assert_requests(setup, "rows [p/ p+) 1000, rows [p/00999+ p+) 1000, rows [p/01999+ p+) 1000");
}

/* Of a table of three partitions, or of all tables. */
static void assert_numbers(const struct directory *directory, int fanout, bool are_of_order)
{
    struct setup setup;
    struct listing_entry entry = {0};
    uint64_t number = UINT64_C(1) << 63;
    set_up(&setup, (struct setup_options){.fanout = fanout});
    memory_store_add_table(setup.memory, "t");
    for (char key[] = "a"; key[0] <= 'c'; key[0]++)
        add_rows(&setup, key, 2);
    struct listing *listing = open_listing(&setup, directory);
    while (next_entry(&setup, listing, entry.cookie, true, &entry) == 1) {
        assert_true(are_of_order ? entry.number > number : entry.number == 0);
        number = entry.number;
    }
    assert_int_equal(entry.cookie, are_of_order ? 3 : 1);
    listing_close(listing);
    tear_down(&setup);
}

static void numbers_of_partitions_say_their_order(void **state)
{
    (void)state;
    static const struct directory level = {
        .kind = DIRECTORY_AUTO, .table = "t", .range = {B(""), B(POSITION_END)}};
    assert_numbers(&level, 2, true); /* prefixes */
    assert_numbers(&level, 3, true);
    assert_numbers(PARTITIONS_OF("t"), 3, true);
    assert_numbers(TABLES, 3, false);
}

static void what_is_empty_is_known_to_be(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 3);
    assert_int_equal(list(setup, ROWS_OF("q"), false), 0);
    assert_int_equal(list(setup, ROWS_OF("q"), true), 0);
    assert_partition_found(setup, "q", -ENOENT);
    assert_requests(setup, "rows [q/ q+) 1000");
    assert_int_equal(list(setup, TABLES, true), 0);
    assert_int_equal(list(setup, TABLES, true), 0);
    assert_requests(setup, "tables"); /* that rows of t were read tells nothing of the others */
}

static void seeking_back_reads_from_a_bookmark(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){.cache_bytes = 1}); /* only what was put last */
    add_rows(&setup, "p", 5000);
    struct listing *listing = open_listing(&setup, ROWS_OF("p"));
    for (uint64_t cookie = 0; cookie < 5000; cookie += 250)
        assert_row(&setup, listing, cookie);
    memory_store_forget_diary(setup.memory);
    assert_row(&setup, listing, 2345);
    assert_row(&setup, listing, 2344);
    assert_requests(&setup, "rows [p/01999+ p+) 1000");
    for (uint64_t cookie = 2345; cookie < 5000; cookie++)
        assert_row(&setup, listing, cookie);
    assert_end(&setup, listing, 5000);
    assert_row(&setup, listing, 1);
    listing_close(listing);
    tear_down(&setup);
}

static void rewinding_asks_anew_after_a_ttl(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 3);
    _cleanup_(listing_closep) struct listing *listing = open_listing(setup, ROWS_OF("p"));
    assert_row(setup, listing, 0);
    assert_row(setup, listing, 1);
    assert_requests(setup, "rows [p/ p+) 1000");
    setup->now_ms += TTL_MS;
    assert_row(setup, listing, 0);
    assert_requests(setup, "");
    setup->now_ms += 1;
    assert_row(setup, listing, 1); /* goes on with what it has */
    assert_requests(setup, "");
    assert_row(setup, listing, 0);
    assert_requests(setup, "rows [p/ p+) 1000");
    setup->now_ms += KEPT_MS + 1; /* nothing is shown that is older than 30 s */
    assert_row(setup, listing, 1);
    assert_requests(setup, "rows [p/00000+ p+) 1000");
    assert_row(setup, listing, 2);
    assert_end(setup, listing, 3);
    assert_requests(setup, "");
}

/* The first row is deleted meanwhile: what stood after a cookie is known no more. */
static void rewinding_forgets_the_bookmarks(void **state)
{
    (void)state;
    struct setup setup;
    struct listing_entry entry;
    set_up(&setup, (struct setup_options){.cache_bytes = 1});
    add_rows(&setup, "p", 2500);
    struct listing *listing = open_listing(&setup, ROWS_OF("p"));
    assert_row(&setup, listing, 0);
    assert_row(&setup, listing, 2400);
    another_client_writes(&setup, WRITE_DELETE, P_ROW("00000"), "");
    setup.now_ms += TTL_MS + 1;
    assert_int_equal(next_entry(&setup, listing, 0, false, &entry), 1);
    assert_bytes(entry.key, B("00001"));
    assert_int_equal(next_entry(&setup, listing, 2400, false, &entry), 1);
    assert_bytes(entry.key, B("02401"));
    assert_int_equal(next_entry(&setup, listing, 1100, false, &entry), 1);
    assert_bytes(entry.key, B("01101"));
    listing_close(listing);
    tear_down(&setup);
}

static void short_and_empty_pages_change_nothing(void **state)
{
    (void)state;
    static const char *const faults[] = {"short=1", "short=7", "empty=1", "empty=9",
                                         "short=3,empty=2"};
    for (size_t f = 0; f < ARRAY_SIZE(faults); f++) {
        struct setup setup;
        set_up(&setup, (struct setup_options){.faults = faults[f]});
        add_rows(&setup, "p", 20);
        struct listing *listing = open_listing(&setup, ROWS_OF("p"));
        for (uint64_t cookie = 0; cookie < 20; cookie++)
            assert_row(&setup, listing, cookie);
        assert_end(&setup, listing, 20);
        listing_close(listing);
        tear_down(&setup);
    }
}

static void a_failure_is_no_end_and_can_be_repeated(void **state)
{
    (void)state;
    struct setup setup;
    struct listing_entry entry;
    set_up(&setup, (struct setup_options){.faults = "short=10,"
                                                    "fail=query:2:403:AuthorizationFailure"});
    add_rows(&setup, "p", 30);
    struct listing *listing = open_listing(&setup, ROWS_OF("p"));
    for (uint64_t cookie = 0; cookie < 10; cookie++)
        assert_row(&setup, listing, cookie);
    assert_int_equal(next_entry(&setup, listing, 10, false, &entry), -EACCES);
    assert_string_equal(setup.caller.call.failure.code, "AuthorizationFailure");
    for (uint64_t cookie = 10; cookie < 30; cookie++) /* asked again at once */
        assert_row(&setup, listing, cookie);
    assert_end(&setup, listing, 30);
    assert_requests(&setup, "rows [p/ p+) 10, rows [p/00009+ p+) 10, rows [p/00019+ p+) 10");
    listing_close(listing);
    tear_down(&setup);
}

/* Never ENOENT, which readers take for the end: the table is dropped half-way, and comes back. */
static void a_directory_that_vanishes_is_stale(void **state)
{
    (void)state;
    struct setup setup;
    struct listing_entry entry;
    set_up(&setup, (struct setup_options){.faults = "short=10,fail=query:2:404:TableNotFound,"
                                                    "fail=query:3:404:TableNotFound,"
                                                    "fail=query:5:404:TableNotFound"});
    add_rows(&setup, "p", 30);
    struct listing *listing = open_listing(&setup, ROWS_OF("p"));
    for (uint64_t cookie = 0; cookie < 10; cookie++)
        assert_row(&setup, listing, cookie);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(next_entry(&setup, listing, 10, false, &entry), -ESTALE);
        assert_string_equal(setup.caller.call.failure.code, "TableNotFound");
        assert_table_found(&setup, "t", -ENOENT);
    }
    assert_row(&setup, listing, 10);
    assert_table_found(&setup, "t", 0);
    listing_close(listing);
    listing = open_listing(&setup, PARTITIONS_OF("t")); /* at its first entry, too */
    assert_int_equal(next_entry(&setup, listing, 0, true, &entry), -ESTALE);
    assert_int_equal(next_entry(&setup, listing, 0, true, &entry), 1);
    listing_close(listing);
    tear_down(&setup);
}

#define LARGE_ROW_BYTES ((size_t)1 << 20)

static int refuse_large_pages(struct memory_store *self, size_t number, struct call *call)
{
    return self->diary[number - 1].top > 31 ? call_fail(call, -EFBIG, "too large") : 0;
}

static void pages_that_are_too_large_are_asked_for_in_pieces(void **state)
{
    struct setup *setup = *state;
    _cleanup_(freep) char *large = calloc(1, LARGE_ROW_BYTES + 1);
    memset(large, 'e', LARGE_ROW_BYTES);
    add_rows_with(setup, "p", 40, large);
    setup->memory->fault = refuse_large_pages;
    _cleanup_(listing_closep) struct listing *listing = open_listing(setup, ROWS_OF("p"));
    for (uint64_t cookie = 0; cookie < 40; cookie++)
        assert_row(setup, listing, cookie);
    assert_end(setup, listing, 40);
    assert_requests(setup, "rows [p/ p+) 1000, rows [p/ p+) 125, rows [p/ p+) 15, "
                           "rows [p/00014+ p+) 31"); /* as many as fit in 32 MiB */
}

static void empty_pages_take_their_time(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){.faults = "latency=5000,empty=9"});
    add_rows(&setup, "p", 3);
    struct listing *listing = open_listing(&setup, ROWS_OF("p"));
    assert_row(&setup, listing, 0);
    assert_int_equal(setup.now_ms, START_MS + 50000);
    assert_int_equal(setup.caller.valid_ms, TTL_MS / 2);
    listing_close(listing);
    tear_down(&setup);
}

static void what_a_slow_service_answers_holds_for_half_a_ttl(void **state)
{
    (void)state;
    static const struct {
        const char *faults;
        int64_t expected;
    } cases[] = {{"latency=400", 600}, {"latency=600", 500}, {"latency=5000", 500}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setup setup;
        set_up(&setup, (struct setup_options){.faults = cases[i].faults});
        add_rows(&setup, "p", 3);
        add_rows(&setup, "q", 3);
        struct listing *listing = open_listing(&setup, ROWS_OF("p"));
        assert_row(&setup, listing, 0);
        assert_int_equal(setup.caller.valid_ms, cases[i].expected);
        setup.now_ms += 300;
        assert_row(&setup, listing, 1);
        assert_int_equal(setup.caller.valid_ms, cases[i].expected - 300);
        assert_row_found(&setup, "p", 1);
        assert_int_equal(setup.caller.valid_ms, cases[i].expected - 300);
        assert_found(&setup, P_ROW("x"), NULL);
        assert_int_equal(setup.caller.valid_ms, cases[i].expected - 300);
        assert_row_found(&setup, "q", 1); /* not known from the listing */
        assert_int_equal(setup.caller.valid_ms, cases[i].expected);
        assert_found(&setup, P_ROW("x"), NULL);
        assert_partition_found(&setup, "r", -ENOENT);
        assert_int_equal(setup.caller.valid_ms, cases[i].expected);
        assert_table_found(&setup, "u", -ENOENT);
        assert_int_equal(setup.caller.valid_ms, 0);
        listing_close(listing);
        tear_down(&setup);
    }
}

static void entries_hold_as_long_as_their_page_is_young(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){.faults = "latency=300"});
    add_rows(&setup, "p", 3);
    struct listing *listing = open_listing(&setup, ROWS_OF("p"));
    assert_row(&setup, listing, 0);
    assert_int_equal(setup.caller.valid_ms, 700);
    setup.now_ms += 500;
    assert_row(&setup, listing, 1);
    assert_int_equal(setup.caller.valid_ms, 200);
    assert_int_equal(setup.shown_ms, 200);
    setup.now_ms += 500;
    assert_row(&setup, listing, 2);
    assert_int_equal(setup.caller.valid_ms, 0);
    assert_int_equal(setup.shown_ms, FRESHNESS_REPEAT_MS); /* tools come there at once */
    listing_close(listing);
    tear_down(&setup);
}

static void what_was_told_younger_is_not_held_older(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 3);
    _cleanup_(listing_closep) struct listing *listing = open_listing(setup, ROWS_OF("p"));
    assert_row(setup, listing, 0);
    setup->now_ms += TTL_MS;
    assert_row_found(setup, "p", 2);
    assert_int_equal(setup->caller.valid_ms, 0);
    setup->now_ms += 1;
    assert_row_found(setup, "p", 2);
    assert_int_equal(setup->caller.valid_ms, TTL_MS);
    assert_row(setup, listing, 1);
    assert_int_equal(setup->shown_ms, FRESHNESS_REPEAT_MS);
    assert_row(setup, listing, 2); /* the listing's own text, which is old */
    assert_int_equal(setup->shown_ms, 0);
}

static void names_of_long_ago_do_not_hold(void **state)
{
    struct setup *setup = *state;
    static const struct directory level = {
        .kind = DIRECTORY_AUTO, .table = "t", .range = {B(""), B(POSITION_END)}};
    add_rows(setup, "p", 1);
    add_rows(setup, "q", 1);
    add_rows(setup, "r", 1);
    _cleanup_(listing_closep) struct listing *listing = open_listing(setup, &level);
    static const int64_t later_ms[] = {0, TTL_MS, KEPT_MS - TTL_MS + 1};
    static const int64_t expected_ms[] = {TTL_MS, FRESHNESS_REPEAT_MS, 0};
    for (uint64_t i = 0; i < ARRAY_SIZE(later_ms); i++) {
        struct listing_entry entry;
        setup->now_ms += later_ms[i];
        assert_int_equal(next_entry(setup, listing, i, false, &entry), 1);
        assert_int_equal(entry.valid_ms, expected_ms[i]);
    }
}

static void assert_names(struct setup *setup, struct listing *listing, const char *const *names,
                         size_t n)
{
    struct listing_entry entry = {0};
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(next_entry(setup, listing, i, false, &entry), 1);
        assert_bytes(entry.key, bytes_of(names[i]));
        assert_null(entry.entity.page);
    }
    assert_end(setup, listing, n);
}

static void partitions_and_tables_are_listed_and_sought(void **state)
{
    (void)state;
    static const char *const partitions[] = {"", "a", "b", "c", "d"};
    static const char *const tables[] = {"one", "three", "two"};
    static const char *const faults[] = {"", "short=1", "empty=2"};
    for (size_t f = 0; f < ARRAY_SIZE(faults); f++) {
        struct setup setup;
        struct listing_entry entry;
        set_up(&setup, (struct setup_options){.faults = faults[f]});
        setup.memory->max_rows = 2; /* of table names too */
        for (size_t i = 0; i < ARRAY_SIZE(partitions); i++)
            add_rows(&setup, partitions[i], 5);
        for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
            memory_store_add_table(setup.memory, tables[i]);
        struct listing *listing = open_listing(&setup, PARTITIONS_OF("t"));
        assert_names(&setup, listing, partitions, ARRAY_SIZE(partitions));
        assert_names(&setup, listing, partitions, ARRAY_SIZE(partitions)); /* rewound */
        listing_close(listing);
        listing = open_listing(&setup, TABLES);
        assert_names(&setup, listing, tables, ARRAY_SIZE(tables));
        assert_int_equal(next_entry(&setup, listing, 1, false, &entry), 1);
        assert_bytes(entry.key, B("three"));
        listing_close(listing);
        tear_down(&setup);
    }
}

/* Of a page in a huge partition one key is used: so few are asked for, until there are more. */
static void huge_partitions_are_jumped_over(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "a", 3000);
    add_rows(setup, "b", 3000);
    add_rows(setup, "c", 3000);
    for (int i = 0; i < 900; i++) {
        char key[8];
        (void)snprintf(key, sizeof(key), "d%03d", i);
        add_rows(setup, key, 1);
    }
    assert_int_equal(list(setup, PARTITIONS_OF("t"), true), 903);
    assert_requests(setup, "rows [ ~) 1000, keys [a+ ~) 16, keys [b+ ~) 16, keys [c+ ~) 16, "
                           "keys [d015+ ~) 64, keys [d079+ ~) 256, rows [d335+ ~) 1000");
}

/* 59 characters that have 4 bytes in UTF-8, and 6 in CESU-8; then the rest. */
static void append_prefix(struct buffer *ret, const char *rest)
{
    for (int i = 0; i < 59; i++)
        (void)buffer_append(ret, B("\xED\xA0\xBD\xED\xB8\x80"));
    assert_int_equal(buffer_append_string(ret, rest), 0);
}

/* Three partitions, which are more than the fanout. */
static void add_ends(struct setup *setup, struct bytes prefix)
{
    static const char *const ends[] = {"1a", "1b", "2"};
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        _cleanup_(buffer_finish) struct buffer key = {.max = 1000};
        (void)buffer_append(&key, prefix);
        assert_int_equal(buffer_append_string(&key, ends[i]), 0);
        memory_store_add(setup->memory, buffer_bytes(&key), B("r"), "etag");
    }
}

/* What the directory of this prefix shows, without it. */
static void assert_long_prefix(const char *rest, const char *expected)
{
    struct setup setup;
    struct listing_entry entry;
    _cleanup_(buffer_finish) struct buffer lo = {.max = 1000}, hi = {.max = 1000},
                                           line = {.max = 1000};
    append_prefix(&lo, rest);
    assert_int_equal(prefix_append_successor(&hi, buffer_bytes(&lo), B("")), 0);
    struct directory directory = {
        .kind = DIRECTORY_AUTO, .table = "t", .range = {buffer_bytes(&lo), buffer_bytes(&hi)}};
    set_up(&setup, (struct setup_options){.fanout = 2});
    add_ends(&setup, buffer_bytes(&lo));
    struct listing *listing = open_listing(&setup, &directory);
    for (uint64_t i = 0; next_entry(&setup, listing, i, true, &entry) == 1; i++) {
        assert_true(bytes_start_with(entry.key, buffer_bytes(&lo)));
        (void)buffer_append(&line, bytes_skip(entry.key, lo.size));
        (void)buffer_append_string(&line, entry.kind == LISTING_PREFIX ? "+ " : " ");
    }
    assert_string_equal(buffer_string(&line), expected);
    listing_close(listing);
    tear_down(&setup);
}

static void the_longest_prefix_is_measured_in_utf8(void **state)
{
    (void)state;
    assert_long_prefix("", "1+ 2 ");
    assert_long_prefix("xyz", "1+ 2 ");     /* of 240 bytes the child */
    assert_long_prefix("wxyz", "1a 1b 2 "); /* which would have 241 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(account, rows_come_a_page_a_request_and_opening_is_free),
        cmocka_unit_test(numbers_of_partitions_say_their_order),
        TEST_WITH(account, what_is_empty_is_known_to_be),
        cmocka_unit_test(seeking_back_reads_from_a_bookmark),
        TEST_WITH(account, rewinding_asks_anew_after_a_ttl),
        cmocka_unit_test(rewinding_forgets_the_bookmarks),
        cmocka_unit_test(short_and_empty_pages_change_nothing),
        cmocka_unit_test(a_failure_is_no_end_and_can_be_repeated),
        cmocka_unit_test(a_directory_that_vanishes_is_stale),
        TEST_WITH(account, pages_that_are_too_large_are_asked_for_in_pieces),
        cmocka_unit_test(empty_pages_take_their_time),
        cmocka_unit_test(what_a_slow_service_answers_holds_for_half_a_ttl),
        cmocka_unit_test(entries_hold_as_long_as_their_page_is_young),
        TEST_WITH(account, what_was_told_younger_is_not_held_older),
        TEST_WITH(account, names_of_long_ago_do_not_hold),
        cmocka_unit_test(partitions_and_tables_are_listed_and_sought),
        TEST_WITH(account, huge_partitions_are_jumped_over),
        cmocka_unit_test(the_longest_prefix_is_measured_in_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
