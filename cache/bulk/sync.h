/* SPDX-License-Identifier: MIT */
#ifndef CACHE_BULK_SYNC_H
#define CACHE_BULK_SYNC_H
/* Makes one table equal to another: takes the differences that a comparison finds, and writes them
 * into TO through an import (import.h). One thread uses it; it has the import's.
 *
 *     sync_take       while the comparison goes on: what FROM alone has is inserted, what differs
 *                     replaces the version that was compared. What TO alone has waits in a file
 *     sync_finish     the comparison has ended: all is sent. A row that was changed meanwhile is
 *                     read and compared again
 *     sync_delete     the keys that wait are asked of FROM once more, and deleted where it still
 *                     lacks them, each in the version that was compared
 *
 * After a failure nothing more is sent, so a scan that has failed deletes nothing. */
#include "cache/bulk/comparison.h"
#include "cache/bulk/import.h"
#include "cache/bulk/version_file.h"

struct sync_events {
    void *context;
    /* Called about 20 times a second while sync waits. Is it to be given up? */
    bool (*waits)(void *context);
    /* A row was not written: it is refused, or was changed again and again. */
    void (*refused)(void *context, struct bytes position, const struct failure *failure);
};

struct sync_options {
    struct version_file *deletes; /* NULL: nothing is deleted; outlives sync */
    struct sync_events events;
};

struct sync;
/* 0 or -ENOMEM. The tables and their callers outlive it. */
int sync_create(const struct compared_table tables[COMPARE_SIDES],
                const struct sync_options *options, struct sync **ret);
void sync_destroy(struct sync *sync); /* takes NULL; gives up what is out */

/* These answer 0; -ECANCELED: it was given up; or -errno with the reason in sync_failure: then it
 * is of no use any more. */
int sync_take(struct sync *sync, const struct pair *pair);
int sync_finish(struct sync *sync);
int sync_delete(struct sync *sync);
/* Waits for what is out, after a failure or when the comparison has failed. */
void sync_wait(struct sync *sync);

/* The side that has failed, and why; error 0: the file of deletes. */
const struct failure *sync_failure(const struct sync *sync, enum compare_side *ret_side);

struct sync_counts {
    uint64_t inserted, replaced, deleted;
    uint64_t conflicts; /* rows that were changed meanwhile, and read again */
    uint64_t refused;   /* rows that are not as FROM has them */
};
struct sync_counts sync_counts(const struct sync *sync);
bool sync_is_throttled(const struct sync *sync);

DEFINE_CLEANUP(struct sync *, sync_destroy);

#endif
