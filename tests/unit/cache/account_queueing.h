/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CACHE_ACCOUNT_QUEUEING_H
#define TESTS_UNIT_CACHE_ACCOUNT_QUEUEING_H
/* What the tests of an account with a queue share. The clock stands still: what is queued is sent
 * when a full batch waits, or because of what the test does, and not because time passes. */
#include "tests/unit/cache/account_writing.h"

#define RM 7 /* a process */

static struct buffer lost_changes; /* the threads of the queue add to it, one at a time */

static inline void note_lost(void *context, const struct lost_change *lost)
{
    (void)context;
    struct bytes key = position_partition_key(lost->address.position);
    struct bytes row = position_row_key(lost->address.position);
    (void)buffer_append_format(&lost_changes, "%s %s %.*s/%.*s %s;",
                               lost->is_delete ? "unlink" : "write", lost->address.table,
                               (int)key.size, key.data, (int)row.size, row.data,
                               strerrorname_np(-lost->failure->error));
}

static inline void set_up_queue(struct setup *setup, struct setup_options options)
{
    lost_changes = (struct buffer){.max = 1 << 16};
    if (options.pending_bytes == 0)
        options.pending_bytes = (size_t)64 << 20;
    options.lost = note_lost;
    set_up(setup, options);
}

/* All that was lost was reported in order, since the last assertion. */
static inline void assert_lost(const char *expected)
{
    assert_string_equal(buffer_string(&lost_changes), expected);
    buffer_clear(&lost_changes);
}

/* Nothing is queued, and nothing was lost that was not expected. */
static inline void tear_down_queue(struct setup *setup)
{
    assert_int_equal(metric(setup, "tablefuse_queued"), 0);
    assert_int_equal(metric(setup, "tablefuse_queued_bytes"), 0);
    assert_int_equal(metric(setup, "tablefuse_changing"), 0);
    tear_down(setup);
    assert_lost("");
    buffer_finish(&lost_changes);
}

/* The process RM lists partition p, which has n rows. */
static inline void begin_rm(struct setup *setup, size_t n)
{
    setup->process = RM;
    assert_int_equal(list(setup, ROWS_OF("p"), false), n);
    memory_store_forget_diary(setup->memory);
}

/* The same for rows that are added first. */
static inline void begin_rm_of_new(struct setup *setup, int n)
{
    add_rows(setup, "p", n);
    begin_rm(setup, (size_t)n);
}

/* Row 00000 + number of partition p, as it was when it was added. */
static inline int unlink_row(struct setup *setup, int number)
{
    char position[16];
    int size = snprintf(position, sizeof(position), "p%c%05d", '\0', number);
    int r = account_unlink(setup->account, caller_of(setup),
                           address_of((struct bytes){position, (size_t)size}), B("etag"), PATH);
    assert_int_equal(setup->caller.call.failure.error, r);
    return r;
}

/* The first n of them, one after the other. */
static inline void unlink_rows(struct setup *setup, int n)
{
    for (int row = 0; row < n; row++)
        assert_int_equal(unlink_row(setup, row), 0);
}

static inline int sync_all(struct setup *setup)
{
    int r = account_sync(setup->account, caller_of(setup), "t", RANGE_ALL);
    assert_int_equal(setup->caller.call.failure.error, r);
    return r;
}

DEFINE_FIXTURE(account_queue, struct setup, set_up_queue(test, (struct setup_options){0}),
               tear_down_queue(test))

#endif
