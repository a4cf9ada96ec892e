/* SPDX-License-Identifier: MIT */
#ifndef CACHE_QUEUE_PENDING_H
#define CACHE_QUEUE_PENDING_H
/* Claims on positions, queued changes, and masks. Pending records which entities are being changed,
 * which changes are queued (pending_queue.h), and which entities and tables are masked. It keeps
 * one record per position, in key order. Changes wait here and nowhere else.
 *
 * ONE CHANGE PER POSITION. A caller that wants to change an entity claims its position first. If
 * another change owns the position, the caller waits until that change ends; if that change is
 * queued, it is sent at once. Waiting callers get the position first come, first served. Hence two
 * changes of one entity never overtake each other, none is merged with another, and no batch has a
 * row twice.
 *
 *     FREE -claim-> CLAIMED -release-> FREE    the caller makes the change itself
 *                   CLAIMED -queue-> ...       the change is queued: pending_queue.h
 *
 *   CLAIMED   the change is not acknowledged, and readers do not see it
 *
 * The result of a change is in the range cache before its position is free. So the next change of
 * the entity finds it there. An acknowledged change is visible at every moment, because readers
 * query pending first and the range cache afterwards.
 *
 * A mask hides an entity or a table from the readers of this mount until the mask is removed. The
 * service still has it. A mask is not a change: a masked position can be claimed.
 *
 * Example: `rm f.json` queues a delete. `echo {} > f.json` follows, and claims the position: the
 * delete is sent at once, and the claim waits until it has ended. Then the store owns the position.
 *
 * Bounded: there is a record for each claim, and a caller has few claims at a time; for each masked
 * entity, which an editor's backup causes; for the PENDING_TABLES_MAX tables that were masked last;
 * and for each queued change, whose memory is limited by max_bytes. A record takes 100 bytes plus
 * its key; its mask or queued change takes 90 bytes at most, plus an ETag. The number of entities
 * in the account does not matter.
 *
 * Thread-safety: any thread; one mutex with one condition, a leaf; no I/O.
 * Ownership: table names, positions and ETags are copied.
 * Errors: 0 or -errno; a function that takes a call leaves the reason in call->failure. */
#include "cache/address.h"
#include "client/store/call.h"
#include "client/store/etag.h"
#include "client/store/page.h"

#define PENDING_TABLES_MAX 1000 /* the service lists a dropped table for a minute or so */

struct pending_limits {
    size_t max_bytes;    /* of the queue's memory, and of the texts of pending_room.h together */
    size_t batch_writes; /* of one batch; more than PENDING_BATCH_MAX has no effect */
    size_t batch_bytes;  /* of the body of one batch */
};

struct pending;
/* The clock outlives it. */
int pending_create(const struct pending_limits *limits, const struct clock *clock,
                   struct pending **ret);
/* Takes NULL. Nothing may be claimed or queued, and no thread may be in a function of pending. */
void pending_destroy(struct pending *pending);

/* Claims n positions of one table, in ascending order. A caller that needs two tables claims them
 * in the order of their names, so that no two callers wait for each other. A thread must not claim
 * a position that it has claimed already. Blocks up to the call's deadline. Returns 0; or -EINTR,
 * -ETIMEDOUT or -ENOMEM with the reason in call, and then nothing is claimed. */
int pending_claim(struct pending *pending, const char *table, const struct bytes *positions,
                  size_t n, struct call *call);
/* Ends claims of the caller. */
void pending_release(struct pending *pending, const char *table, const struct bytes *positions,
                     size_t n);

/* Is the position claimed, or a change of it queued? If another thread makes the change, it may end
 * at any moment. Takes no lock while pending has no claim and no queued change at all. */
bool pending_is_changing(struct pending *pending, const char *table, struct bytes position);

/* Is anything masked or queued? Takes no lock. */
bool pending_has_overlay(const struct pending *pending);
/* How many queued changes and masks have ended so far. The number grows before the change or mask
 * disappears. So if it is the same after a request as before it, none ended meanwhile. Read it
 * last, after pending itself. Takes no lock. */
uint64_t pending_ended(const struct pending *pending);
enum overlaid { OVERLAID_NOT, OVERLAID_ROW, OVERLAID_GONE };
/* Finds the first position in the range at which readers see something else than the service has,
 * and puts it into ret_position. OVERLAID_ROW: a text is queued; the caller finishes ret.
 * OVERLAID_GONE: a delete is queued, or the position is masked. OVERLAID_NOT: there is no such
 * position. With table NULL the positions are names of tables. Takes no lock while nothing is
 * masked or queued. */
enum overlaid pending_next(struct pending *pending, const char *table, struct range range,
                           struct entity *ret, struct position *ret_position);

/* Masks an entity, which stays in the service: an editor has renamed it to a backup. With table
 * NULL it masks a table that was dropped and that the service may still list. Then `position` is
 * the table's name, and the ETag is any text that differs from that of other drops. A mask replaces
 * an earlier one. 0, -ENOMEM; -EFBIG: the ETag has over ETAG_SIZE_MAX bytes. */
int pending_mask(struct pending *pending, const char *table, struct bytes position,
                 struct bytes etag);
/* Is the position masked? ret_etag: the masked version; empty if it is not masked. */
bool pending_masked(struct pending *pending, const char *table, struct bytes position,
                    struct etag *ret_etag);
void pending_unmask(struct pending *pending, const char *table, struct bytes position);
/* Removes the mask with this ETag, unless another mask has replaced it. Returns whether it was
 * removed. */
bool pending_unmask_version(struct pending *pending, const char *table, struct bytes position,
                            struct bytes etag);

struct pending_stats {
    size_t claims, waiting, masks; /* waiting: callers that wait for a position or for room */
    size_t queued, queued_bytes;   /* changes */
    size_t reserved;               /* bytes of texts that are not queued */
};
void pending_stats(struct pending *pending, struct pending_stats *ret);

DEFINE_CLEANUP(struct pending *, pending_destroy);

#endif
