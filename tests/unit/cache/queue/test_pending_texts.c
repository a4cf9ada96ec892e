/* SPDX-License-Identifier: MIT */
/* Going along what is queued, as the end of a mount does. */
#include "cache/queue/pending_texts.h"
#include "tests/unit/cache/queue/queueing.h"

static const struct pending_limits limits = {1 << 20, 100, 1 << 20};

static void put(struct queueing *queueing, const char *table, struct bytes position,
                struct bytes if_match)
{
    _cleanup_(page_unrefp) struct page *page =
        position.size > 1 ? row_of(position, position) : NULL;
    struct queued_change change = page ? text_of(position, page) : delete_of(position);
    if (page)
        change.write.if_match = if_match;
    assert_int_equal(pending_claim(queueing->pending, table, &position, 1, call_of(queueing)), 0);
    assert_int_equal(pending_queue(queueing->pending, table, &change, call_of(queueing)), 0);
}

static void assert_next(struct queueing *queueing, struct queued_text *at, const char *table,
                        struct bytes position, struct bytes if_match)
{
    assert_true(pending_next_text(queueing->pending, at));
    assert_string_equal(at->table, table);
    assert_bytes(position_bytes(&at->position), position);
    assert_bytes(page_text(at->text.page, at->text.row), position);
    assert_bytes(etag_bytes(&at->if_match), if_match);
}

static void end_change(void *context, struct address address, const struct batched *change)
{
    (void)context, (void)address, (void)change;
}

static void texts_come_by_table_and_position(void **state)
{
    (void)state;
    struct queueing queueing;
    struct queued_text at = {0};
    queueing_set_up(&queueing, limits);
    assert_false(pending_next_text(queueing.pending, &at));
    put(&queueing, "U", B("p\0r"), B("*"));
    put(&queueing, "T", B("p\0s"), B("version"));
    put(&queueing, "T", B("d"), B("")); /* a delete */
    put(&queueing, "T", B("p\0r"), B(""));
    assert_int_equal(pending_mask(queueing.pending, "T", B("p\0q"), B("masked")), 0);
    assert_int_equal(pending_mask(queueing.pending, NULL, B("V"), B("dropped")), 0);
    struct bytes claimed = B("p\0t");
    assert_int_equal(pending_claim(queueing.pending, "T", &claimed, 1, call_of(&queueing)), 0);
    assert_next(&queueing, &at, "T", B("p\0r"), B(""));
    assert_next(&queueing, &at, "T", B("p\0s"), B("version"));
    put(&queueing, "S", B("p\0r"), B("")); /* it was passed */
    assert_next(&queueing, &at, "U", B("p\0r"), B(""));
    assert_false(pending_next_text(queueing.pending, &at));
    queued_text_finish(&at);
    pending_release(queueing.pending, "T", &claimed, 1);
    pending_close(queueing.pending);
    pending_stop(queueing.pending);
    pending_abandon(queueing.pending, end_change, NULL);
    queueing_tear_down(&queueing);
}

/* What is being sent is not stored yet. */
static void what_is_out_is_met(void **state)
{
    (void)state;
    struct queueing queueing;
    struct queued_text at = {0};
    struct write_batch *batch = calloc(1, sizeof(*batch));
    assert_non_null(batch);
    queueing_set_up(&queueing, limits);
    put(&queueing, "T", B("p\0r"), B(""));
    pending_close(queueing.pending);
    assert_true(pending_take(queueing.pending, batch));
    assert_next(&queueing, &at, "T", B("p\0r"), B(""));
    batch->changes[0].end = BATCH_MADE;
    pending_end(queueing.pending, batch);
    assert_bytes(page_text(at.text.page, at.text.row), B("p\0r")); /* it is a copy */
    queued_text_finish(&at);
    free(batch);
    queueing_tear_down(&queueing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_come_by_table_and_position),
        cmocka_unit_test(what_is_out_is_met),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
