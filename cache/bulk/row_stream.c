/* SPDX-License-Identifier: MIT */
#include "cache/core.h"

struct row_stream {
    const struct clock *clock;
    struct prefetcher *prefetcher;
};

int account_stream_rows(struct account *account, struct caller *caller,
                        const struct directory *directory, const struct row_choice *choice,
                        struct row_stream **ret)
{
    const struct read_ahead_apart apart = {.table = directory->table,
                                           .range = directory->range,
                                           .keys_only = choice->keys_only,
                                           .filter = choice->filter,
                                           .select = choice->select};
    _cleanup_(row_stream_closep) struct row_stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return call_fail(&caller->call, -ENOMEM, "out of memory");
    stream->clock = account->read.clock;
    int r = read_ahead_apart(account->read_ahead, caller, &apart, &stream->prefetcher);
    if (r == 0)
        *ret = TAKE_PTR(stream);
    return r;
}

int row_stream_next(struct row_stream *stream, struct caller *caller, struct run *ret)
{
    struct scan_item item = {0};
    caller_made_progress(caller, stream->clock);
    int r = call_check(&caller->call, stream->clock, "no answer in time");
    if (r == 0)
        r = prefetcher_next(stream->prefetcher, caller, true, &item);
    if (r > 0)
        *ret = item.rows;
    return r;
}

void row_stream_close(struct row_stream *stream)
{
    if (!stream)
        return;
    prefetcher_leave(stream->prefetcher);
    free(stream);
}
