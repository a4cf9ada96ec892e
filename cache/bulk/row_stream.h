/* SPDX-License-Identifier: MIT */
#ifndef CACHE_BULK_ROW_STREAM_H
#define CACHE_BULK_ROW_STREAM_H
/* All rows of a directory, or those that match a filter, in key order, page by page:
 * account_stream_rows of cache/account.h begins one. It reads ahead between the calls of
 * row_stream_next. One thread uses it. */
#include "cache/caller.h"
#include "client/store/page.h"

struct filter;

struct row_choice {
    bool keys_only;              /* pages of positions and ETags */
    const struct filter *filter; /* the service sends only rows that match; NULL: all rows */
    const char *select;          /* the properties to read: names separated by commas; NULL: all */
};

struct row_stream;

/* 1: the next rows, which the caller finishes; 0: the end; -errno with the reason in caller. The
 * time between two calls does not count against the caller's deadline. */
int row_stream_next(struct row_stream *stream, struct caller *caller, struct run *ret);
/* Takes NULL. Cancels the requests that are under way. */
void row_stream_close(struct row_stream *stream);

DEFINE_CLEANUP(struct row_stream *, row_stream_close);

#endif
