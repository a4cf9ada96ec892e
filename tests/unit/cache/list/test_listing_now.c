/* SPDX-License-Identifier: MIT */
/* Listings that may not wait: entries in the cache are returned, for others they return -EAGAIN. */
#include "tests/unit/cache/account_fixture.h"

static const struct directory level = {
    .kind = DIRECTORY_AUTO, .table = "t", .range = {B(""), B(POSITION_END)}};

/* 1, 0 or -EAGAIN; or what failed. */
static int next_now(struct setup *setup, struct listing *listing, uint64_t cookie,
                    struct listing_entry *ret)
{
    int r = listing_next(listing, caller_of(setup), cookie, true, false, ret);
    assert_int_equal(setup->caller.call.failure.error, r == -EAGAIN ? 0 : MIN(r, 0));
    return r;
}

/* The entry, which is not known: -EAGAIN to a caller that may not wait, and then waited for. */
static void assert_awaited(struct setup *setup, struct listing *listing, uint64_t cookie)
{
    struct listing_entry entry;
    size_t asked = setup->memory->asked;
    for (int times = 0; times < 2; times++)
        assert_int_equal(next_now(setup, listing, cookie, &entry), -EAGAIN);
    assert_int_equal(setup->memory->asked, asked);
    assert_int_equal(next_entry(setup, listing, cookie, true, &entry), 1);
    assert_int_equal(entry.cookie, cookie + 1);
    assert_int_equal(setup->memory->asked, asked + 1);
}

/* How many entries come now, from this one on. */
static size_t count_now(struct setup *setup, struct listing *listing, uint64_t cookie, int end)
{
    struct listing_entry entry;
    size_t n = 0;
    int r;
    while ((r = next_now(setup, listing, cookie + n, &entry)) == 1)
        n++;
    assert_int_equal(r, end);
    return n;
}

static void rows_come_to_the_end_of_their_page(void **state)
{
    struct setup *setup = *state;
    add_rows(setup, "p", 2500);
    _cleanup_(listing_closep) struct listing *listing = open_listing(setup, ROWS_OF("p"));
    assert_awaited(setup, listing, 0);
    assert_int_equal(count_now(setup, listing, 1, -EAGAIN), 999);
    assert_awaited(setup, listing, 1000);
    assert_int_equal(count_now(setup, listing, 1001, -EAGAIN), 999);
    assert_awaited(setup, listing, 2000);
    assert_int_equal(count_now(setup, listing, 2001, 0), 499); /* and the end is known */
    assert_int_equal(count_now(setup, listing, 0, 0), 2500);   /* as is all, again */
    setup->now_ms += KEPT_MS + TTL_MS;
    assert_int_equal(count_now(setup, listing, 1, -EAGAIN), 0); /* for a while */
}

static void huge_partitions_come_one_a_request(void **state)
{
    struct setup *setup = *state;
    for (char key[] = "a"; key[0] <= 'f'; key[0]++)
        add_rows(setup, key, 1500);
    _cleanup_(listing_closep) struct listing *listing = open_listing(setup, PARTITIONS_OF("t"));
    for (uint64_t cookie = 0; cookie < 6; cookie++)
        assert_awaited(setup, listing, cookie);
}

static void nothing_and_tables_end_now(void **state)
{
    struct setup *setup = *state;
    struct listing_entry entry;
    memory_store_add_table(setup->memory, "t");
    memory_store_add_table(setup->memory, "u");
    struct listing *tables = open_listing(setup, TABLES), *rows = open_listing(setup, ROWS_OF("p"));
    assert_awaited(setup, tables, 0);
    assert_int_equal(count_now(setup, tables, 1, 0), 1);
    assert_int_equal(next_now(setup, rows, 0, &entry), -EAGAIN);
    assert_end(setup, rows, 0);
    assert_int_equal(count_now(setup, rows, 0, 0), 0);
    listing_close(tables);
    listing_close(rows);
}

/* What a level's scan has found, and no more; the scan goes on. */
static void names_of_a_level_come_as_they_are_found(void **state)
{
    (void)state;
    for (int parallelism = 1; parallelism <= 8; parallelism *= 2) {
        struct setup setup;
        struct listing_entry entry;
        uint64_t cookie = 1;
        int r;
        set_up(&setup, (struct setup_options){.parallelism = parallelism, .fanout = 4});
        for (char key[] = "a0"; key[0] <= 'j'; key[0]++) {
            add_rows(&setup, key, 800);
            key[1] = '1';
            add_rows(&setup, key, 800);
            key[1] = '0';
        }
        struct listing *listing = open_listing(&setup, &level);
        assert_int_equal(next_now(&setup, listing, 0, &entry), -EAGAIN);
        assert_int_equal(gate_store_settle(setup.gate), 0);
        assert_int_equal(next_entry(&setup, listing, 0, true, &entry), 1);
        while ((r = next_now(&setup, listing, cookie, &entry)) != 0) {
            assert_true(r == 1 || r == -EAGAIN);
            cookie += r == 1;
            if (r == -EAGAIN)
                (void)gate_store_settle(setup.gate);
        }
        assert_int_equal(cookie, 10);
        assert_int_equal(count_now(&setup, listing, 5, 0), 5);
        listing_close(listing);
        tear_down(&setup);
    }
}

static int fail_second(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    return number == 2 ? call_fail(call, -EIO, "the second fails") : 0;
}

static void a_caller_that_waits_gets_the_failure(void **state)
{
    struct setup *setup = *state;
    struct listing_entry entry;
    add_rows(setup, "p", 2000);
    setup->memory->fault = fail_second;
    _cleanup_(listing_closep) struct listing *listing = open_listing(setup, ROWS_OF("p"));
    assert_awaited(setup, listing, 0);
    assert_int_equal(next_now(setup, listing, 1000, &entry), -EAGAIN);
    assert_int_equal(next_entry(setup, listing, 1000, true, &entry), -EIO);
    assert_awaited(setup, listing, 1000);
}

/* Process 7 lists the table, and comes to partition p later. */
static void a_listing_that_has_shown_nothing_goes_on_as_it_began(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, (struct setup_options){.cache_bytes = 1}); /* what was put last stays */
    add_rows(&setup, "p", 5);
    add_rows(&setup, "q", 5);
    setup.process = 7;
    assert_int_equal(list(&setup, &level, true), 2);
    setup.now_ms += TTL_MS + 1;
    setup.process = 8;
    assert_int_equal(list(&setup, ROWS_OF("q"), true), 5);
    setup.process = 7;
    struct listing *listing = open_listing(&setup, ROWS_OF("p"));
    assert_int_equal(count_now(&setup, listing, 0, -EAGAIN), 0);
    setup.process = 8;
    assert_int_equal(list(&setup, ROWS_OF("p"), true), 5);
    setup.process = 7;
    setup.now_ms += TTL_MS + 1;
    assert_int_equal(count_now(&setup, listing, 0, 0), 5); /* what process 8 has read */
    listing_close(listing);
    tear_down(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(account, rows_come_to_the_end_of_their_page),
        TEST_WITH(account, huge_partitions_come_one_a_request),
        TEST_WITH(account, nothing_and_tables_end_now),
        cmocka_unit_test(names_of_a_level_come_as_they_are_found),
        TEST_WITH(account, a_caller_that_waits_gets_the_failure),
        cmocka_unit_test(a_listing_that_has_shown_nothing_goes_on_as_it_began),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
