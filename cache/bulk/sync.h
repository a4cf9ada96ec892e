/* SPDX-License-Identifier: MIT */
#ifndef CACHE_BULK_SYNC_H
#define CACHE_BULK_SYNC_H
/* Makes the table TO equal to the table FROM: takes the differences that a comparison finds, and
 * writes them into TO by an import (import.h). One thread uses it; the import has threads of its
 * own.
 *
 *     sync_take       for each pair of the comparison: an entity that only FROM has is inserted;
 *                     one that differs replaces the version of TO that was compared; the key of
 *                     one that only TO has is written to a file
 *     sync_finish     after the comparison: sends the rest. A row that another client has changed
 *                     meanwhile is read and compared again
 *     sync_delete     queries FROM for the keys in the file once more. Those that it still lacks
 *                     are deleted from TO, each in the version that was compared
 *
 * After a failure nothing more is sent, so a comparison that has failed deletes nothing. */
#include "cache/bulk/comparison.h"
#include "cache/bulk/import.h"
#include "cache/bulk/version_file.h"

struct sync_events {
    void *context;
    /* Called about 20 times a second while sync waits. Returns whether sync is to be cancelled. */
    bool (*waits)(void *context);
    /* A row was not written: the service refused it, or other clients changed it repeatedly. */
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
void sync_destroy(struct sync *sync); /* takes NULL; cancels the requests under way */

/* These return 0; -ECANCELED: `waits` returned true; or -errno with the reason in sync_failure:
 * then sync must only be waited for and destroyed. */
int sync_take(struct sync *sync, const struct pair *pair);
int sync_finish(struct sync *sync);
int sync_delete(struct sync *sync);
/* Waits for the requests under way, after a failure of sync or of the comparison. */
void sync_wait(struct sync *sync);

/* The side that has failed, and why; error 0: the file of deletes has failed. */
const struct failure *sync_failure(const struct sync *sync, enum compare_side *ret_side);

struct sync_counts {
    uint64_t inserted, replaced, deleted;
    uint64_t conflicts; /* rows that other clients changed meanwhile, and that were read again */
    uint64_t refused;   /* rows that could not be made equal to FROM's */
};
struct sync_counts sync_counts(const struct sync *sync);
bool sync_is_throttled(const struct sync *sync);

DEFINE_CLEANUP(struct sync *, sync_destroy);

#endif
