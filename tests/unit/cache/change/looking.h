/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_CACHE_CHANGE_LOOKING_H
#define TESTS_UNIT_CACHE_CHANGE_LOOKING_H
/* What the tests of table_drop share: rows over a store behind a gate, the deletes that are queued,
 * and a look. */
#include "cache/change/table_drop.h"
#include "cache/queue/pending_queue.h"
#include "tests/stores/pending_check.h"
#include "tests/unit/parts_fixture.h"

#define LOOK_MS INT64_C(30000) /* from now: the end of a look */

static struct setup {
    struct parts parts;
    const char *table;
    struct caller caller; /* of the last look */
    struct write write;   /* that another client makes, */
    size_t before;        /* before the store answers this request */
    int64_t page_ms;      /* how long each request takes */
} setup;

static inline void set_up(int parallelism)
{
    setup = (struct setup){.table = "t", .before = SIZE_MAX};
    parts_set_up(&setup.parts, (struct parts_options){.parallelism = parallelism});
}

static inline void tear_down(void)
{
    pending_forget_deletes(setup.parts.pending, setup.table);
    assert_true(pending_is_consistent(setup.parts.pending));
    assert_false(pending_has_queued(setup.parts.pending, setup.table));
    parts_tear_down(&setup.parts);
}

static inline void claim(struct bytes position)
{
    struct call call = parts_caller(&setup.parts)->call;
    assert_int_equal(pending_claim(setup.parts.pending, setup.table, &position, 1, &call), 0);
}

static inline void release(struct bytes position)
{
    pending_release(setup.parts.pending, setup.table, &position, 1);
}

static inline void queue_change(const struct queued_change *change)
{
    struct call call = parts_caller(&setup.parts)->call;
    claim(change->write.position);
    assert_int_equal(pending_queue(setup.parts.pending, setup.table, change, &call), 0);
}

static inline void queue_delete(struct bytes position, struct bytes etag)
{
    struct queued_change change = {
        .write = {.kind = WRITE_DELETE, .position = position, .if_match = etag},
        .request_bytes = 100,
        .process = FIND,
        .is_held = true};
    queue_change(&change);
}

/* Partitions p0000 and on; all their rows, and a delete of each. */
static inline void add_removed(int partitions, int rows)
{
    parts_add_many(&setup.parts, partitions, rows);
    for (int i = 0; i < partitions; i++)
        for (int row = 0; row < rows; row++) {
            char key[32];
            int size = snprintf(key, sizeof(key), "p%04d%c%05d", i, '\0', row);
            queue_delete((struct bytes){key, (size_t)size}, B("etag"));
        }
}

static inline int look_until(int64_t deadline_ms)
{
    const struct table_drop_source source = {setup.parts.read_ahead, setup.parts.pending,
                                             setup.parts.read.clock};
    int r = table_drop_compare(&source, &setup.caller, setup.table, deadline_ms);
    assert_int_equal(setup.caller.call.failure.error, MIN(r, 0));
    return r;
}

static inline int look(void)
{
    setup.caller = *parts_caller(&setup.parts);
    return look_until(setup.parts.now_ms + LOOK_MS);
}

/* With a watch around it, as rmdir does. */
static inline int look_and_watch(bool *ret_has_changed)
{
    struct table_watch watch;
    pending_watch(setup.parts.pending, setup.table, &watch);
    int r = look();
    *ret_has_changed = pending_unwatch(setup.parts.pending, &watch);
    return r;
}

static inline void assert_look(int state, size_t requests)
{
    size_t before = parts_asked(&setup.parts);
    bool has_changed;
    assert_int_equal(look_and_watch(&has_changed), state);
    assert_false(has_changed);
    assert_int_equal(parts_asked(&setup.parts) - before, requests);
}

#endif
