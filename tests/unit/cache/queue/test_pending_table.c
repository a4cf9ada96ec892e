/* SPDX-License-Identifier: MIT */
/* What pending knows of a table: watches, rows with a queued delete, and a table that was dropped.
 */
#include "tests/unit/cache/queue/queueing.h"
#include "tests/unit/pending_limits.h"

#define MANY 2500 /* deletes: more than are forgotten at once */

static struct write_batch batches[2];

static void claim_in(struct queueing *queueing, const char *table, struct bytes position)
{
    assert_int_equal(pending_claim(queueing->pending, table, &position, 1, call_of(queueing)), 0);
}

static void release_in(struct queueing *queueing, const char *table, struct bytes position)
{
    pending_release(queueing->pending, table, &position, 1);
}

/* A row of partition p. */
static void queue_text(struct queueing *queueing, int row)
{
    char key[64];
    struct bytes position = position_of("p", row, key);
    _cleanup_(page_unrefp) struct page *page = row_of(position, B("text"));
    struct queued_change change = text_of(position, page);
    queue_change(queueing, &change);
}

static void send_rest(struct queueing *queueing)
{
    queueing->now_ms += PENDING_REST_MS;
    send_due(queueing, batches);
}

/* Of table T. */
static bool has_changed_at_once(struct queueing *queueing)
{
    struct table_watch watch;
    pending_watch(queueing->pending, "T", &watch);
    return pending_unwatch(queueing->pending, &watch);
}

static void a_watch_tells_of_what_is_there(void **state)
{
    struct queueing *queueing = *state;
    assert_false(has_changed_at_once(queueing));
    queue_deletes(queueing, "p", 0, 5);
    assert_int_equal(pending_mask(queueing->pending, "T", B("p\0m"), B("etag")), 0);
    assert_false(has_changed_at_once(queueing)); /* deletes and masks do not count */
    claim(queueing, B("q\0"));
    assert_true(has_changed_at_once(queueing));
    release(queueing, B("q\0"));
    assert_false(has_changed_at_once(queueing));
    queue_text(queueing, 7);
    assert_true(has_changed_at_once(queueing));
    send_rest(queueing);
    assert_false(has_changed_at_once(queueing));
    claim_in(queueing, "S", B("q\0"));
    claim_in(queueing, "TT", B("q\0"));
    claim_in(queueing, NULL, B("T")); /* of the table itself */
    assert_false(has_changed_at_once(queueing));
    release_in(queueing, "S", B("q\0"));
    release_in(queueing, "TT", B("q\0"));
    release_in(queueing, NULL, B("T"));
}

/* More records than are looked at without letting other threads in. */
static void a_watch_looks_at_the_whole_table(void **state)
{
    struct queueing *queueing = *state;
    char key[64];
    for (int i = 0; i < MANY; i++) {
        struct queued_change change = delete_of(position_of("p", i, key));
        change.is_held = true; /* the queue has room for as many */
        queue_change(queueing, &change);
    }
    assert_false(has_changed_at_once(queueing));
    claim(queueing, position_of("p", MANY, key));
    assert_true(has_changed_at_once(queueing));
    release(queueing, position_of("p", MANY, key));
    assert_false(has_changed_at_once(queueing));
    pending_forget_deletes(queueing->pending, "T");
}

static void a_watch_tells_of_claims_since(void **state)
{
    struct queueing *queueing = *state;
    struct table_watch first, second, other;
    pending_watch(queueing->pending, "T", &first);
    pending_watch(queueing->pending, "U", &other);
    claim_in(queueing, NULL, B("T"));
    claim(queueing, B("p\0r"));
    release(queueing, B("p\0r"));
    release_in(queueing, NULL, B("T"));
    pending_watch(queueing->pending, "T", &second);
    assert_true(pending_unwatch(queueing->pending, &first)); /* though it was released */
    assert_false(pending_unwatch(queueing->pending, &second));
    assert_false(pending_unwatch(queueing->pending, &other));
}

/* Then a row that was read before it ended may be gone. */
static void a_watch_tells_of_ends_since(void **state)
{
    struct queueing *queueing = *state;
    struct table_watch watch, other;
    queue_deletes(queueing, "p", 0, 1);
    send_rest(queueing);
    queue_deletes(queueing, "p", 1, 1);
    pending_watch(queueing->pending, "T", &watch);
    assert_false(pending_unwatch(queueing->pending, &watch));
    assert_false(watch.has_ended);
    pending_watch(queueing->pending, "T", &watch);
    pending_watch(queueing->pending, "TT", &other);
    send_rest(queueing);
    assert_false(pending_unwatch(queueing->pending, &watch));
    assert_false(pending_unwatch(queueing->pending, &other));
    assert_true(watch.has_ended);
    assert_false(other.has_ended);
}

/* A caller that waits for a queued delete gets the position when the delete has ended. */
static void a_claim_that_is_handed_over_counts(void **state)
{
    struct queueing *queueing = *state;
    struct table_watch watch;
    char key[64];
    struct other claimer = {.what = OTHER_CLAIMS, .position = position_of("p", 0, key)};
    queue_deletes(queueing, "p", 0, 1);
    start_waiting(queueing, &claimer, 1);
    pending_watch(queueing->pending, "T", &watch);
    assert_false(pending_unwatch(queueing->pending, &watch)); /* it has no claim yet */
    pending_watch(queueing->pending, "T", &watch);
    send_due(queueing, batches);
    assert_int_equal(result_of(&claimer), 0);
    assert_true(pending_unwatch(queueing->pending, &watch));
    release(queueing, claimer.position);
}

/* A page of keys: the rows `first` to first + n - 1 of partition p, with this ETag. */
static struct page *keys_of(int first, int n, struct bytes etag)
{
    _cleanup_(page_builder_destroyp) struct page_builder *builder = NULL;
    struct page *page;
    char key[64];
    assert_int_equal(page_builder_create(PAGE_MAX_BYTES, &builder), 0);
    for (int i = first; i < first + n; i++)
        assert_int_equal(page_builder_end_row(builder, position_of("p", i, key), etag, 1), 0);
    assert_int_equal(page_builder_finish(builder, RANGE_ALL, true, &page), 0);
    return page;
}

static size_t removed_rows(struct queueing *queueing, const char *table, size_t begin, int first,
                           int n, struct bytes etag)
{
    _cleanup_(page_unrefp) struct page *page = keys_of(first, n, etag);
    const struct run run = {page, begin, (size_t)n};
    return pending_removed_rows(queueing->pending, table, &run);
}

static void rows_are_compared_with_queued_deletes(void **state)
{
    struct queueing *queueing = *state;
    assert_int_equal(removed_rows(queueing, "T", 0, 0, 1, B("etag")), 0);
    queue_deletes(queueing, "p", 10, 10); /* 10 to 19 */
    queue_deletes(queueing, "p", 30, 5);
    assert_int_equal(removed_rows(queueing, "T", 0, 10, 10, B("etag")), 10);
    assert_int_equal(removed_rows(queueing, "T", 0, 12, 3, B("etag")), 3);
    assert_int_equal(removed_rows(queueing, "T", 0, 15, 10, B("etag")), 5);
    assert_int_equal(removed_rows(queueing, "T", 2, 15, 4, B("etag")), 2); /* 17 and 18 */
    assert_int_equal(removed_rows(queueing, "T", 0, 9, 10, B("etag")), 0);
    assert_int_equal(removed_rows(queueing, "T", 21, 9, 25, B("etag")), 4); /* 30 to 33 */
    assert_int_equal(removed_rows(queueing, "T", 0, 10, 10, B("etag2")), 0);
    assert_int_equal(removed_rows(queueing, "T", 0, 10, 10, B("eta")), 0);
    assert_int_equal(removed_rows(queueing, "T", 0, 10, 10, B("")), 0);
    assert_int_equal(removed_rows(queueing, "U", 0, 10, 10, B("etag")), 0);
    send_rest(queueing);
    assert_int_equal(removed_rows(queueing, "T", 0, 10, 10, B("etag")), 0);
}

static void only_a_delete_removes_a_row(void **state)
{
    struct queueing *queueing = *state;
    char key[64];
    queue_deletes(queueing, "p", 0, 3);
    queue_text(queueing, 3);
    queue_deletes(queueing, "p", 4, 1);
    claim(queueing, position_of("p", 5, key));
    assert_int_equal(removed_rows(queueing, "T", 0, 0, 6, B("etag")), 3); /* a text */
    assert_int_equal(removed_rows(queueing, "T", 0, 4, 2, B("etag")), 1); /* a claim */
    release(queueing, position_of("p", 5, key));
    struct bytes masked = position_of("p", 1, key);
    assert_int_equal(pending_mask(queueing->pending, "T", masked, B("etag")), 0);
    assert_int_equal(removed_rows(queueing, "T", 0, 0, 3, B("etag")), 1);
    pending_unmask(queueing->pending, "T", masked);
    assert_int_equal(removed_rows(queueing, "T", 0, 0, 3, B("etag")), 3);
    queueing->now_ms += PENDING_REST_MS;
    take(queueing, batches); /* what is being sent may still be there */
    assert_int_equal(removed_rows(queueing, "T", 0, 0, 3, B("etag")), 3);
    end_with(queueing, batches, BATCH_FAILED, failure_of(-EACCES, "refused"));
    assert_int_equal(removed_rows(queueing, "T", 0, 0, 3, B("etag")), 0);
}

static void deletes_of_a_dropped_table_are_forgotten(void **state)
{
    struct queueing *queueing = *state;
    struct other drainer = {.what = OTHER_DRAINS, .table = "T", .range = RANGE_ALL};
    pending_forget_deletes(queueing->pending, "T");
    for (int i = 0; i < MANY; i++) { /* of many partitions */
        char partition[16];
        (void)snprintf(partition, sizeof(partition), "p%04d", i / 2);
        queue_deletes(queueing, partition, i, 1);
    }
    struct queued_change elsewhere = delete_of(B("p0000\0x"));
    claim_in(queueing, "U", elsewhere.write.position);
    assert_int_equal(pending_queue(queueing->pending, "U", &elsewhere, call_of(queueing)), 0);
    assert_int_equal(stats_of(queueing).queued, MANY + 1);
    uint64_t ended = pending_ended(queueing->pending);
    start_waiting(queueing, &drainer, 1);
    pending_forget_deletes(queueing->pending, "T");
    assert_int_equal(result_of(&drainer), 0); /* and no failure */
    assert_int_equal(pending_ended(queueing->pending), ended + MANY);
    assert_int_equal(stats_of(queueing).queued, 1);
    assert_false(pending_has_queued(queueing->pending, "T"));
    assert_true(pending_has_queued(queueing->pending, "U"));
    send_rest(queueing);
    assert_false(pending_has_queued(queueing->pending, "U"));
}

static void held_deletes_are_forgotten(void **state)
{
    struct queueing *queueing = *state;
    char key[64];
    for (int i = 0; i < MANY; i++) {
        struct queued_change change = delete_of(position_of("p", i, key));
        change.is_held = true;
        queue_change(queueing, &change);
    }
    assert_int_equal(removed_rows(queueing, "T", 0, 0, MANY, B("etag")), MANY);
    pending_forget_deletes(queueing->pending, "T");
    assert_int_equal(stats_of(queueing).queued, 0);
    assert_int_equal(pending_partitions(queueing->pending), 0);
    queue_deletes(queueing, "p", 0, 1); /* in a new table of that name */
    pending_end_hold(queueing->pending, "T");
    assert_int_equal(due_ms(queueing), PENDING_REST_MS);
    send_rest(queueing);
}

static void what_is_sent_and_what_is_a_text_is_not_forgotten(void **state)
{
    struct queueing *queueing = *state;
    char key[64];
    struct other claimer = {.what = OTHER_CLAIMS, .position = position_of("p", 150, key)};
    queue_deletes(queueing, "p", 0, 100);
    take(queueing, batches);
    queue_deletes(queueing, "p", 100, 60);
    queue_text(queueing, 200);
    assert_int_equal(
        pending_mask(queueing->pending, "T", position_of("p", 101, (char[64]){0}), B("etag")), 0);
    start_waiting(queueing, &claimer, 1);
    pending_forget_deletes(queueing->pending, "T");
    assert_int_equal(result_of(&claimer), 0); /* the position is its own */
    assert_int_equal(stats_of(queueing).claims, 1);
    assert_int_equal(stats_of(queueing).masks, 1);
    assert_int_equal(stats_of(queueing).queued, 101);
    release(queueing, claimer.position);
    end_made(queueing, batches);
    assert_true(pending_has_queued(queueing->pending, "T"));
    queueing->now_ms += PENDING_REST_MS;
    take(queueing, batches);
    assert_batch(batches, "p", "200");
    end_made(queueing, batches);
    assert_false(pending_has_queued(queueing->pending, "T")); /* the mask is not queued */
    pending_unmask(queueing->pending, "T", position_of("p", 101, key));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(queue, a_watch_tells_of_what_is_there),
        TEST_WITH(queue, a_watch_looks_at_the_whole_table),
        TEST_WITH(queue, a_watch_tells_of_claims_since),
        TEST_WITH(queue, a_watch_tells_of_ends_since),
        TEST_WITH(queue, a_claim_that_is_handed_over_counts),
        TEST_WITH(queue, rows_are_compared_with_queued_deletes),
        TEST_WITH(queue, only_a_delete_removes_a_row),
        TEST_WITH(queue, deletes_of_a_dropped_table_are_forgotten),
        TEST_WITH(queue, held_deletes_are_forgotten),
        TEST_WITH(queue, what_is_sent_and_what_is_a_text_is_not_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
