/* SPDX-License-Identifier: MIT */
/* Pages without rows that go on. */
#include "client/base/backoff.h"
#include "tests/unit/client/store/retrying_fixture.h"

/* Follows the tokens. Returns the result of the last query; `*ret_pages` were asked for. */
static int follow(struct setup *setup, const char *filter, int *ret_pages)
{
    struct query query = {.table = "one", .range = RANGE_ALL, .filter = filter, .top = 1000};
    struct continuation *after = NULL;
    int r;
    *ret_pages = 0;
    do {
        struct answer answer = {0};
        struct call call = {.deadline_ms = setup->now_ms + 60000};
        query.after = after;
        r = table_store_query(setup->store, &query, &call, &answer);
        continuation_destroy(after);
        after = TAKE_PTR(answer.next);
        answer_finish(&answer);
        *ret_pages += 1;
        if (r < 0) {
            assert_non_null(strstr(call.failure.message, "pages in a row without a row"));
            assert_false(call.failure.is_retryable); /* for all callers that wait for this page */
        }
    } while (after);
    return r;
}

static void a_few_empty_pages_are_followed_at_once(void **state)
{
    (void)state;
    struct setup setup;
    int pages;
    set_up(&setup, "empty=4");
    assert_int_equal(follow(&setup, NULL, &pages), 0);
    assert_int_equal(pages, 5);
    assert_int_equal(setup.now_ms, 0);
    table_store_destroy(setup.store);
    set_up(&setup, "empty=6"); /* 50 + c * 200, 50 + c * 600 */
    assert_int_equal(follow(&setup, NULL, &pages), 0);
    assert_int_equal(pages, 7);
    assert_in_range(setup.now_ms, 100 + 640, 100 + 960);
    table_store_destroy(setup.store);
}

static void endless_empty_pages_are_paced_and_given_up(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct setup setup;
    int pages;
    set_up(&setup, "endless=1");
    assert_int_equal(follow(&setup, NULL, &pages), -EPROTO);
    assert_in_range(setup.now_ms, 60000 - BACKOFF_MAX_MS, 60000);
    assert_in_range(pages, 12, 18);
    assert_metric(&setup, "\ntablefuse_given_up_total 1\n");
}

/* Pauses are for a service that answers quickly. */
static void what_the_service_took_is_part_of_the_pause(void **state)
{
    (void)state;
    struct setup setup;
    int pages;
    set_up(&setup, "empty=6,latency=2000");
    assert_int_equal(follow(&setup, NULL, &pages), 0);
    assert_int_equal(setup.now_ms, 7 * 2000);
    table_store_destroy(setup.store);
    set_up(&setup, "endless=1,latency=10000");
    assert_int_equal(follow(&setup, NULL, &pages), -EPROTO);
    assert_int_equal(setup.now_ms, 60000);
    assert_int_equal(pages, 6);
    table_store_destroy(setup.store);
}

/* The service looks for 5 s, or to the end of a server's part of the table, finds nothing, and says
 * where to go on. */
static void empty_pages_of_a_filter_are_progress(void **state)
{
    (void)state;
    struct setup setup;
    int pages;
    set_up(&setup, "empty=60,latency=5000");
    assert_int_equal(follow(&setup, "RowKey ge ''", &pages), 0);
    assert_int_equal(pages, 61);
    assert_int_equal(setup.now_ms, 61 * 5000);
    table_store_destroy(setup.store);
    set_up(&setup, "empty=60,latency=10");
    assert_int_equal(follow(&setup, "RowKey ge ''", &pages), 0);
    assert_int_equal(pages, 61);
    assert_int_equal(setup.now_ms, 61 * 10);
    table_store_destroy(setup.store);
}

/* Each page is without rows, but has looked at some. */
struct dropping_store {
    struct table_store store;
    int left;
};

static int dropping_query(struct table_store *store, const struct query *query, struct call *call,
                          struct page_builder *builder, struct continuation **ret_next)
{
    struct dropping_store *self = (struct dropping_store *)store;
    struct bytes token = {(const char *)&self->left, sizeof(self->left)};
    (void)query;
    (void)call;
    (void)builder;
    if (--self->left == 0)
        return 0;
    assert_int_equal(continuation_create(token, BYTES_LITERAL(""), ret_next), 0);
    continuation_set_progress(*ret_next);
    return 0;
}

static void pages_whose_rows_were_dropped_are_not_paced(void **state)
{
    (void)state;
    static const struct table_store_ops ops = {.query = dropping_query,
                                               .destroy = nothing_to_destroy};
    const struct retrying_store_options options = {.timeout_ms = 60000};
    _cleanup_(tear_down) struct setup setup = {.now_ms = 0};
    struct dropping_store dropping = {{&ops}, .left = 1000};
    int pages;
    setup.clock = fake_clock(&setup.now_ms);
    assert_int_equal(retrying_store_create(&dropping.store, &setup.clock, &options, &setup.store),
                     0);
    assert_int_equal(follow(&setup, NULL, &pages), 0);
    assert_int_equal(pages, 1000);
    assert_int_equal(setup.now_ms, 0);
}

static void an_interrupt_ends_the_pause_after_an_empty_page(void **state)
{
    (void)state;
    _cleanup_(tear_down) struct setup setup;
    set_up(&setup, "endless=1");
    struct call call = {.deadline_ms = 60000,
                        .is_cancelled = is_cancelled_after_a_second,
                        .context = &setup.now_ms};
    struct query query = {.table = "one", .range = RANGE_ALL, .top = 1000};
    struct continuation *after = NULL;
    int r;
    do {
        struct answer answer = {0};
        query.after = after;
        r = table_store_query(setup.store, &query, &call, &answer);
        continuation_destroy(after);
        after = TAKE_PTR(answer.next);
        answer_finish(&answer);
    } while (r == 0);
    assert_int_equal(r, -EINTR);
    assert_in_range(setup.now_ms, 1000, 1050);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_few_empty_pages_are_followed_at_once),
        cmocka_unit_test(endless_empty_pages_are_paced_and_given_up),
        cmocka_unit_test(what_the_service_took_is_part_of_the_pause),
        cmocka_unit_test(empty_pages_of_a_filter_are_progress),
        cmocka_unit_test(pages_whose_rows_were_dropped_are_not_paced),
        cmocka_unit_test(an_interrupt_ends_the_pause_after_an_empty_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
