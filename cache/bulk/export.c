/* SPDX-License-Identifier: MIT */
/* The rows of a directory, for the commands that read whole tables. */
#include "cache/account.h"

int account_export(struct account *account, struct caller *caller,
                   const struct directory *directory, const struct row_choice *choice,
                   rows_sink *sink, void *context)
{
    _cleanup_(row_stream_closep) struct row_stream *stream = NULL;
    struct run rows;
    int r = account_stream_rows(account, caller, directory, choice, &stream);
    if (r < 0)
        return r;
    while ((r = row_stream_next(stream, caller, &rows)) > 0) {
        r = sink(context, &rows);
        run_finish(&rows);
        if (r != 0)
            return r;
    }
    return r;
}
