/* SPDX-License-Identifier: MIT */
/* What is looked up: how long it is known, and what a listing told of it. */
#include "tests/unit/cache/account_fixture.h"

static void an_entity_is_known_for_a_ttl(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 3);
    assert_found(setup, P_ROW("00001"), "p|00001");
    assert_int_equal(setup->caller.valid_ms, TTL_MS);
    assert_requests_at(setup, "p/00001");
    setup->now_ms += TTL_MS - 1;
    assert_row_found(setup, "p", 1);
    assert_int_equal(setup->caller.valid_ms, 1);
    setup->now_ms += 1;
    assert_row_found(setup, "p", 1);
    assert_int_equal(setup->caller.valid_ms, 0);
    assert_requests(setup, "");
    setup->now_ms += 1;
    assert_row_found(setup, "p", 1);
    assert_int_equal(setup->caller.valid_ms, TTL_MS);
    assert_requests_at(setup, "p/00001");
}

static void an_absent_entity_is_known_for_a_ttl(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 2000);
    assert_found(setup, P_ROW("00500!"), NULL);
    assert_int_equal(setup->caller.valid_ms, TTL_MS);
    assert_requests_at(setup, "p/00500!");
    setup->now_ms += TTL_MS;
    assert_found(setup, P_ROW("00500!"), NULL);
    assert_int_equal(setup->caller.valid_ms, 0);
    assert_requests(setup, "");
    setup->now_ms += 1;
    assert_found(setup, P_ROW("00500!"), NULL);
    assert_int_equal(setup->caller.valid_ms, TTL_MS);
    assert_found(setup, P_ROW("01500!"), NULL);
    assert_found(setup, P_ROW("00499!"), NULL);
    assert_requests_at(setup, "p/00500!, p/01500!, p/00499!");
}

static void a_partition_is_known_for_a_ttl(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 100);
    for (int round = 0; round < 2; round++) {
        assert_partition_found(setup, "p", 0);
        assert_int_equal(setup->caller.valid_ms, TTL_MS);
        assert_partition_found(setup, "q", -ENOENT);
        assert_int_equal(setup->caller.valid_ms, TTL_MS);
        assert_requests_at(setup, "p/, q/");
        setup->now_ms += TTL_MS;
        assert_partition_found(setup, "p", 0);
        assert_int_equal(setup->caller.valid_ms, 0);
        assert_partition_found(setup, "q", -ENOENT);
        assert_int_equal(setup->caller.valid_ms, 0);
        assert_requests(setup, "");
        setup->now_ms += 1;
    }
}

static void a_table_is_known_for_a_ttl(void **state)
{
    struct setup *setup = *state;
    memory_store_add_table(setup->memory, "t");
    for (int round = 0; round < 2; round++) {
        assert_table_found(setup, "t", 0);
        assert_int_equal(setup->caller.valid_ms, TTL_MS);
        assert_table_found(setup, "u", -ENOENT);
        assert_int_equal(setup->caller.valid_ms, 0); /* the kernel asks again, and gets the same */
        assert_table_found(setup, "u", -ENOENT);
        assert_requests(setup, "tables, tables");
        setup->now_ms += TTL_MS;
        assert_table_found(setup, "t", 0);
        assert_int_equal(setup->caller.valid_ms, 0);
        assert_table_found(setup, "u", -ENOENT);
        assert_int_equal(setup->caller.valid_ms, 0);
        assert_directory_found(setup, TABLES, 0);
        assert_requests(setup, "");
        setup->now_ms += 1;
    }
}

static void what_is_found_shows_that_its_table_is_there(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 1);
    assert_found(setup, P_ROW("x"), NULL);
    setup->now_ms += TTL_MS;
    assert_table_found(setup, "t", 0);
    assert_requests_at(setup, "p/x");
    setup->now_ms += 1;
    assert_table_found(setup, "t", -ENOENT); /* the store knows of none */
    assert_requests(setup, "tables");
}

static int no_table(struct memory_store *self, size_t number, struct call *call)
{
    if (self->diary[number - 1].what == ASKED_LIST_TABLES)
        return 0;
    int r = call_fail(call, -ENOENT, "no such table");
    (void)snprintf(call->failure.code, sizeof(call->failure.code), "TableNotFound");
    return r;
}

static void a_table_that_is_gone_is_known_to_be(void **state)
{
    struct setup *setup = *state;
    memory_store_add_table(setup->memory, "t");
    add_rows(setup, "p", 2000);
    assert_table_found(setup, "t", 0);
    assert_row_found(setup, "p", 0);
    assert_requests_at(setup, "tables, p/00000");
    setup->memory->fault = no_table;
    assert_found(setup, P_ROW("01000"), NULL);
    assert_string_equal(setup->caller.call.failure.code, "TableNotFound");
    assert_int_equal(setup->caller.valid_ms, 0);
    assert_requests_at(setup, "p/01000");
    setup->now_ms += TTL_MS;
    assert_table_found(setup, "t", -ENOENT);
    assert_int_equal(setup->caller.valid_ms, 0);
    assert_requests(setup, "");
    setup->now_ms += 1;
    assert_table_found(setup, "t", 0);
    assert_requests(setup, "tables");
    assert_partition_found(setup, "p", -ENOENT);
    assert_int_equal(setup->caller.valid_ms, 0);
    assert_table_found(setup, "t", -ENOENT);
    assert_requests_at(setup, "p/");
    setup->memory->fault = NULL;
    assert_row_found(setup, "p", 0); /* nothing of it is known any more: it is asked for again */
    assert_table_found(setup, "t", 0);
    assert_requests_at(setup, "p/00000");
}

static void with_ttl_0_each_question_asks(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){.is_ttl_0 = true});
    memory_store_add_table(setup.memory, "t");
    add_rows(&setup, "p", 3);
    for (int round = 0; round < 3; round++) { /* the first two in the same millisecond */
        assert_row_found(&setup, "p", 1);
        assert_int_equal(setup.caller.valid_ms, 0);
        assert_found(&setup, P_ROW("x"), NULL);
        assert_int_equal(setup.caller.valid_ms, 0);
        assert_partition_found(&setup, "p", 0);
        assert_int_equal(setup.caller.valid_ms, 0);
        assert_partition_found(&setup, "q", -ENOENT);
        assert_table_found(&setup, "t", 0);
        assert_int_equal(setup.caller.valid_ms, 0);
        assert_table_found(&setup, "u", -ENOENT);
        assert_int_equal(setup.caller.valid_ms, 0);
        assert_requests(&setup, "get p/00001, get p/x, rows [p/ p+) 32, rows [q/ q+) 32, tables, "
                                "tables");
        setup.now_ms += round;
    }
    tear_down(&setup);
}

/* A row that another client inserts, changes and deletes. */
static void assert_changes_show_after(struct setup *setup, int64_t ms)
{
    struct bytes row = P_ROW("x");
    assert_found(setup, row, NULL);
    another_client_writes(setup, WRITE_INSERT, row, "{1}");
    if (ms > 0)
        assert_found(setup, row, NULL);
    setup->now_ms += ms;
    assert_found(setup, row, "{1}");
    another_client_writes(setup, WRITE_UPSERT_REPLACE, row, "{22}");
    if (ms > 0)
        assert_found(setup, row, "{1}");
    setup->now_ms += ms;
    assert_found(setup, row, "{22}");
    another_client_writes(setup, WRITE_DELETE, row, "");
    if (ms > 0)
        assert_found(setup, row, "{22}");
    setup->now_ms += ms;
    assert_found(setup, row, NULL);
    assert_requests_at(setup, "p/x, p/x, p/x, p/x");
}

static void what_another_client_writes_shows_after_a_ttl(void **state)
{
    (void)state;
    for (int is_ttl_0 = 0; is_ttl_0 <= 1; is_ttl_0++) {
        struct setup setup;
        set_up(&setup, (struct setup_options){.is_ttl_0 = is_ttl_0});
        add_rows(&setup, "p", 3);
        assert_changes_show_after(&setup, is_ttl_0 ? 0 : TTL_MS + 1);
        tear_down(&setup);
    }
}

static void tables_of_another_client_show_after_a_ttl(void **state)
{
    struct setup *setup = *state;
    memory_store_add_table(setup->memory, "t");
    assert_int_equal(list(setup, TABLES, true), 1);
    memory_store_remove_table(setup->memory, "t");
    memory_store_add_table(setup->memory, "u");
    memory_store_add_table(setup->memory, "v");
    setup->now_ms += TTL_MS;
    assert_table_found(setup, "t", 0);
    assert_table_found(setup, "u", -ENOENT);
    assert_int_equal(list(setup, TABLES, true), 1);
    assert_requests(setup, "tables");
    setup->now_ms += 1;
    assert_int_equal(list(setup, TABLES, true), 2);
    assert_table_found(setup, "t", -ENOENT);
    assert_table_found(setup, "u", 0);
    assert_requests(setup, "tables");
}

static void what_a_listing_showed_costs_nothing_to_find(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 1500);
    add_rows(setup, "q", 3);
    assert_int_equal(list(setup, ROWS_OF("p"), false), 1500);
    assert_requests(setup, "rows [p/ p+) 1000, rows [p/00999+ p+) 1000");
    setup->now_ms += TTL_MS;
    for (int row = 0; row < 1500; row++)
        assert_row_found(setup, "p", row);
    assert_int_equal(setup->caller.valid_ms, 0);
    assert_found(setup, P_ROW(""), NULL); /* before, between, at the border of pages, after */
    assert_found(setup, P_ROW("00000!"), NULL);
    assert_found(setup, P_ROW("00999!"), NULL);
    assert_found(setup, P_ROW("01000!"), NULL);
    assert_found(setup, P_ROW("z"), NULL);
    assert_partition_found(setup, "p", 0);
    assert_table_found(setup, "t", 0);
    assert_requests(setup, "");
    assert_row_found(setup, "q", 0); /* its neighbour is not known */
    assert_requests_at(setup, "q/00000");
}

static void small_partitions_that_were_listed_cost_nothing_to_read(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "a", 2);
    add_rows(setup, "c", 2);
    assert_int_equal(list(setup, PARTITIONS_OF("t"), true), 2);
    assert_requests(setup, "rows [ ~) 1000");
    assert_found(setup, B("a\0x"), NULL);
    assert_found(setup, B("b\0x"), NULL);
    assert_found(setup, ROW_AT("c", "00000!"), NULL);
    assert_row_found(setup, "c", 1);
    assert_requests(setup, "");
}

/* Where partitions are huge, their keys are jumped over. */
static void names_alone_tell_what_is_absent(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "a", 2000);
    add_rows(setup, "c", 2);
    assert_int_equal(list(setup, PARTITIONS_OF("t"), true), 2);
    assert_requests(setup, "rows [ ~) 1000, keys [a+ ~) 16");
    assert_found(setup, B("b\0x"), NULL);
    assert_found(setup, ROW_AT("c", "00000!"), NULL);
    assert_requests(setup, "");
    assert_row_found(setup, "c", 1); /* its text is wanted */
    assert_request_count(setup, 1);
}

static void partitions_that_were_listed_cost_nothing_to_find(void **state)
{
    struct setup *setup = *state;
    static const int rows[] = {1, 2500, 3, 40}; /* of a, c, d, p */
    add_rows(setup, "a", rows[0]);
    add_rows(setup, "c", rows[1]);
    add_rows(setup, "d", rows[2]);
    add_rows(setup, "p", rows[3]);
    struct listing *listing = open_listing(setup, PARTITIONS_OF("t"));
    struct listing_entry entry = {0};
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        assert_int_equal(next_entry(setup, listing, entry.cookie, true, &entry), 1);
        assert_int_equal(entry.kind, LISTING_PARTITION);
    }
    assert_end(setup, listing, ARRAY_SIZE(rows));
    listing_close(listing);
    assert_requests(setup, "rows [ ~) 1000, rows [c+ ~) 1000");
    setup->now_ms += TTL_MS;
    assert_partition_found(setup, "a", 0);
    assert_partition_found(setup, "c", 0);
    assert_partition_found(setup, "d", 0);
    assert_partition_found(setup, "p", 0);
    assert_partition_found(setup, "A", -ENOENT);
    assert_partition_found(setup, "b", -ENOENT);
    assert_partition_found(setup, "e", -ENOENT);
    assert_partition_found(setup, "z", -ENOENT);
    assert_table_found(setup, "t", 0);
    assert_requests(setup, "");
    setup->now_ms += 1;
    assert_partition_found(setup, "c", 0);
    assert_partition_found(setup, "b", -ENOENT);
    assert_requests_at(setup, "c/, b/");
}

static void tables_that_were_listed_cost_nothing_to_find(void **state)
{
    struct setup *setup = *state;
    static const char *const names[] = {"one", "three", "two"};
    setup->memory->max_rows = 2;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        memory_store_add_table(setup->memory, names[i]);
    struct listing *listing = open_listing(setup, TABLES);
    struct listing_entry entry = {0};
    setup->now_ms += 5;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        assert_int_equal(next_entry(setup, listing, entry.cookie, true, &entry), 1);
        assert_int_equal(entry.kind, LISTING_TABLE);
        assert_table_found(setup, names[i], 0);
    }
    assert_end(setup, listing, ARRAY_SIZE(names));
    listing_close(listing);
    setup->now_ms += TTL_MS;
    assert_table_found(setup, "three", 0);
    assert_table_found(setup, "ONE", -ENOENT);
    assert_table_found(setup, "on", -ENOENT);
    assert_table_found(setup, "one1", -ENOENT);
    assert_table_found(setup, "z", -ENOENT);
    assert_requests(setup, "tables, tables"); /* two pages */
    setup->now_ms += 1;
    assert_table_found(setup, "z", -ENOENT);
    assert_requests(setup, "tables, tables");
}

static void a_listing_goes_on_behind_what_was_looked_up(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 2000);
    assert_partition_found(setup, "p", 0);
    assert_requests_at(setup, "p/");
    for (int row = 0; row < 32; row++)
        assert_row_found(setup, "p", row);
    assert_requests(setup, "");
    assert_int_equal(list(setup, ROWS_OF("p"), false), 2000);
    assert_request_count(setup, 2);
}

static void a_small_partition_is_known_whole_once_it_was_looked_up(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 20);
    assert_partition_found(setup, "p", 0);
    assert_requests_at(setup, "p/");
    setup->now_ms += TTL_MS;
    assert_int_equal(list(setup, ROWS_OF("p"), false), 20);
    for (int row = 0; row < 20; row++)
        assert_row_found(setup, "p", row);
    assert_found(setup, P_ROW(""), NULL);
    assert_found(setup, P_ROW("00007!"), NULL);
    assert_found(setup, P_ROW("z"), NULL);
    assert_requests(setup, "");
}

static void a_partition_is_found_behind_empty_pages(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){.faults = "empty=9"});
    add_rows(&setup, "p", 100);
    assert_partition_found(&setup, "p", 0);
    assert_partition_found(&setup, "q", -ENOENT);
    assert_requests_at(&setup, "p/, q/");
    tear_down(&setup);
}

static int fail_all(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    (void)number;
    return call_fail(call, -EACCES, "forbidden");
}

static void a_failure_is_not_kept(void **state)
{
    struct setup *setup = *state;
    struct entity entity;
    struct address address = {.table = "t", .position = P_ROW("x")};
    memory_store_add_table(setup->memory, "t");
    setup->memory->fault = fail_all;
    assert_int_equal(account_find(setup->account, caller_of(setup), address, &entity), -EACCES);
    assert_directory_found(setup, ROWS_OF("q"), -EACCES);
    assert_directory_found(setup, PARTITIONS_OF("t"), -EACCES);
    setup->memory->fault = NULL;
    assert_found(setup, address.position, NULL);
    assert_partition_found(setup, "q", -ENOENT);
    assert_table_found(setup, "t", 0); /* its rows' answers showed it */
    memory_store_remove_table(setup->memory, "t");
    setup->now_ms += TTL_MS + 1;
    setup->memory->fault = fail_all;
    assert_directory_found(setup, PARTITIONS_OF("t"), -EACCES);
    setup->memory->fault = NULL;
    assert_table_found(setup, "t", -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(account, an_entity_is_known_for_a_ttl),
        TEST_WITH(account, an_absent_entity_is_known_for_a_ttl),
        TEST_WITH(account, a_partition_is_known_for_a_ttl),
        TEST_WITH(account, a_table_is_known_for_a_ttl),
        TEST_WITH(account, what_is_found_shows_that_its_table_is_there),
        TEST_WITH(account, a_table_that_is_gone_is_known_to_be),
        cmocka_unit_test(with_ttl_0_each_question_asks),
        cmocka_unit_test(what_another_client_writes_shows_after_a_ttl),
        TEST_WITH(account, tables_of_another_client_show_after_a_ttl),
        TEST_WITH(account, what_a_listing_showed_costs_nothing_to_find),
        TEST_WITH(account, small_partitions_that_were_listed_cost_nothing_to_read),
        TEST_WITH(account, names_alone_tell_what_is_absent),
        TEST_WITH(account, partitions_that_were_listed_cost_nothing_to_find),
        TEST_WITH(account, tables_that_were_listed_cost_nothing_to_find),
        TEST_WITH(account, a_listing_goes_on_behind_what_was_looked_up),
        TEST_WITH(account, a_small_partition_is_known_whole_once_it_was_looked_up),
        cmocka_unit_test(a_partition_is_found_behind_empty_pages),
        TEST_WITH(account, a_failure_is_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
