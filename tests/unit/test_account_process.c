/* What is answered depends on who asks: what a process listed serves it for longer than others, and
 * who opens in key order is read ahead for. */
#include "tests/unit/account_fixture.h"

enum { GREP = 7, OTHER };

static void set_up_listed(struct setup *setup, struct setup_options options)
{
    set_up(setup, options);
    setup->process = GREP;
    memory_store_add_table(setup->memory, "t");
    add_rows(setup, "p", 20);
    assert_int_equal(list(setup, ROWS_OF("p"), false), 20);
    assert_requests(setup, "rows [p/ p+) 1000");
}

static void who_listed_is_served_what_that_brought(void **state)
{
    (void)state;
    struct setup setup;
    set_up_listed(&setup, (struct setup_options){0});
    setup.now_ms += TTL_MS + 1;
    assert_row_found(&setup, "p", 1);
    assert_int_equal(setup.caller.valid_ms, 0);
    assert_found(&setup, P_ROW("x"), NULL);
    assert_int_equal(setup.caller.valid_ms, 0);
    assert_partition_found(&setup, "p", 0); /* it asks for all on a path with each file */
    assert_int_equal(setup.caller.valid_ms, PROCESS_HISTORY_REPEAT_MS);
    assert_table_found(&setup, "t", 0);
    assert_int_equal(setup.caller.valid_ms, PROCESS_HISTORY_REPEAT_MS);
    assert_requests(&setup, "");
    setup.process = OTHER;
    assert_row_found(&setup, "p", 1);
    assert_int_equal(setup.caller.valid_ms, TTL_MS);
    assert_found(&setup, P_ROW("x"), NULL);
    assert_requests(&setup, "get p/00001, get p/x"); /* these showed the table */
    assert_partition_found(&setup, "p", 0);
    assert_requests(&setup, "rows [p/ p+) 32");
    setup.process = GREP;
    assert_row_found(&setup, "p", 2);
    setup.process = NOBODY;
    setup.now_ms += TTL_MS + 1;
    assert_row_found(&setup, "p", 3);
    assert_table_found(&setup, "t", 0);
    assert_requests(&setup, "get p/00003");
    tear_down(&setup);
}

static void what_is_young_holds_no_longer_for_it(void **state)
{
    (void)state;
    struct setup setup;
    set_up_listed(&setup, (struct setup_options){0});
    setup.now_ms += TTL_MS / 2;
    assert_row_found(&setup, "p", 1);
    assert_int_equal(setup.caller.valid_ms, TTL_MS / 2);
    assert_partition_found(&setup, "p", 0);
    assert_int_equal(setup.caller.valid_ms, TTL_MS / 2);
    assert_table_found(&setup, "t", 0);
    assert_int_equal(setup.caller.valid_ms, TTL_MS / 2);
    tear_down(&setup);
}

static void it_is_served_until_30_s_after_it_last_read_there(void **state)
{
    (void)state;
    struct setup setup;
    set_up_listed(&setup, (struct setup_options){0});
    setup.now_ms += KEPT_MS - 1;
    assert_row_found(&setup, "p", 1);
    assert_requests(&setup, "");
    setup.now_ms += 1;
    assert_row_found(&setup, "p", 2);
    assert_requests(&setup, "get p/00002");
    tear_down(&setup);
}

static void what_serves_it_is_never_older_than_30_s(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){0});
    setup.process = GREP;
    add_rows(&setup, "p", 20);
    struct listing *listing = open_listing(&setup, ROWS_OF("p"));
    assert_row(&setup, listing, 0);
    setup.now_ms += KEPT_MS - 1000;
    assert_row(&setup, listing, 1); /* still reads there */
    assert_requests(&setup, "rows [p/ p+) 1000");
    setup.now_ms += 1000;
    assert_row_found(&setup, "p", 1);
    assert_row(&setup, listing, 2);
    assert_requests(&setup, "");
    setup.now_ms += 1;
    assert_row_found(&setup, "p", 2);
    assert_requests(&setup, "get p/00002");
    assert_row(&setup, listing, 3);
    assert_requests(&setup, "rows [p/00002+ p+) 1000");
    assert_row_found(&setup, "p", 4); /* what the listing brought again serves again */
    setup.now_ms += KEPT_MS - 2;      /* that it reads there is told once a second */
    assert_row_found(&setup, "p", 5);
    assert_requests(&setup, "");
    listing_close(listing);
    tear_down(&setup);
}

static void a_name_asked_for_again_and_again_is_asked_for(void **state)
{
    (void)state;
    struct setup setup;
    set_up_listed(&setup, (struct setup_options){0});
    setup.now_ms += TTL_MS + 1;
    assert_row_found(&setup, "p", 1);
    setup.now_ms += PROCESS_HISTORY_REPEAT_MS - 1;
    assert_row_found(&setup, "p", 1);
    assert_requests(&setup, "");
    setup.now_ms += 1;
    assert_row_found(&setup, "p", 1);
    assert_int_equal(setup.caller.valid_ms, TTL_MS);
    assert_requests(&setup, "get p/00001");
    setup.now_ms += TTL_MS;
    assert_row_found(&setup, "p", 1);
    assert_requests(&setup, "");
    setup.now_ms += 1;
    assert_row_found(&setup, "p", 1); /* a shell in a loop sees it change */
    assert_requests(&setup, "get p/00001");
    assert_row_found(&setup, "p", 2); /* another name is none of that, and does not end it */
    setup.now_ms += TTL_MS + 1;
    assert_row_found(&setup, "p", 1);
    assert_requests(&setup, "get p/00001");
    tear_down(&setup);
}

static void what_leads_to_a_name_is_part_of_asking_for_it(void **state)
{
    (void)state;
    struct setup setup;
    set_up_listed(&setup, (struct setup_options){0});
    for (int round = 0; round < 3; round++) {
        setup.now_ms += TTL_MS + 1;
        assert_table_found(&setup, "t", 0);
        assert_partition_found(&setup, "p", 0);
        assert_row_found(&setup, "p", 1);
        assert_requests(&setup, round == 0 ? "" : "get p/00001");
    }
    tear_down(&setup);
}

static void with_ttl_0_its_own_listing_serves_a_process(void **state)
{
    (void)state;
    struct setup setup;
    set_up_listed(&setup, (struct setup_options){.is_ttl_0 = true});
    setup.now_ms += 1;
    for (int row = 0; row < 20; row++)
        assert_row_found(&setup, "p", row);
    assert_int_equal(setup.caller.valid_ms, 0);
    assert_found(&setup, P_ROW("x"), NULL);
    assert_partition_found(&setup, "p", 0);
    assert_int_equal(setup.caller.valid_ms, 0);
    assert_table_found(&setup, "t", 0);
    assert_int_equal(setup.caller.valid_ms, 0);
    assert_requests(&setup, "");
    setup.process = OTHER;
    assert_row_found(&setup, "p", 1);
    assert_row_found(&setup, "p", 1);
    assert_requests(&setup, "get p/00001, get p/00001");
    setup.process = GREP;
    assert_int_equal(list(&setup, ROWS_OF("p"), false), 20); /* a new one asks */
    assert_requests(&setup, "rows [p/ p+) 1000");
    setup.process = NOBODY;
    assert_int_equal(list(&setup, ROWS_OF("p"), false), 20);
    assert_row_found(&setup, "p", 1);
    assert_requests(&setup, "rows [p/ p+) 1000, get p/00001");
    tear_down(&setup);
}

/* What it rewound is a new listing at once, of which it has read one page. */
static void what_was_rewound_serves_no_more(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){.is_ttl_0 = true});
    setup.process = GREP;
    add_rows(&setup, "p", 1500);
    struct listing *listing = open_listing(&setup, ROWS_OF("p"));
    assert_row(&setup, listing, 0);
    assert_row(&setup, listing, 1400);
    assert_requests(&setup, "rows [p/ p+) 1000, rows [p/00999+ p+) 1000");
    setup.now_ms += 10;
    assert_row_found(&setup, "p", 1401);
    assert_requests(&setup, "");
    assert_row(&setup, listing, 0);
    assert_requests(&setup, "rows [p/ p+) 1000");
    setup.now_ms += 10;
    assert_row_found(&setup, "p", 2);
    assert_requests(&setup, "");
    assert_row_found(&setup, "p", 1402);
    assert_requests(&setup, "get p/01402");
    listing_close(listing);
    tear_down(&setup);
}

/* A text that was read before is not shown because its name was listed since. */
static void what_was_read_before_its_listing_is_never_older_than_a_ttl(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){0});
    add_rows(&setup, "o", 2000); /* so huge that keys alone are listed behind it */
    add_rows(&setup, "p", 3);
    assert_row_found(&setup, "p", 0);
    setup.now_ms += 1;
    assert_row_found(&setup, "p", 1);
    assert_requests(&setup, "get p/00000, get p/00001");
    setup.now_ms += TTL_MS;
    setup.process = GREP;
    assert_int_equal(list(&setup, PARTITIONS_OF("t"), true), 2);
    assert_requests(&setup, "rows [ ~) 1000, keys [o+ ~) 16");
    setup.now_ms += TTL_MS;
    assert_row_found(&setup, "p", 1); /* when the listing began it was a ttl old */
    assert_requests(&setup, "");
    assert_row_found(&setup, "p", 0);
    assert_requests(&setup, "get p/00000");
    tear_down(&setup);
}

static void what_holds_the_place_was_listed(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){0});
    setup.process = GREP;
    memory_store_add_table(setup.memory, "t");
    add_rows(&setup, "a", 3);
    add_rows(&setup, "p", 3);
    assert_int_equal(list(&setup, TABLES, true), 1);
    assert_int_equal(list(&setup, PARTITIONS_OF("t"), true), 2);
    assert_requests(&setup, "tables, rows [ ~) 1000");
    setup.now_ms += KEPT_MS - 1;
    assert_table_found(&setup, "t", 0);
    assert_table_found(&setup, "u", -ENOENT);
    assert_partition_found(&setup, "a", 0);
    assert_partition_found(&setup, "b", -ENOENT);
    assert_found(&setup, P_ROW("x"), NULL);
    assert_requests(&setup, "");
    setup.process = OTHER;
    assert_table_found(&setup, "t", 0);
    assert_partition_found(&setup, "b", -ENOENT);
    assert_requests(&setup, "tables, rows [b/ b+) 32");
    tear_down(&setup);
}

static void opens_in_order_ask_for_more_and_more(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){0});
    setup.process = GREP;
    add_rows(&setup, "p", 5000);
    add_rows(&setup, "q", 3);
    for (int row = 0; row < 5000; row++)
        assert_row_found(&setup, "p", row);
    assert_found(&setup, P_ROW("z"), NULL); /* its end is known too */
    assert_requests(&setup, "get p/00000, get p/00001, rows [p/00002 p+) 4, rows [p/00006 p+) 12, "
                            "rows [p/00018 p+) 36, rows [p/00054 p+) 108, rows [p/00162 p+) 324, "
                            "rows [p/00486 p+) 972, rows [p/01458 p+) 1000, "
                            "rows [p/02458 p+) 1000, rows [p/03458 p+) 1000, "
                            "rows [p/04458 p+) 1000");
    assert_row_found(&setup, "q", 0); /* never read ahead into */
    assert_row_found(&setup, "q", 1);
    assert_row_found(&setup, "q", 2);
    assert_requests(&setup, "get q/00000, get q/00001, rows [q/00002 q+) 4");
    tear_down(&setup);
}

static void nobody_is_read_ahead_for(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){0});
    add_rows(&setup, "p", 6);
    for (int row = 0; row < 6; row++)
        assert_row_found(&setup, "p", row);
    assert_requests(&setup, "get p/00000, get p/00001, get p/00002, get p/00003, get p/00004, "
                            "get p/00005");
    tear_down(&setup);
}

static void random_opens_ask_for_one_row_each(void **state)
{
    (void)state;
    static const int rows[] = {900, 17, 1400, 3, 5, 4, 6, 2, 1999, 0};
    struct setup setup;
    set_up(&setup, (struct setup_options){0});
    setup.process = GREP;
    add_rows(&setup, "p", 2000);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_row_found(&setup, "p", rows[i]);
    assert_requests(&setup, "get p/00900, get p/00017, get p/01400, get p/00003, get p/00005, "
                            "get p/00004, get p/00006, get p/00002, get p/01999, get p/00000");
    tear_down(&setup);
}

static void who_opens_what_is_known_in_order_is_read_ahead_for_behind_it(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){0});
    setup.process = GREP;
    add_rows(&setup, "p", 1000);
    assert_partition_found(&setup, "p", 0);
    for (int row = 0; row < 1000; row++)
        assert_row_found(&setup, "p", row);
    assert_requests(&setup, "rows [p/ p+) 32, rows [p/00032 p+) 64, rows [p/00096 p+) 192, "
                            "rows [p/00288 p+) 576, rows [p/00864 p+) 1000");
    tear_down(&setup);
}

/* Rows of 100 KB: an eighth of the cache holds ten. */
static void large_entities_limit_reading_ahead(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){.cache_bytes = (size_t)8200 << 10});
    setup.process = GREP;
    _cleanup_(freep) char *etag = calloc(1, (100 << 10) + 1);
    memset(etag, 'e', 100 << 10);
    add_rows_with(&setup, "p", 40, etag);
    for (int row = 0; row < 40; row++)
        assert_row_found(&setup, "p", row);
    assert_requests(&setup, "get p/00000, get p/00001, rows [p/00002 p+) 4, rows [p/00006 p+) 10, "
                            "rows [p/00016 p+) 10, rows [p/00026 p+) 10, rows [p/00036 p+) 10");
    tear_down(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_listed_is_served_what_that_brought),
        cmocka_unit_test(what_is_young_holds_no_longer_for_it),
        cmocka_unit_test(it_is_served_until_30_s_after_it_last_read_there),
        cmocka_unit_test(what_serves_it_is_never_older_than_30_s),
        cmocka_unit_test(a_name_asked_for_again_and_again_is_asked_for),
        cmocka_unit_test(what_leads_to_a_name_is_part_of_asking_for_it),
        cmocka_unit_test(with_ttl_0_its_own_listing_serves_a_process),
        cmocka_unit_test(what_was_rewound_serves_no_more),
        cmocka_unit_test(what_was_read_before_its_listing_is_never_older_than_a_ttl),
        cmocka_unit_test(what_holds_the_place_was_listed),
        cmocka_unit_test(opens_in_order_ask_for_more_and_more),
        cmocka_unit_test(nobody_is_read_ahead_for),
        cmocka_unit_test(random_opens_ask_for_one_row_each),
        cmocka_unit_test(who_opens_what_is_known_in_order_is_read_ahead_for_behind_it),
        cmocka_unit_test(large_entities_limit_reading_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
