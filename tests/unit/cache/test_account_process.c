/* SPDX-License-Identifier: MIT */
/* What an answer depends on beside its age: the process that asks. What a process listed serves it
 * longer than other processes. And what is opened by name costs one request a miss. */
#include "tests/unit/cache/account_fixture.h"

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

DEFINE_FIXTURE(listed, struct setup, set_up_listed(test, (struct setup_options){0}),
               tear_down(test))

static void what_a_process_listed_serves_it(void **state)
{
    struct setup *setup = *state;
    setup->now_ms += TTL_MS + 1;
    assert_row_found(setup, "p", 1);
    assert_int_equal(setup->caller.valid_ms, 0);
    assert_found(setup, P_ROW("x"), NULL);
    assert_int_equal(setup->caller.valid_ms, 0);
    assert_partition_found(setup, "p", 0); /* it asks for all on a path with each file */
    assert_int_equal(setup->caller.valid_ms, FRESHNESS_REPEAT_MS);
    assert_table_found(setup, "t", 0);
    assert_int_equal(setup->caller.valid_ms, FRESHNESS_REPEAT_MS);
    assert_requests(setup, "");
    setup->process = OTHER;
    assert_row_found(setup, "p", 1);
    assert_int_equal(setup->caller.valid_ms, TTL_MS);
    assert_found(setup, P_ROW("x"), NULL);
    assert_requests_at(setup, "p/, p/x"); /* the first brought the partition, too */
    assert_partition_found(setup, "p", 0);
    assert_requests(setup, "");
    setup->process = GREP;
    assert_row_found(setup, "p", 2);
    setup->process = NO_PROCESS;
    setup->now_ms += TTL_MS + 1;
    assert_row_found(setup, "p", 3);
    assert_table_found(setup, "t", 0);
    assert_requests_at(setup, "p/00003");
}

static void what_is_young_holds_no_longer_for_it(void **state)
{
    struct setup *setup = *state;
    setup->now_ms += TTL_MS / 2;
    assert_row_found(setup, "p", 1);
    assert_int_equal(setup->caller.valid_ms, TTL_MS / 2);
    assert_partition_found(setup, "p", 0);
    assert_int_equal(setup->caller.valid_ms, TTL_MS / 2);
    assert_table_found(setup, "t", 0);
    assert_int_equal(setup->caller.valid_ms, TTL_MS / 2);
}

static void it_is_served_until_30_s_after_it_last_read_there(void **state)
{
    struct setup *setup = *state;
    setup->now_ms += KEPT_MS - 1;
    assert_row_found(setup, "p", 1);
    assert_requests(setup, "");
    setup->now_ms += 1;
    assert_row_found(setup, "p", 2);
    assert_requests_at(setup, "p/00002");
}

static void what_serves_it_is_never_older_than_30_s(void **state)
{
    struct setup *setup = *state;
    setup->process = GREP;
    add_rows(setup, "p", 20);
    _cleanup_(listing_closep) struct listing *listing = open_listing(setup, ROWS_OF("p"));
    assert_row(setup, listing, 0);
    setup->now_ms += KEPT_MS - 1000;
    assert_row(setup, listing, 1); /* still reads there */
    assert_requests(setup, "rows [p/ p+) 1000");
    setup->now_ms += 1000;
    assert_row_found(setup, "p", 1);
    assert_row(setup, listing, 2);
    assert_requests(setup, "");
    setup->now_ms += 1;
    assert_row_found(setup, "p", 2);
    assert_requests_at(setup, "p/00002");
    assert_row(setup, listing, 12); /* behind what was read ahead */
    assert_request_count(setup, 1);
    assert_row_found(setup, "p", 14); /* what the listing brought again serves again */
    setup->now_ms += KEPT_MS - 2;     /* that it reads there is noted once a second */
    assert_row_found(setup, "p", 15);
    assert_requests(setup, "");
}

static void a_name_asked_for_again_and_again_is_asked_for(void **state)
{
    struct setup *setup = *state;
    setup->now_ms += TTL_MS + 1;
    assert_row_found(setup, "p", 1);
    setup->now_ms += FRESHNESS_REPEAT_MS - 1;
    assert_row_found(setup, "p", 1);
    assert_requests(setup, "");
    setup->now_ms += 1;
    assert_row_found(setup, "p", 1);
    assert_int_equal(setup->caller.valid_ms, TTL_MS);
    assert_requests_at(setup, "p/");
    setup->now_ms += TTL_MS;
    assert_row_found(setup, "p", 1);
    assert_requests(setup, "");
    setup->now_ms += 1;
    assert_row_found(setup, "p", 1); /* a shell in a loop sees it change */
    assert_requests_at(setup, "p/");
    assert_row_found(setup, "p", 2); /* another name is none of that, and does not end it */
    setup->now_ms += TTL_MS + 1;
    assert_row_found(setup, "p", 1);
    assert_requests_at(setup, "p/");
}

static void what_leads_to_a_name_is_part_of_asking_for_it(void **state)
{
    struct setup *setup = *state;
    for (int round = 0; round < 3; round++) {
        setup->now_ms += TTL_MS + 1;
        assert_table_found(setup, "t", 0);
        assert_partition_found(setup, "p", 0);
        assert_row_found(setup, "p", 1);
        assert_requests_at(setup, round == 0 ? "" : "p/");
    }
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
    setup.process = NO_PROCESS;
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
    struct setup *setup = *state;
    add_rows(setup, "o", 2000); /* so huge that keys alone are listed after it */
    add_rows(setup, "p", 3);
    add_rows(setup, "q", 3);
    assert_row_found(setup, "p", 0);
    setup->now_ms += 1;
    assert_row_found(setup, "q", 0);
    assert_requests_at(setup, "p/00000, q/00000");
    setup->now_ms += TTL_MS;
    setup->process = GREP;
    assert_int_equal(list(setup, PARTITIONS_OF("t"), true), 3);
    assert_requests(setup, "rows [ ~) 1000, keys [o+ ~) 16");
    setup->now_ms += TTL_MS;
    assert_row_found(setup, "q", 0); /* when the listing began it was a ttl old */
    assert_requests(setup, "");
    assert_row_found(setup, "p", 0);
    assert_request_count(setup, 1);
}

static void what_holds_the_place_was_listed(void **state)
{
    struct setup *setup = *state;
    setup->process = GREP;
    memory_store_add_table(setup->memory, "t");
    add_rows(setup, "a", 3);
    add_rows(setup, "p", 3);
    assert_int_equal(list(setup, TABLES, true), 1);
    assert_int_equal(list(setup, PARTITIONS_OF("t"), true), 2);
    assert_requests(setup, "tables, rows [ ~) 1000");
    setup->now_ms += KEPT_MS - 1;
    assert_table_found(setup, "t", 0);
    assert_table_found(setup, "u", -ENOENT);
    assert_partition_found(setup, "a", 0);
    assert_partition_found(setup, "b", -ENOENT);
    assert_found(setup, P_ROW("x"), NULL);
    assert_requests(setup, "");
    setup->process = OTHER;
    assert_table_found(setup, "t", 0);
    assert_partition_found(setup, "b", -ENOENT);
    assert_requests_at(setup, "tables, b/");
}

/* The rows that were requested since the last assertion. */
static size_t requested_rows(const struct setup *setup)
{
    size_t rows = 0;
    assert_true(setup->memory->asked <= MEMORY_STORE_DIARY);
    for (size_t i = 0; i < setup->memory->asked; i++)
        rows += setup->memory->diary[i].what == ASKED_GET ? 1 : (size_t)setup->memory->diary[i].top;
    return rows;
}

/* Each costs one request. On average at most one row comes beside the one that is opened. */
static void random_opens_cost_one_request_each(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 20000);
    for (int i = 0; i < 200; i++) { /* each 100 rows from the others, in no order */
        setup->process = i % 2 ? GREP : NO_PROCESS;
        assert_row_found(setup, "p", i * 77 % 200 * 100);
    }
    assert_in_range(requested_rows(setup), 200, 400);
    assert_request_count(setup, 200);
}

/* Rows of 100 KB: a miss fetches at most an eighth of the cache ahead. */
static void large_entities_limit_reading_ahead(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){.cache_bytes = (size_t)8200 << 10});
    _cleanup_(freep) char *etag = calloc(1, (100 << 10) + 1);
    memset(etag, 'e', 100 << 10);
    add_rows_with(&setup, "p", 40, etag);
    for (int row = 0; row < 40; row++)
        assert_row_found(&setup, "p", row);
    for (size_t i = 0; i < setup.memory->asked; i++)
        assert_in_range(setup.memory->diary[i].top, 1, 1 + 10);
    assert_in_range(setup.memory->asked, 4, 8);
    tear_down(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(listed, what_a_process_listed_serves_it),
        TEST_WITH(listed, what_is_young_holds_no_longer_for_it),
        TEST_WITH(listed, it_is_served_until_30_s_after_it_last_read_there),
        TEST_WITH(account, what_serves_it_is_never_older_than_30_s),
        TEST_WITH(listed, a_name_asked_for_again_and_again_is_asked_for),
        TEST_WITH(listed, what_leads_to_a_name_is_part_of_asking_for_it),
        cmocka_unit_test(with_ttl_0_its_own_listing_serves_a_process),
        cmocka_unit_test(what_was_rewound_serves_no_more),
        TEST_WITH(account, what_was_read_before_its_listing_is_never_older_than_a_ttl),
        TEST_WITH(account, what_holds_the_place_was_listed),
        TEST_WITH(account, random_opens_cost_one_request_each),
        cmocka_unit_test(large_entities_limit_reading_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
