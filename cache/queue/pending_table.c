/* SPDX-License-Identifier: MIT */
#include "cache/queue/pending_parts.h"

#define RECORDS_AT_ONCE 1000 /* before the monitor is left: a quarter of a millisecond */

static bool is_text(const struct record *record)
{
    return record->queued && record->queued->text.page;
}

static bool is_delete(const struct record *record)
{
    return record->queued && !record->queued->text.page;
}

/* True: the walk ends. It may free the record. */
typedef bool visitor(struct pending *pending, struct record *record);

struct walk { /* visits the records of a table, and leaves the monitor in between */
    const char *table;
    visitor *visit;
    struct position at;     /* it continues at this position */
    bool is_done, is_ended; /* ended: by the visitor */
};

static void walk_some_locked(struct pending *pending, struct walk *walk)
{
    struct record *next, *record;
    record = pending_seek_locked(pending, walk->table, position_bytes(&walk->at));
    for (size_t n = 0; record && !walk->is_ended; record = next, n++) {
        if (n == RECORDS_AT_ONCE) {
            position_set(&walk->at, record->address.position);
            return;
        }
        next = pending_after_locked(record);
        walk->is_ended = walk->visit(pending, record);
    }
    walk->is_done = true;
}

/* True: the visitor has ended the walk. */
static bool walk_all(struct pending *pending, const char *table, visitor *visit)
{
    struct walk walk = {.table = table, .visit = visit};
    while (!walk.is_done) {
        monitor_enter(&pending->monitor);
        uint64_t ended = pending->ended;
        walk_some_locked(pending, &walk);
        if (pending->ended != ended) /* there may be room, and a drain may be done */
            monitor_notify(&pending->monitor);
        monitor_leave(&pending->monitor);
    }
    return walk.is_ended;
}

static bool is_in_use(struct pending *pending, struct record *record)
{
    (void)pending;
    return record->state == CLAIMED || is_text(record);
}

/* A claim that ends before the walk reaches it has ended before this returns, so later answers of
 * the service show its change. A claim that begins during the walk is noted. */
bool pending_watch(struct pending *pending, const char *table, struct table_watch *watch)
{
    *watch = (struct table_watch){.table = table};
    monitor_enter(&pending->monitor);
    LIST_INSERT_HEAD(&pending->watches, watch, entry);
    monitor_leave(&pending->monitor);
    bool is_used = walk_all(pending, table, is_in_use);
    monitor_enter(&pending->monitor);
    watch->has_changed |= is_used;
    is_used = watch->has_changed;
    monitor_leave(&pending->monitor);
    return is_used;
}

bool pending_unwatch(struct pending *pending, struct table_watch *watch)
{
    INSIDE(&pending->monitor);
    LIST_REMOVE(watch, entry);
    return watch->has_changed;
}

static bool removes(const struct record *record, struct bytes etag)
{
    if (!is_delete(record) || record->mask)
        return false;
    const struct queued *queued = record->queued;
    return bytes_equal((struct bytes){queued->if_match, queued->etag_size}, etag);
}

/* The record of the position, which most often is the one after `record`. NULL: it has none. */
static struct record *find_from_locked(struct pending *pending, struct record *record,
                                       const char *table, struct bytes position)
{
    struct record *next = record ? pending_after_locked(record) : NULL;
    return next && bytes_equal(next->address.position, position)
               ? next
               : pending_find_locked(pending, table, position);
}

size_t pending_removed_rows(struct pending *pending, const char *table, const struct run *run)
{
    struct record *record = NULL;
    size_t row = run->begin;
    INSIDE(&pending->monitor);
    for (; row < run->end; row++) {
        record = find_from_locked(pending, record, table, page_position(run->page, row));
        if (!record || !removes(record, page_etag(run->page, row)))
            break;
    }
    return row - run->begin;
}

static bool forget_change(struct pending *pending, struct record *record)
{
    if (record->state == WAITING)
        queue_end_unsent_locked(pending, record->queued);
    return false;
}

static bool forget_delete(struct pending *pending, struct record *record)
{
    return is_delete(record) && forget_change(pending, record);
}

void pending_forget_deletes(struct pending *pending, const char *table)
{
    walk_all(pending, table, forget_delete);
}

void pending_forget_all(struct pending *pending, const char *table)
{
    walk_all(pending, table, forget_change);
}

bool pending_has_queued(struct pending *pending, const char *table)
{
    INSIDE(&pending->monitor);
    return queue_first_partition_locked(pending, table);
}
