/* SPDX-License-Identifier: MIT */
#ifndef CACHE_QUEUE_PENDING_TABLE_H
#define CACHE_QUEUE_PENDING_TABLE_H
/* What a drop of a table needs to know from pending. A table may be dropped by one request if for
 * each of its rows a delete of exactly that version is queued, and if nothing else in it changes
 * meanwhile. The steps of a drop:
 *
 *   pending_watch                    before the service is queried for the rows
 *   pending_removed_rows             for each page of rows
 *   the table is claimed             from now on no change of an entity in it begins
 *   pending_unwatch                  false: no change has begun since pending_watch
 *   the table is dropped, and the range cache knows it
 *   pending_forget_deletes
 *
 * A thread that changes an entity claims the entity first, and then checks whether its table is
 * claimed (write_side.h). So either pending_unwatch reports its claim, or the thread waits until
 * the table is dropped.
 *
 * Example: while the rows are read, another process of this mount stores a new file. Its row may
 * belong to a page that was already read. pending_unwatch returns true, and the table is not
 * dropped.
 *
 * Threads and ownership: as in pending.h. Nothing here blocks or fails. */
#include "cache/queue/pending.h"

#include <sys/queue.h>

struct table_watch { /* embedded, or on the stack, from pending_watch to pending_unwatch */
    LIST_ENTRY(table_watch) entry;
    const char *table; /* the owner's */
    bool has_changed;  /* private to pending: changes inside its monitor */
    bool has_ended;    /* likewise; read after pending_unwatch: a queued change has ended */
};
/* Begins to record claims in the table. True: a position of the table is already claimed, or a text
 * of it queued. */
bool pending_watch(struct pending *pending, const char *table, struct table_watch *watch);
/* Ends the recording. True: a position of the table was claimed, or a text of it queued, at
 * pending_watch or since. */
bool pending_unwatch(struct pending *pending, struct table_watch *watch);

/* How many rows at the start of the run have a queued delete of exactly their version. A masked row
 * counts as having none, because its entity stays; so does a row whose delete has just ended. */
size_t pending_removed_rows(struct pending *pending, const char *table, const struct run *run);

/* The table was dropped: ends its waiting deletes as if they had been made. Those that are being
 * sent end by themselves. Texts stay queued: they fail when the service answers that their table is
 * gone. */
void pending_forget_deletes(struct pending *pending, const char *table);
/* The same, and also ends texts as if they had been stored: they were dropped with the table. */
void pending_forget_all(struct pending *pending, const char *table);

/* Is any change in the table queued? */
bool pending_has_queued(struct pending *pending, const char *table);

#endif
