/* SPDX-License-Identifier: MIT */
/* All rows of a directory, for the commands that read whole tables. */
#include "cache/account_parts.h"

struct export
{
    struct account *account;
    struct caller *caller;
    const char *table;
    bool keys_only;
    rows_sink *sink;
    void *context;
};

/* The time that the sink takes, such as that of a slow pipe, is not the service's. */
static int next_rows(const struct export *export, struct prefetcher *prefetcher,
                     struct scan_item *ret)
{
    caller_made_progress(export->caller, export->account->read.clock);
    int r = call_check(&export->caller->call, export->account->read.clock, "no answer in time");
    return r < 0 ? r : prefetcher_next(prefetcher, export->caller, true, ret);
}

static int export_range(const struct export *export, struct range range)
{
    const struct read_ahead_apart apart = {export->table, range, export->keys_only};
    _cleanup_(prefetcher_leavep) struct prefetcher *prefetcher = NULL;
    int r = read_ahead_apart(export->account->read_ahead, export->caller, &apart, &prefetcher);
    while (r >= 0) {
        struct scan_item item = {0};
        r = next_rows(export, prefetcher, &item);
        if (r <= 0)
            return r;
        r = export->sink(export->context, &item.rows);
        run_finish(&item.rows);
        if (r != 0)
            return r;
    }
    return r;
}

int account_export(struct account *account, struct caller *caller,
                   const struct directory *directory, bool keys_only, rows_sink *sink,
                   void *context)
{
    const struct export export = {account, caller, directory->table, keys_only, sink, context};
    struct range range = directory->range;
    if (range_is_askable(range))
        return export_range(&export, range);
    /* the rest of a partition, and those that follow it */
    _cleanup_(buffer_finish) struct buffer behind;
    buffer_init(&behind, POSITION_MAX_BYTES);
    int r = position_append_behind(&behind, position_partition_key(range.lo));
    if (r < 0)
        return call_fail(&caller->call, r, "out of memory");
    r = export_range(&export, (struct range){range.lo, buffer_bytes(&behind)});
    return r != 0 ? r : export_range(&export, (struct range){buffer_bytes(&behind), range.hi});
}
