/* SPDX-License-Identifier: MIT */
#include "cache/change/table_drop.h"

struct comparison {
    const struct table_drop_source *source;
    const char *table;
    int64_t began_ms, end_ms;
    int64_t answered_ms; /* when the last rows arrived; began_ms: none have */
};

/* An enum table_state, as far as these rows show. */
static int compare(const struct comparison *comparison, const struct run *rows)
{
    size_t removed = pending_removed_rows(comparison->source->pending, comparison->table, rows);
    return removed == rows->end - rows->begin ? TABLE_REMOVED : TABLE_IN_USE;
}

static int compare_all(struct comparison *comparison, struct caller *caller)
{
    const struct clock *clock = comparison->source->clock;
    _cleanup_(prefetcher_leavep) struct prefetcher *keys = NULL;
    int state = TABLE_EMPTY;
    const struct read_ahead_apart apart = {comparison->table, RANGE_ALL, .keys_only = true};
    int r = read_ahead_apart(comparison->source->read_ahead, caller, &apart, &keys);
    if (r < 0)
        return r;
    while (state != TABLE_IN_USE) {
        struct scan_item item = {0};
        r = call_check(&caller->call, clock, "no answer in time");
        if (r == 0)
            r = prefetcher_next(keys, caller, true, &item);
        if (r <= 0)
            return r < 0 ? r : state;
        comparison->answered_ms = clock_now_ms(clock);
        state = compare(comparison, &item.rows);
        run_finish(&item.rows);
    }
    return state;
}

/* The time is up. Was it too short for the rows, or does the service not answer? */
static int fail_late(const struct comparison *comparison, struct call *call)
{
    int64_t now_ms = clock_now_ms(comparison->source->clock);
    int64_t silent_ms = now_ms - comparison->answered_ms;
    if (now_ms < comparison->end_ms ||
        silent_ms > (comparison->end_ms - comparison->began_ms) / 2) {
        (void)call_fail(call, -ETIMEDOUT,
                        "the service did not answer for %lld s while the entities of the table "
                        "were read",
                        (long long)silent_ms / 1000);
        call->failure.advice = call_advice_late;
        return -ETIMEDOUT;
    }
    (void)call_fail(call, -EBUSY, "the entities of the table could not be compared in time");
    call->failure.advice =
        "what the program has deleted there is sent: try again, or use `tablefuse drop DIR/TABLE`";
    return -EBUSY;
}

int table_drop_compare(const struct table_drop_source *source, struct caller *caller,
                       const char *table, int64_t end_ms)
{
    int64_t now_ms = clock_now_ms(source->clock), callers_end_ms = caller->end_ms;
    struct comparison comparison = {source, table, now_ms, end_ms, now_ms};
    caller->end_ms = end_ms;
    caller->call.deadline_ms = MIN(caller->call.deadline_ms, end_ms);
    int r = compare_all(&comparison, caller);
    caller->end_ms = callers_end_ms;
    if (r != -ETIMEDOUT)
        caller_made_progress(caller, source->clock);
    return r == -ETIMEDOUT ? fail_late(&comparison, &caller->call) : r;
}
