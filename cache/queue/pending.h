/* SPDX-License-Identifier: MIT */
#ifndef CACHE_QUEUE_PENDING_H
#define CACHE_QUEUE_PENDING_H
/* Claims on positions, queued changes, and masks. Pending knows which entities are being changed,
 * which changes are queued (pending_queue.h), and which entities and tables are masked. It keeps
 * one record per position, in key order. It is the only place where changes wait.
 *
 * ONE CHANGE PER POSITION. A caller that wants to change an entity claims its position first. If
 * another change has the position, the caller waits for it; a queued change is sent at once then.
 * Callers get the position in the order in which they came. Hence two changes of one entity never
 * overtake each other, none is merged with another, and no batch has a row twice.
 *
 *     FREE -claim-> CLAIMED -release-> FREE    the caller makes the change itself
 *                   CLAIMED -queue-> ...       the change is queued: pending_queue.h
 *
 *   CLAIMED   not acknowledged; readers see nothing of it
 *
 * The result of a change is in the range cache before its position is free. So the next change of
 * the entity finds it there, and an acknowledged change is visible at every moment: readers ask
 * pending before the range cache.
 *
 * A mask makes an entity or a table invisible to the readers of this mount until the mask is taken
 * away. The service still has it. A mask is not a change: a masked position can be claimed.
 *
 * Example: `rm f.json` queues a delete. `echo {} > f.json` follows, and claims the position: the
 * delete is sent at once, and the claim waits for its end. Then the store owns the position.
 *
 * Bounded: a record for each claim, of which a caller has a few at a time; for each masked entity,
 * which takes an editor's backup; for the PENDING_TABLES_MAX tables that were masked last; and for
 * what is queued, which has a limit of its own. A record takes 100 bytes beside its key, and a mask
 * or a queued change of it 90 at most beside its ETag. How many entities there are does not matter.
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
    size_t max_bytes;    /* of the queue's memory, and of the texts of pending_room.h */
    size_t batch_writes; /* of one batch; at most PENDING_BATCH_MAX count */
    size_t batch_bytes;  /* of its body */
};

struct pending;
/* The clock outlives it. */
int pending_create(const struct pending_limits *limits, const struct clock *clock,
                   struct pending **ret);
/* Takes NULL. Nothing is claimed or queued, and no thread is inside. */
void pending_destroy(struct pending *pending);

/* Claims n positions of one table. The positions ascend, and a caller that needs two tables claims
 * in the order of their names, so that no two callers wait for each other. No thread claims a
 * position that it has. Blocks up to the call's deadline. Returns 0; or -EINTR, -ETIMEDOUT or
 * -ENOMEM with the reason in call, and then nothing is claimed. */
int pending_claim(struct pending *pending, const char *table, const struct bytes *positions,
                  size_t n, struct call *call);
/* The caller has claimed them. */
void pending_release(struct pending *pending, const char *table, const struct bytes *positions,
                     size_t n);

/* Is the position claimed, or a change of it queued? Of another thread's change this may end at any
 * moment. While there is none at all, it is answered without the lock. */
bool pending_is_changing(struct pending *pending, const char *table, struct bytes position);

/* Is anything masked or queued? Without the lock. */
bool pending_has_overlay(const struct pending *pending);
/* How many queued changes and masks have ended. A look at pending that does not show one any more
 * comes before a look at the number that counts it. Without the lock. */
uint64_t pending_ended(const struct pending *pending);
enum overlaid { OVERLAID_NOT, OVERLAID_ROW, OVERLAID_GONE };
/* Finds the first position in the range at which readers see something else than the service has;
 * it is put into ret_position, which is cleared first. OVERLAID_ROW: a text is queued; the caller
 * finishes ret. OVERLAID_GONE: a delete is queued, or the position is masked. OVERLAID_NOT: there
 * is none; while nothing is masked or queued that is answered without the lock. -ENOMEM. With table
 * NULL the positions are names of tables. */
int pending_next(struct pending *pending, const char *table, struct range range, struct entity *ret,
                 struct buffer *ret_position);

/* Masks an entity, which stays in the service: the original of an editor's backup. With table NULL
 * it masks a table that was dropped and that the service may still list; `position` is then the
 * table's name, and the ETag any text that tells this drop from others. A mask replaces an earlier
 * one. 0, -ENOMEM; -EFBIG: the ETag has over ETAG_SIZE_MAX bytes. */
int pending_mask(struct pending *pending, const char *table, struct bytes position,
                 struct bytes etag);
/* Is the position masked? ret_etag: the version that is masked; empty: none is. */
bool pending_masked(struct pending *pending, const char *table, struct bytes position,
                    struct etag *ret_etag);
void pending_unmask(struct pending *pending, const char *table, struct bytes position);
/* The same, unless another mask has replaced the one with this ETag. Was it still there? */
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
