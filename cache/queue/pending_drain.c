/* SPDX-License-Identifier: MIT */
#include "cache/queue/pending_parts.h"

void drains_note_end_locked(struct pending *pending, const struct queued *queued)
{
    struct drain *drain;
    LIST_FOREACH(drain, &pending->queue.drains, entry)
    if (queued->number <= drain->number &&
        is_in_range(drain->table, drain->range, queued->record->address))
        drain->has_progress = true;
}

static struct queued *next_of_drain_locked(struct pending *pending, const struct drain *drain)
{
    struct range range = drain->range;
    if (drain->at.size > 0)
        range.lo = position_bytes(&drain->at);
    struct record *record = pending_seek_locked(pending, drain->table, range.lo);
    for (; record && range_holds(range, record->address.position);
         record = pending_after_locked(record))
        if (record->queued && record->queued->number <= drain->number)
            return record->queued;
    return NULL;
}

/* Is a change still queued that the drain waits for? */
static bool has_waiting_locked(struct pending *pending, struct drain *drain)
{
    if (!drain->table)
        return queue_has_older_locked(pending, drain->number);
    struct queued *queued = next_of_drain_locked(pending, drain);
    if (queued)
        position_set(&drain->at, queued->record->address.position);
    return queued;
}

/* How many changes the drain waits for; with table NULL those that are younger count, too. */
static size_t count_waiting_locked(struct pending *pending, const struct drain *drain)
{
    size_t count = 0;
    if (!drain->table)
        return pending->queued;
    struct record *record = pending_seek_locked(pending, drain->table, drain->range.lo);
    for (; record && range_holds(drain->range, record->address.position);
         record = pending_after_locked(record))
        count += record->queued && record->queued->number <= drain->number;
    return count;
}

/* Fails: the caller's time is over. 0: the drain is complete. */
static int fail_late_locked(struct pending *pending, struct drain *drain, struct call *call)
{
    call->failure = (struct failure){0};
    if (!has_waiting_locked(pending, drain))
        return 0;
    (void)call_fail(call, -ETIMEDOUT, "queued changes are still being sent: %zu",
                    count_waiting_locked(pending, drain));
    call->failure.advice = "they go on being sent: try again later";
    return -ETIMEDOUT;
}

static void put_off_locked(struct pending *pending, struct drain *drain, int64_t patience_ms,
                           struct call *call)
{
    if (drain->has_progress && patience_ms > 0)
        call->deadline_ms = clock_now_ms(pending->clock) + patience_ms;
    drain->has_progress = false;
}

static int wait_for_end_locked(struct pending *pending, struct drain *drain, int64_t patience_ms,
                               struct call *call)
{
    int r = 0;
    pending->waiting++;
    LIST_INSERT_HEAD(&pending->queue.drains, drain, entry);
    while (r == 0 && has_waiting_locked(pending, drain)) {
        r = queue_check_answers_locked(pending, call);
        if (r == 0) {
            monitor_wait(&pending->monitor);
            put_off_locked(pending, drain, patience_ms, call);
            r = pending_check_locked(pending, call, "");
            if (r == -ETIMEDOUT)
                r = fail_late_locked(pending, drain, call);
        }
    }
    LIST_REMOVE(drain, entry);
    pending->waiting--;
    return r;
}

/* If the range has few changes, sends these first. The rest of their partitions does not become due
 * for them. */
static bool hurry_few_locked(struct pending *pending, const struct drain *drain)
{
    struct record *few[PENDING_BATCH_MAX];
    size_t n = 0;
    struct record *record = pending_seek_locked(pending, drain->table, drain->range.lo);
    for (; record && range_holds(drain->range, record->address.position);
         record = pending_after_locked(record)) {
        if (n == ARRAY_SIZE(few))
            return false;
        few[n++] = record;
    }
    for (size_t i = 0; i < n; i++)
        if (few[i]->queued)
            queue_hurry_locked(pending, few[i]->queued);
    return true;
}

int pending_drain(struct pending *pending, const char *table, struct range range,
                  int64_t patience_ms, struct call *call)
{
    struct drain drain = {.table = table, .range = range};
    INSIDE(&pending->monitor);
    drain.number = pending->queue.last_number;
    queue_probe_locked(pending);
    if (!table || !hurry_few_locked(pending, &drain))
        queue_make_due_locked(pending, table, range);
    return wait_for_end_locked(pending, &drain, patience_ms, call);
}
