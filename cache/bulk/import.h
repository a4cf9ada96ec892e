/* SPDX-License-Identifier: MIT */
#ifndef CACHE_BULK_IMPORT_H
#define CACHE_BULK_IMPORT_H
/* Many changes of one table, sent in batches (groups.h), up to IMPORT_REQUESTS_MAX at a time:
 * account_import of cache/account.h begins one. What it sends does not go through the cache; what
 * it reads to repair a batch does. No other change of the table may be made through this account
 * meanwhile.
 *
 * One thread uses it. It has threads of its own that send requests; they start when there are
 * batches for them. import_step does the rest of the work, so it is called often:
 *
 *     while ((r = import_add(import, &write, size, line)) == -EAGAIN)
 *         import_step(import, IMPORT_ROOM, 50);
 *     ...
 *     while (import_step(import, IMPORT_ALL, 50))
 *         ;
 *     counts = import_counts(import);
 *
 * What is there already counts as made: an insert that finds its own text, a change of a version
 * that has changed to its own text since. So an import can be run again after a crash. A delete in
 * a table that is not there any more is made, too. */
#include "cache/bulk/groups.h"

#define IMPORT_REQUESTS_MAX 16

struct import;

/* A change that the service has refused, by import_step. Its rows are views, valid during the call.
 */
typedef void import_refused(void *context, const struct grouped *change,
                            const struct failure *failure);

/* 0; -EAGAIN: there is no room; -ENOMEM; or the error of import_failure. Does not block. */
int import_add(struct import *import, const struct write *write, uint64_t line);

enum import_sending {
    IMPORT_NOTHING, /* waits for what is out */
    IMPORT_READY,   /* sends the batches that can get no more rows */
    IMPORT_ROOM,    /* the same; if there is none, the largest one */
    IMPORT_ALL,     /* everything */
};
/* Takes the answers that have come, and sends more. If it has nothing of both to do, and something
 * is out, it waits up to max_wait_ms for an answer. False: nothing is out, and nothing that it
 * might send waits. */
bool import_step(struct import *import, enum import_sending sending, int64_t max_wait_ms);

struct import_counts {
    uint64_t stored;                 /* objects */
    uint64_t made[WRITE_DELETE + 1]; /* the same by the kind of their write */
    uint64_t refused;                /* objects, by the service */
    size_t waiting, out;             /* changes: one may stand for several objects */
};
struct import_counts import_counts(const struct import *import);
bool import_is_throttled(struct import *import); /* did the service ask to slow down lately? */
/* Why the import has ended early: the failure is one of the whole table, or the service does not
 * answer. NULL: it has not. Nothing more is sent then. */
const struct failure *import_failure(const struct import *import);

/* Takes NULL. Gives up what is out. */
void import_destroy(struct import *import);

DEFINE_CLEANUP(struct import *, import_destroy);

#endif
