/* SPDX-License-Identifier: MIT */
#ifndef CACHE_QUEUE_PENDING_TABLE_H
#define CACHE_QUEUE_PENDING_TABLE_H
/* What pending knows of a whole table: asked before the table is dropped, and told afterwards. A
 * table may be dropped by one request if each of its rows is one whose delete, of exactly that
 * version, is queued, and if nothing else changes in it meanwhile:
 *
 *   pending_watch                    before the service is asked for the rows
 *   pending_removed_rows             of each page of rows
 *   the table is claimed             from now on no change of an entity in it begins
 *   pending_unwatch                  false: no change has begun since pending_watch
 *   the table is dropped, and the range cache knows it
 *   pending_forget_deletes
 *
 * A thread that changes an entity claims the entity first and looks for a claim of its table
 * afterwards (write_side.h). So either pending_unwatch tells of its claim, or the thread waits
 * until the table is dropped.
 *
 * Example: while the rows are read, another process stores a new file. Its row may belong to a page
 * that was read before. pending_unwatch answers true, and the table is not dropped.
 *
 * Threads and ownership: as in pending.h. Nothing here blocks or fails. */
#include "cache/queue/pending.h"

#include <sys/queue.h>

struct table_watch { /* in its owner's memory, from pending_watch to pending_unwatch */
    LIST_ENTRY(table_watch) entry;
    const char *table; /* the owner's */
    bool has_changed;  /* private to pending: changes inside its monitor */
    bool has_ended;    /* likewise; after pending_unwatch: has a queued change ended meanwhile? */
};
/* Begins to note claims in the table. One that exists counts, and so does a queued text: true if
 * there is one already. */
bool pending_watch(struct pending *pending, const char *table, struct table_watch *watch);
/* Ends it. Has a position of the table been claimed since, or was one then, or a text queued? */
bool pending_unwatch(struct pending *pending, struct table_watch *watch);

/* How many rows of the run, from its begin on, have a queued delete of exactly this version. A
 * masked row has none: its entity stays. A delete that ends meanwhile is not queued any more. */
size_t pending_removed_rows(struct pending *pending, const char *table, const struct run *run);

/* The table was dropped: its deletes that wait to be sent have ended well. Those that are being
 * sent end by themselves. Texts stay: the service will tell that their table is gone. */
void pending_forget_deletes(struct pending *pending, const char *table);
/* The same for texts, too: they went with the table, as if they had been stored. */
void pending_forget_all(struct pending *pending, const char *table);

/* Is any change in the table queued? */
bool pending_has_queued(struct pending *pending, const char *table);

#endif
