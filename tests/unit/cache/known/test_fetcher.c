/* SPDX-License-Identifier: MIT */
#include "client/base/backoff.h"
#include "tests/unit/cache/known/fetcher_fixture.h"

/* As of when the cache answers what begins at lo. */
static int64_t asked_ms_at(struct fetching *fetching, struct bytes lo)
{
    struct question question = {"t", {lo, B("p\x01")}, stamp_since(0), false};
    _cleanup_(buffer_finish) struct buffer position = {.max = 1000};
    int64_t requested_ms = -1;
    assert_int_equal(fetching_known(fetching, &question, &position, &requested_ms), KNOWN_ROWS);
    return requested_ms;
}

static void a_page_is_asked_for_once_and_kept(void **state)
{
    struct fetching *fetching = *state;
    fetching_add_rows(fetching, "p", 2500);
    struct fetch fetch = fetch_of(PARTITION, 1000);
    assert_known(fetching, "t", PARTITION, true, KNOWN_NOT);
    assert_known(fetching, NULL, TABLE_T, true, KNOWN_NOT);
    assert_int_equal(fetch_rows(fetching, &fetch), 1000);
    assert_int_equal(fetching->memory->asked, 1);
    assert_request(fetching, 1, ASKED_QUERY, PARTITION, 1000);
    assert_false(fetching->memory->diary[0].keys_only);
    assert_known(fetching, "t", PARTITION, false, KNOWN_ROWS);
    assert_known(fetching, NULL, TABLE_T, false, KNOWN_ROWS); /* it answered: so it is there */
    assert_known(fetching, "u", PARTITION, true, KNOWN_NOT);
    struct fetcher_stats stats;
    fetcher_stats(fetching->fetcher, &stats);
    assert_int_equal(stats.flights, 1);
    assert_int_equal(stats.joined, 0);
}

static void keys_are_asked_for_alone(void **state)
{
    struct fetching *fetching = *state;
    fetching_add_rows(fetching, "p", 3);
    struct fetch fetch = fetch_of(PARTITION, 1000);
    fetch.keys_only = true;
    assert_int_equal(fetch_rows(fetching, &fetch), 3);
    assert_true(fetching->memory->diary[0].keys_only);
    assert_known(fetching, "t", PARTITION, true, KNOWN_ROWS);
    assert_known(fetching, "t", PARTITION, false, KNOWN_NOT);
}

static void one_row_is_got_by_itself(void **state)
{
    struct fetching *fetching = *state;
    memory_store_add_strings(fetching->memory, "p", "");
    fetching_add_rows(fetching, "p", 3);
    struct fetch fetch = fetch_of(ROW("00001"), 1);
    assert_int_equal(fetch_rows(fetching, &fetch), 1);
    assert_request(fetching, 1, ASKED_GET, (struct range){fetch.range.lo, fetch.range.lo}, 0);
    assert_int_equal(asked_ms_at(fetching, ROW("00001").lo), fetching->now_ms);
    assert_known(fetching, "t", ROW("00001"), false, KNOWN_ROWS);
    assert_known(fetching, "t", ROW("00002"), false, KNOWN_NOT);
    fetch.range = ROW(""); /* the empty RowKey's begins where its partition does */
    assert_int_equal(fetch_rows(fetching, &fetch), 1);
    assert_request(fetching, 2, ASKED_GET, (struct range){B("p\0"), B("p\0")}, 0);
}

static void one_row_that_is_not_there_is_known(void **state)
{
    struct fetching *fetching = *state;
    fetching_add_rows(fetching, "p", 1);
    struct fetch fetch = fetch_of(ROW("00001"), 1);
    assert_int_equal(fetch_rows(fetching, &fetch), 0);
    assert_int_equal(fetching->memory->asked, 1);
    assert_known(fetching, "t", ROW("00001"), false, KNOWN_EMPTY);
    assert_known(fetching, NULL, TABLE_T, false, KNOWN_ROWS);
}

static void what_is_no_single_text_is_queried(void **state)
{
    struct fetching *fetching = *state;
    static const struct range partitions = {B("p"), B("p\x01")};
    fetching_add_rows(fetching, "p", 3);
    struct fetch fetches[] = {fetch_of(partitions, 1), fetch_of(ROW("00001"), 2),
                              fetch_of(ROW("00001"), 1)};
    fetches[2].keys_only = true;
    for (size_t i = 0; i < ARRAY_SIZE(fetches); i++) {
        assert_int_equal(fetch_rows(fetching, &fetches[i]), 1);
        assert_request(fetching, i + 1, ASKED_QUERY, fetches[i].range, fetches[i].top);
    }
}

static void a_table_that_is_gone_is_forgotten(void **state)
{
    (void)state;
    static const char *const faults[] = {"fail=query:2:404:TableNotFound",
                                         "fail=get:1:404:TableNotFound"};
    struct fetch fetches[] = {fetch_of(PARTITION, 1000), fetch_of(ROW("00001"), 1)};
    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        struct fetching fetching;
        fetching_set_up(&fetching, (struct fetching_options){.faults = faults[i]});
        fetching_add_rows(&fetching, "p", 3);
        assert_int_equal(fetch_rows(&fetching, &fetches[0]), 3);
        struct page *page = NULL;
        assert_int_equal(fetch_page(&fetching, &fetches[i], &page), -ENOENT);
        assert_null(page);
        assert_known(&fetching, "t", PARTITION, true, KNOWN_NOT);
        assert_known(&fetching, NULL, TABLE_T, true, KNOWN_EMPTY);
        assert_int_equal(fetch_rows(&fetching, &fetches[0]), 3); /* it was made again */
        assert_known(&fetching, "t", PARTITION, true, KNOWN_ROWS);
        assert_known(&fetching, NULL, TABLE_T, true, KNOWN_ROWS);
        fetching_tear_down(&fetching);
    }
}

static void a_refusal_changes_nothing_that_is_known(void **state)
{
    (void)state;
    struct fetching fetching;
    fetching_set_up(&fetching,
                    (struct fetching_options){.faults = "fail=query:2:403:AuthorizationFailure"});
    fetching_add_rows(&fetching, "p", 3);
    struct fetch fetch = fetch_of(PARTITION, 1000);
    struct caller caller = fetching_caller(&fetching);
    struct page *page;
    bool is_own;
    assert_int_equal(fetch_rows(&fetching, &fetch), 3);
    assert_int_equal(fetcher_fetch(fetching.fetcher, &caller, &fetch,
                                   stamp_from_now(&fetching.orders, fetching.now_ms), &page,
                                   &is_own),
                     -EACCES);
    assert_string_equal(caller.call.failure.code, "AuthorizationFailure");
    assert_known(&fetching, "t", PARTITION, false, KNOWN_ROWS);
    fetching_tear_down(&fetching);
}

static void empty_pages_are_followed(void **state)
{
    (void)state;
    struct fetching fetching;
    fetching_set_up(&fetching, (struct fetching_options){.faults = "latency=5000,empty=9"});
    fetching_add_rows(&fetching, "p", 3);
    struct fetch fetch = fetch_of(PARTITION, 1000);
    int64_t began_ms = fetching.now_ms;
    assert_int_equal(fetch_rows(&fetching, &fetch), 3);
    assert_int_equal(fetching.now_ms - began_ms, 50000);
    assert_int_equal(fetching.memory->asked, 1); /* the others were the faulty store's */
    assert_int_equal(gate_store_arrived(fetching.store), 10);
    fetching_tear_down(&fetching);
}

static void empty_pages_are_no_progress(void **state)
{
    (void)state;
    struct fetching fetching;
    struct page *page;
    fetching_set_up(&fetching, (struct fetching_options){.faults = "latency=25000,empty=9"});
    fetching_add_rows(&fetching, "p", 3);
    struct fetch fetch = fetch_of(PARTITION, 1000);
    int64_t began_ms = fetching.now_ms;
    assert_int_equal(fetch_page(&fetching, &fetch, &page), -ETIMEDOUT);
    assert_int_equal(fetching.now_ms - began_ms, PATIENCE_MS);
    assert_int_equal(gate_store_arrived(fetching.store), 3);
    fetching_tear_down(&fetching);
}

static void tokens_that_never_end_are_an_error(void **state)
{
    (void)state;
    const struct fetch fetches[] = {
        {.table = "t", .range = PARTITION, .top = 1000},
        {.table = "t", .range = PARTITION, .top = 1000, .keys_only = true},
        {.range = RANGE_ALL, .top = 1000, .keys_only = true}, /* the tables */
        {.range = TABLE_T, .top = 1000, .keys_only = true},
    };
    for (size_t i = 0; i < ARRAY_SIZE(fetches); i++) {
        struct fetching fetching;
        struct page *page;
        fetching_set_up(&fetching,
                        (struct fetching_options){.faults = "endless=1", .retries = true});
        int64_t began_ms = fetching.now_ms;
        assert_int_equal(fetch_page(&fetching, &fetches[i], &page), -EPROTO);
        assert_in_range(fetching.now_ms - began_ms, PATIENCE_MS - BACKOFF_MAX_MS, PATIENCE_MS);
        /* 4 at once; then the pauses are those of failures */
        assert_in_range(gate_store_arrived(fetching.store), 12, 18);
        fetching_tear_down(&fetching);
    }
}

static void tokens_in_a_circle_are_an_error(void **state)
{
    (void)state;
    struct fetching fetching;
    fetching_set_up(&fetching, (struct fetching_options){.faults = "circle=1"});
    struct fetch fetch = fetch_of(PARTITION, 1000);
    struct page *page;
    assert_int_equal(fetch_page(&fetching, &fetch, &page), -EPROTO);
    fetching_tear_down(&fetching);
}

static int query_page_with(struct fetching *fetching, const struct query *query, bool is_kept,
                           struct answer *ret)
{
    struct caller caller = fetching_caller(fetching);
    int r = fetcher_query(fetching->fetcher, &caller, query, is_kept, ret);
    assert_int_equal(caller.call.failure.error, r);
    return r;
}

static int query_page(struct fetching *fetching, const struct query *query, struct answer *ret)
{
    return query_page_with(fetching, query, true, ret);
}

static void a_page_that_is_not_kept_is_handed_out(void **state)
{
    struct fetching *fetching = *state;
    fetching_add_rows(fetching, "p", 3);
    struct query query = {.table = "t", .range = PARTITION, .top = 2};
    struct answer answer = {0};
    assert_int_equal(query_page_with(fetching, &query, false, &answer), 0);
    assert_int_equal(page_rows(answer.page), 2);
    assert_known(fetching, "t", PARTITION, true, KNOWN_NOT);
    assert_known(fetching, NULL, TABLE_T, true, KNOWN_ROWS); /* but the table is there */
    answer_finish(&answer);
}

/* Goes on to the next page with rows, or to the end. */
static void query_rows(struct fetching *fetching, struct query *query, struct answer *answer)
{
    do {
        struct answer before = *answer;
        query->after = before.next;
        *answer = (struct answer){0};
        assert_int_equal(query_page(fetching, query, answer), 0);
        answer_finish(&before);
    } while (page_rows(answer->page) == 0 && answer->next);
}

/* As a write that the service acknowledges now. */
static void store_row(struct fetching *fetching, struct bytes position)
{
    _cleanup_(page_unrefp) struct page *page = NULL;
    memory_store_write(
        fetching->memory,
        &(struct write){.kind = WRITE_INSERT, .position = position, .text = BYTES_LITERAL("{}")});
    assert_int_equal(page_create_row(position, BYTES_LITERAL("{}"), BYTES_LITERAL("W/1"), 0, &page),
                     0);
    assert_int_equal(range_cache_put_change(fetching->cache, "t", page, &fetching->orders,
                                            atomic_load(&fetching->now_ms)),
                     0);
}

/* The token names the next row as of the first page: the second page begins there. So it does not
 * show that no row was stored before it since. */
static void a_row_that_was_stored_between_two_pages_stays_known(void **state)
{
    (void)state;
    const char *faults[] = {"", "empty=1"};
    for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
        struct fetching fetching;
        struct answer answer = {0};
        fetching_set_up(&fetching, (struct fetching_options){.faults = faults[i]});
        fetching_add_rows(&fetching, "p", 5);
        struct query query = {.table = "t", .range = PARTITION, .top = 2};
        query_rows(&fetching, &query, &answer);
        store_row(&fetching, ROW("00001a").lo);
        query_rows(&fetching, &query, &answer);
        assert_bytes(page_position(answer.page, 0), ROW("00002").lo);
        assert_known(&fetching, "t", ROW("00001a"), false, KNOWN_ROWS);
        assert_known(&fetching, "t", ROW("00002"), false, KNOWN_ROWS);
        store_row(&fetching, ROW("00003a").lo);
        query_rows(&fetching, &query, &answer);
        assert_bytes(page_position(answer.page, 0), ROW("00004").lo);
        assert_known(&fetching, "t", ROW("00003a"), false, KNOWN_ROWS);
        assert_known(&fetching, "t", ROW("00004"), false, KNOWN_ROWS);
        answer_finish(&answer);
        fetching_tear_down(&fetching);
    }
}

/* Another client stores a row before the one that the token names. With a token that is older than
 * half a ttl the row would be known as absent for longer than ttl. */
static void a_token_that_is_older_than_half_a_ttl_is_not_used(void **state)
{
    (void)state;
    const struct range partition = PARTITION;
    const struct {
        struct range range;
        const char *filter;
        int64_t pause_ms;
        bool shows_new, has_token;
        struct bytes end; /* of what the page covers */
    } cases[] = {
        {partition, NULL, TTL_MS / 2, false, true, ROW("00003").hi},
        {partition, NULL, TTL_MS / 2 + 1, true, false, ROW("00002").hi},
        {RANGE_ALL, NULL, TTL_MS / 2 + 1, true, false, ROW("00002").hi},
        {partition, "PartitionKey eq 'p'", TTL_MS / 2 + 1, false, true, {0}},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fetching fetching;
        struct answer answer = {0};
        fetching_set_up(&fetching, (struct fetching_options){0});
        fetching_add_rows(&fetching, "p", 5);
        struct query query = {
            .table = "t", .range = cases[i].range, .filter = cases[i].filter, .top = 2};
        query_rows(&fetching, &query, &answer);
        memory_store_write(fetching.memory, &(struct write){.kind = WRITE_INSERT,
                                                            .position = ROW("00001a").lo,
                                                            .text = BYTES_LITERAL("{}")});
        fetching.now_ms += cases[i].pause_ms;
        query_rows(&fetching, &query, &answer);
        assert_int_equal(page_rows(answer.page), 2);
        assert_bytes(page_position(answer.page, 0),
                     cases[i].shows_new ? ROW("00001a").lo : ROW("00002").lo);
        assert_int_equal(answer.next != NULL, cases[i].has_token);
        if (!cases[i].filter)
            assert_bytes(page_range(answer.page).hi, cases[i].end);
        assert_known(&fetching, "t", ROW("00001a"), false,
                     cases[i].shows_new ? KNOWN_ROWS
                     : cases[i].filter  ? KNOWN_NOT
                                        : KNOWN_EMPTY);
        answer_finish(&answer);
        fetching_tear_down(&fetching);
    }
}

/* A query from inside a partition goes to its end, and no further: else two requests are one. */
static void a_query_that_begins_anew_ends_with_its_partition(void **state)
{
    (void)state;
    struct fetching fetching;
    struct answer answer = {0};
    fetching_set_up(&fetching, (struct fetching_options){0});
    fetching_add_rows(&fetching, "p", 3);
    fetching_add_rows(&fetching, "q", 3);
    struct query query = {.table = "t", .range = RANGE_ALL, .top = 3};
    query_rows(&fetching, &query, &answer);
    fetching.now_ms += TTL_MS + 1;
    query_rows(&fetching, &query, &answer);
    assert_int_equal(page_rows(answer.page), 0);
    assert_bytes(page_range(answer.page).hi, B("p\x01"));
    assert_null(answer.next);
    answer_finish(&answer);
    fetching_tear_down(&fetching);
}

/* A page of a filter has no gaps. So its rows replace what another process has read since the
 * token's request. */
static void a_row_of_a_filter_is_as_young_as_its_page(void **state)
{
    struct fetching *fetching = *state;
    struct page *page;
    struct answer answer = {0};
    struct run run = {0};
    int64_t requested_ms;
    fetching_add_rows(fetching, "p", 4);
    struct query query = {
        .table = "t", .range = PARTITION, .top = 2, .filter = "PartitionKey eq 'p'"};
    query_rows(fetching, &query, &answer);
    struct fetch fetch = {.table = "t", .range = ROW("00003"), .top = 1};
    assert_int_equal(fetch_page(fetching, &fetch, &page), 0);
    page_unref(page);
    memory_store_write(fetching->memory, &(struct write){.kind = WRITE_UPSERT_REPLACE,
                                                         .position = ROW("00003").lo,
                                                         .text = BYTES_LITERAL("{}")});
    query_rows(fetching, &query, &answer);
    assert_bytes(page_position(answer.page, 1), ROW("00003").lo);
    struct question question = {"t", ROW("00003"), fetching_since_ttl(fetching), false};
    struct position until;
    assert_int_equal(range_cache_next(fetching->cache, &question, &run, &requested_ms, &until),
                     KNOWN_ROWS);
    assert_bytes(page_etag(run.page, run.begin), page_etag(answer.page, 1));
    page_unref(run.page);
    answer_finish(&answer);
}

static void a_scans_pages_are_kept_and_counted(void **state)
{
    (void)state;
    struct fetching fetching;
    fetching_set_up(&fetching,
                    (struct fetching_options){.faults = "fail=query:3:404:TableNotFound"});
    fetching_add_rows(&fetching, "p", 3);
    struct query query = {.table = "t", .range = PARTITION, .top = 2};
    struct answer first = {0}, second = {0}, third = {0};
    assert_int_equal(query_page(&fetching, &query, &first), 0);
    assert_int_equal(page_rows(first.page), 2);
    assert_known(&fetching, "t", ROW("00001"), false, KNOWN_ROWS);
    assert_known(&fetching, "t", ROW("00002"), false, KNOWN_NOT);
    query.after = first.next;
    assert_int_equal(query_page(&fetching, &query, &second), 0);
    assert_int_equal(page_rows(second.page), 1);
    assert_null(second.next);
    assert_known(&fetching, "t", ROW("00002"), false, KNOWN_ROWS);
    query.after = NULL;
    assert_int_equal(query_page(&fetching, &query, &third), -ENOENT);
    assert_null(third.page);
    assert_known(&fetching, "t", PARTITION, true, KNOWN_NOT);
    assert_known(&fetching, NULL, TABLE_T, true, KNOWN_EMPTY);
    struct fetcher_stats stats;
    fetcher_stats(fetching.fetcher, &stats);
    assert_int_equal(stats.flights, 3);
    assert_int_equal(stats.joined, 0);
    answer_finish(&first);
    answer_finish(&second);
    fetching_tear_down(&fetching);
}

static int refuse_large_pages(struct memory_store *self, size_t number, struct call *call)
{
    return self->diary[number - 1].top > 20 ? call_fail(call, -EFBIG, "too large") : 0;
}

static int refuse_all_pages(struct memory_store *self, size_t number, struct call *call)
{
    (void)self;
    (void)number;
    return call_fail(call, -EFBIG, "too large");
}

static void pages_that_are_too_large_are_asked_for_in_pieces(void **state)
{
    struct fetching *fetching = *state;
    static const int tops[] = {1000, 125, 15, 1};
    fetching_add_rows(fetching, "p", 40);
    struct fetch fetch = fetch_of(PARTITION, 1000);
    fetching->memory->fault = refuse_large_pages;
    assert_int_equal(fetch_rows(fetching, &fetch), 15);
    assert_int_equal(fetching->memory->asked, 3);
    memory_store_forget_diary(fetching->memory);
    fetching->memory->fault = refuse_all_pages;
    struct page *page;
    assert_int_equal(fetch_page(fetching, &fetch, &page), -EFBIG);
    assert_int_equal(fetching->memory->asked, ARRAY_SIZE(tops));
    for (size_t i = 0; i < ARRAY_SIZE(tops); i++)
        assert_request(fetching, i + 1, ASKED_QUERY, PARTITION, tops[i]);
}

static void an_answer_is_as_old_as_its_question(void **state)
{
    (void)state;
    static const struct {
        const char *faults;
        int64_t age; /* at arrival */
    } cases[] = {{"latency=400", 400},
                 {"latency=5000", TTL_MS / 2}, /* and as old as half a ttl at most */
                 {"latency=100,empty=3", 400},
                 {"latency=100,fail=query:1:503:ServerBusy", 100}, /* of the second attempt */
                 {"latency=100,empty=1,fail=query:1:500:x", 200}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fetching fetching;
        fetching_set_up(&fetching,
                        (struct fetching_options){.faults = cases[i].faults, .retries = true});
        fetching_add_rows(&fetching, "p", 3);
        struct fetch fetch = fetch_of(PARTITION, 1000);
        assert_int_equal(fetch_rows(&fetching, &fetch), 3);
        assert_int_equal(fetching.now_ms - asked_ms_at(&fetching, B("p\0")), cases[i].age);
        fetching_tear_down(&fetching);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(fetching, a_page_is_asked_for_once_and_kept),
        TEST_WITH(fetching, keys_are_asked_for_alone),
        TEST_WITH(fetching, one_row_is_got_by_itself),
        TEST_WITH(fetching, one_row_that_is_not_there_is_known),
        TEST_WITH(fetching, what_is_no_single_text_is_queried),
        cmocka_unit_test(a_table_that_is_gone_is_forgotten),
        cmocka_unit_test(a_refusal_changes_nothing_that_is_known),
        cmocka_unit_test(empty_pages_are_followed),
        cmocka_unit_test(empty_pages_are_no_progress),
        cmocka_unit_test(tokens_that_never_end_are_an_error),
        cmocka_unit_test(tokens_in_a_circle_are_an_error),
        cmocka_unit_test(a_row_that_was_stored_between_two_pages_stays_known),
        cmocka_unit_test(a_token_that_is_older_than_half_a_ttl_is_not_used),
        cmocka_unit_test(a_query_that_begins_anew_ends_with_its_partition),
        TEST_WITH(fetching, a_row_of_a_filter_is_as_young_as_its_page),
        cmocka_unit_test(a_scans_pages_are_kept_and_counted),
        TEST_WITH(fetching, a_page_that_is_not_kept_is_handed_out),
        TEST_WITH(fetching, pages_that_are_too_large_are_asked_for_in_pieces),
        cmocka_unit_test(an_answer_is_as_old_as_its_question),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
