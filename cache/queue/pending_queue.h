/* SPDX-License-Identifier: MIT */
#ifndef CACHE_QUEUE_PENDING_QUEUE_H
#define CACHE_QUEUE_PENDING_QUEUE_H
/* The queue of pending: changes that no caller waits for, and that are sent in batches. A caller
 * that has claimed a position hands its change over, and the change has the position from then on:
 *
 *     CLAIMED -queue-> WAITING -take-> SENDING -end-> FREE, or CLAIMED by a caller that waits
 *                      WAITING <-------SENDING        the service was not available
 *
 *   WAITING, SENDING   acknowledged; readers see the change as made (pending_next)
 *
 * A batch is an entity group transaction: changes of one partition, each position once. At most
 * PENDING_BATCHES_OUT batches of a partition are out at once. When is a batch taken?
 *
 *   a full batch waits                              at once
 *   the oldest change is PENDING_REST_MS old        then, with what there is
 *   a caller claims a position that is queued       at once: the change is hurried
 *   a drain covers it, and at most                  at once: these are hurried
 *     PENDING_BATCH_MAX records of the table
 *   a drain covers it and more                      at once
 *   the queue has no room for a change's bytes      at once, everything
 *   the service was not available at the last one   after 1 s, 2 s, ... 30 s; with a drain, or once
 *                                                   a call has failed for that reason, at once, but
 *                                                   at most once a second; when pending is closed.
 *                                                   Until then a full batch, or a claim, waits, too
 *
 * Within a partition the hurried changes go first, then the oldest. So a caller that claims waits
 * for the batches that are out, and for its own, however many changes were queued before. This
 * tears nothing: the queue knows no order between positions, and a position has one change at most.
 * Partitions that are ready are ranked; those of one rank take turns:
 *
 *   1   a change in it is hurried
 *   2   a drain covers a change in it
 *   3   any other
 *
 * Of partitions that are held or have been there may be thousands. So while one that was never held
 * is ready, too, and rank 1 is empty, they get every second batch, whatever the rank; none, if rank
 * 2 has only such that were never held.
 *
 * BACK-PRESSURE. pending_queue waits for room:
 *
 *   of the whole queue        max_bytes, for changes and partitions, less what the texts of open
 *                             files take (pending_room.h)
 *   of the change's           PENDING_PARTITION_MAX waiting changes, unless it is held or has been
 *     partition
 *   of partitions             PENDING_PARTITIONS_MAX that were never held, if its own is new
 *
 * The last two bound the time of a drain of what was never held: a drain holds the kernel's lock of
 * a directory. They are large enough: 2,000 waiting changes fill both batches of a partition, and
 * 2,000 partitions occupy all threads. A caller that waits for such a place does not wait for what
 * was held, of which there is no limit but max_bytes: see above. While a caller waits for bytes, or
 * for a place for its partition, and no batch is ready, what is queued is due: else it would wait
 * until the oldest change is a second old.
 *
 * HELD CHANGES are not sent before their hold ends, except for a claim, a drain or want of room,
 * and they do not wait for the last two: pending_hold.h.
 *
 * While the service does not answer, nothing new is queued: pending_is_stalled, and a caller that
 * waits for room fails with the reason. What is queued already stays until the service takes or
 * refuses it, or the mount ends.
 *
 * Threads, ownership and errors: as in pending.h. Texts are held by a reference to their page. */
#include "cache/queue/pending.h"
#include "client/store/table_store.h"

#define PENDING_REST_MS        INT64_C(1000)
#define PENDING_BATCHES_OUT    2
#define PENDING_PARTITION_MAX  2000 /* waiting changes: as many as Azure takes in a second */
#define PENDING_PARTITIONS_MAX 2000
#define PENDING_BATCH_MAX      100 /* changes of one batch, whatever a store allows */
#define PENDING_AGAIN_MIN_MS   1000
#define PENDING_AGAIN_MAX_MS   30000
#define PENDING_FAILURES_MAX   1000

struct queued_change {
    struct write write;   /* views; `text` counts for its length alone */
    struct entity text;   /* one row, which readers see; referenced. No page: a delete */
    size_t request_bytes; /* which the write takes of a batch's body */
    uint64_t process;     /* handed back with the change */
    bool is_held;         /* a delete that joins the hold of the table */
};
/* The caller has claimed the position, and does not release it after 0: the change has it then.
 * Blocks for room. -ENOMEM; -EINTR, -ETIMEDOUT: no room in time; or why the service does not
 * answer: the claim stays. */
int pending_queue(struct pending *pending, const char *table, const struct queued_change *change,
                  struct call *call);

struct batched {
    struct record *record; /* private to pending */
    struct entity text;    /* borrowed; no page: a delete */
    uint64_t process;
    bool is_doubtful; /* it was sent before, and the answer was lost: it may have been made */
    /* Out, by the user of the batch: */
    enum { BATCH_AGAIN, BATCH_MADE, BATCH_FAILED } end; /* AGAIN: it is still to be sent */
    struct failure failure;                             /* of BATCH_FAILED */
};

struct write_batch { /* large: on the heap */
    const char *table;
    size_t n;
    struct write writes[PENDING_BATCH_MAX]; /* borrowed from pending until pending_end */
    struct batched changes[PENDING_BATCH_MAX];
    int failed_before; /* private to pending: attempts in a row, when it was taken */
    /* Out: why changes are sent again; error 0: for no reason of the service. If it is unanswered,
     * nothing new is queued until a batch is answered. */
    struct failure again;
};
/* Waits until a batch is due, and takes it. Its writes ascend. False: pending is closed, and
 * nothing is left to be taken. */
bool pending_take(struct pending *pending, struct write_batch *ret);
/* Each change has its end. Of one that is MADE the result is in the range cache by now. The failure
 * of another is kept for the next pending_report that covers it, of PENDING_FAILURES_MAX at most.
 */
void pending_end(struct pending *pending, struct write_batch *batch);

/* Makes what is queued in the range due, and waits until it has ended. 0, whether it has succeeded
 * or failed; -EINTR, -ENOMEM; -ETIMEDOUT, with how many are left, and they go on; or, as soon as
 * the service does not answer, why (is_unanswered). table NULL: everything. What is queued after
 * the call began does not count. patience_ms: when a change that it waits for has ended, the
 * deadline is this far away again; 0: it is not put off. */
int pending_drain(struct pending *pending, const char *table, struct range range,
                  int64_t patience_ms, struct call *call);
enum reported_changes { REPORT_ALL, REPORT_DELETES };
/* Tells the first of these changes in the range that has failed, and that was not told before: 1,
 * and its reason is in call; or 0. The others are forgotten with it: they are in the failure log.
 */
int pending_report(struct pending *pending, enum reported_changes which, const char *table,
                   struct range range, struct call *call);

/* Did the service not answer the last batch? Then a caller sends its change by itself, and gets the
 * reason; what is queued is tried again, too, at most once a second. */
bool pending_is_stalled(struct pending *pending);
/* How many changes have failed that were not told; at most PENDING_FAILURES_MAX. */
size_t pending_unreported(struct pending *pending);
/* How many partitions have queued changes. */
size_t pending_partitions(struct pending *pending);

/* Everything is due now. pending_take answers false as soon as nothing is left. */
void pending_close(struct pending *pending);
/* Waits until nothing is queued, up to the deadline. */
void pending_wait_empty(struct pending *pending, int64_t deadline_ms);
/* After pending_close: pending_take answers false from now on, whatever is left. */
void pending_stop(struct pending *pending);
/* After pending_stop, when no batch is out: takes what is left, one after the other, as if it had
 * failed; `visit` is told each. */
typedef void pending_visitor(void *context, struct address address, const struct batched *change);
void pending_abandon(struct pending *pending, pending_visitor *visit, void *context);

#endif
