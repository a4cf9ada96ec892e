/* SPDX-License-Identifier: MIT */
#ifndef CACHE_BULK_IMPORT_H
#define CACHE_BULK_IMPORT_H
/* Many changes of one table, sent in batches (groups.h), up to IMPORT_REQUESTS_MAX at a time.
 * account_import of cache/account.h begins one. The rows that it sends are not cached; rows that it
 * reads to repair a batch are. No other change of the table may be made through this account
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
 * A change whose result exists already counts as made: an insert that finds its own text, or a
 * replace of a version that has been replaced by the same text. So an import can be run again after
 * a crash. A delete in a table that no longer exists counts as made, too. */
#include "cache/bulk/groups.h"

#define IMPORT_REQUESTS_MAX 16

struct import;

/* Called by import_step for a change that the service has refused. The change has views, which are
 * valid during the call. */
typedef void import_refused(void *context, const struct grouped *change,
                            const struct failure *failure);

/* Adds a change. 0; -EAGAIN: there is no room; -ENOMEM; or the error of import_failure. Does not
 * block. */
int import_add(struct import *import, const struct write *write, uint64_t line);

enum import_sending {
    IMPORT_NOTHING, /* sends no more batches, only takes answers */
    IMPORT_READY,   /* sends the batches that can get no more rows */
    IMPORT_ROOM,    /* the same; if there is none, the largest one */
    IMPORT_ALL,     /* sends all batches */
};
/* Takes the answers that have arrived, and sends more batches. If it can do neither, and a request
 * is under way, it waits up to max_wait_ms for an answer. False: no request is under way, and there
 * is no batch that it may send. */
bool import_step(struct import *import, enum import_sending sending, int64_t max_wait_ms);

struct import_counts {
    uint64_t stored;                 /* objects */
    uint64_t made[WRITE_DELETE + 1]; /* the same by the kind of their write */
    uint64_t refused;                /* objects, by the service */
    size_t waiting, out;             /* changes that wait, or are being sent; one may stand for
                                        several objects */
};
struct import_counts import_counts(const struct import *import);
bool import_is_throttled(struct import *import); /* has the service throttled a recent request? */
/* Why the import has ended early: a failure that concerns the whole table, or the service does not
 * answer. Nothing more is sent then. NULL: it has not ended early. */
const struct failure *import_failure(const struct import *import);

/* Takes NULL. Cancels the requests that are under way. */
void import_destroy(struct import *import);

DEFINE_CLEANUP(struct import *, import_destroy);

#endif
