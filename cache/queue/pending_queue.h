/* SPDX-License-Identifier: MIT */
#ifndef CACHE_QUEUE_PENDING_QUEUE_H
#define CACHE_QUEUE_PENDING_QUEUE_H
/* The queue of pending: changes that are sent later, in batches, while no caller waits. A caller
 * that has claimed a position hands its change over; from then on the change owns the position:
 *
 *     CLAIMED -queue-> WAITING -take-> SENDING -end-> FREE, or CLAIMED by a caller that waits
 *                      WAITING <-------SENDING        the service was not available
 *
 *   WAITING, SENDING   acknowledged; readers see the change as made (pending_next)
 *
 * A batch is an entity group transaction: changes of one partition, each position once. At most
 * PENDING_BATCHES_OUT batches of a partition are being sent at a time. A batch of a partition is
 * due, and a thread takes it:
 *
 *   if a full batch waits                           at once
 *   if its oldest change is PENDING_REST_MS old     at once, with as many changes as there are
 *   if a caller claims the position of a change     at once: that change is "hurried"
 *   if a drain covers a change of it                at once. If the drain's range has at most
 *                                                   PENDING_BATCH_MAX positions that are claimed,
 *                                                   masked or queued, its changes are hurried
 *   if the queue has no room for a change's bytes   at once, like all other partitions
 *   if the service was not available for its last   after 1 s, 2 s, ... 30 s, even if a full batch
 *     batch                                         or a claim waits. A drain, or a call that fails
 *                                                   for the same reason, makes it due earlier, at
 *                                                   most once a second; so does pending_close
 *
 * A batch takes the hurried changes of its partition first, then the oldest ones. So a caller that
 * claims waits only for the batches that are being sent, and for its own, however many changes were
 * queued earlier. This order is safe: changes of different positions are independent, and a
 * position has one change at most.
 *
 * Which partition is first? Partitions with a due batch have a rank; those of one rank take turns:
 *
 *   1   a change in it is hurried
 *   2   a drain covers a change in it
 *   3   any other
 *
 * Partitions that were ever held (below) may be thousands, and must not delay those that never
 * were. So while rank 1 is empty, and partitions of both kinds are due, the two kinds take turns,
 * whatever their rank. Exception: while rank 2 has only partitions that were never held, all
 * batches are theirs.
 *
 * BACK-PRESSURE. pending_queue waits while one of these is full:
 *
 *   the queue                 max_bytes for changes and partitions, minus what the texts of open
 *                             files take (pending_room.h)
 *   the change's partition    PENDING_PARTITION_MAX waiting changes
 *   the set of partitions     PENDING_PARTITIONS_MAX, if the change's partition is not in it yet
 *
 * The last two do not apply to a partition that is held or was held: only max_bytes limits these,
 * and they are not counted in the set. So no caller waits for a place until their changes are sent.
 * The last two limit how long a drain takes, because a drain holds the kernel's lock of a
 * directory. They are large enough to use all threads: 2,000 waiting changes fill both batches of a
 * partition, and 2,000 partitions occupy all threads. If a caller waits for bytes, or for a place
 * in the set, and no batch is due, what is queued becomes due: otherwise the caller would wait
 * until the oldest change is a second old.
 *
 * HELD CHANGES are deletes that wait for the rmdir of their table. They are sent when their hold
 * ends; earlier only for a claim, for a drain, or to make room. The last two limits do not apply to
 * them: pending_hold.h.
 *
 * While the service does not answer, nothing new is queued (pending_is_stalled), and a caller that
 * waits for room fails with the reason. Changes that are queued already stay until the service
 * makes or refuses them, or the mount ends.
 *
 * Threads, ownership and errors: as in pending.h. A queued text holds a reference to its page. */
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
    struct write write;   /* views; its `text` is not used */
    struct entity text;   /* the row that readers see; the queue takes a reference. Without a page:
                             a delete */
    size_t request_bytes; /* of the write in the body of a batch */
    uint64_t process;     /* handed back in struct batched */
    bool is_held;         /* a delete that joins the hold of the table */
};
/* Queues a change of a position that the caller has claimed. 0: the change owns the position, and
 * the caller must not release it. Blocks while there is no room. -ENOMEM; -EINTR, -ETIMEDOUT: no
 * room in time; or why the service does not answer. After an error the caller still has its claim.
 */
int pending_queue(struct pending *pending, const char *table, const struct queued_change *change,
                  struct call *call);

struct batched {
    struct record *record; /* private to pending */
    struct entity text;    /* borrowed; no page: a delete */
    uint64_t process;
    bool is_doubtful; /* it was sent before, and the answer was lost: it may have been made */
    /* Out, set by the thread that sends the batch: */
    enum { BATCH_AGAIN, BATCH_MADE, BATCH_FAILED } end; /* AGAIN: it must be sent again */
    struct failure failure;                             /* of BATCH_FAILED */
};

struct write_batch { /* large: on the heap */
    const char *table;
    size_t n;
    struct write writes[PENDING_BATCH_MAX]; /* borrowed from pending until pending_end */
    struct batched changes[PENDING_BATCH_MAX];
    /* private to pending: failed attempts in a row, and answered batches, when it was taken */
    int failed_before;
    uint64_t answered_before;
    /* Out: if changes must be sent again because of the service: why; else error 0. If the service
     * did not answer, nor answered another batch meanwhile, nothing new is queued until it answers
     * a batch. */
    struct failure again;
};
/* Waits until a batch is due, and takes it. Its writes are in ascending order. False: pending is
 * closed, and nothing is left to take. */
bool pending_take(struct pending *pending, struct write_batch *ret);
/* Gives a taken batch back: each of its changes has its `end`. The result of one that is MADE is
 * already in the range cache. The failure of one that has FAILED is kept for the next
 * pending_report that covers it; at most PENDING_FAILURES_MAX are kept. */
void pending_end(struct pending *pending, struct write_batch *batch);

/* Makes the queued changes of the range due, and waits until each has succeeded or failed: 0. Or
 * -EINTR, -ENOMEM; -ETIMEDOUT: the reason says how many are left, which are still sent; or, as soon
 * as the service does not answer, its error (is_unanswered). table NULL: everything. It does not
 * wait for changes that are queued after the call began. patience_ms: each time one of its changes
 * ends, the deadline becomes now + patience_ms; 0: the deadline is fixed. */
int pending_drain(struct pending *pending, const char *table, struct range range,
                  int64_t patience_ms, struct call *call);
enum reported_changes { REPORT_ALL, REPORT_DELETES };
/* Reports the first failed change of the range (REPORT_DELETES: the first failed delete) that was
 * not reported before: 1, and its reason is in call. 0: there is none. The others in the range
 * count as reported with it; the failure log has them all. */
int pending_report(struct pending *pending, enum reported_changes which, const char *table,
                   struct range range, struct call *call);

/* Did the service not answer the last batch? Then a caller sends its change itself instead of
 * queueing it, and gets the reason if that fails. The queue is retried as well, at most once a
 * second. */
bool pending_is_stalled(struct pending *pending);
/* How many failed changes are not reported yet; at most PENDING_FAILURES_MAX. */
size_t pending_unreported(struct pending *pending);
/* How many partitions have queued changes. */
size_t pending_partitions(struct pending *pending);

/* Makes everything due. From now on pending_take returns false when nothing is left. */
void pending_close(struct pending *pending);
/* Waits until nothing is queued, up to the deadline. */
void pending_wait_empty(struct pending *pending, int64_t deadline_ms);
/* After pending_close: pending_take returns false from now on, whatever is left. */
void pending_stop(struct pending *pending);
/* After pending_stop, when no batch is being sent: removes all changes that are left, as if they
 * had failed, and calls `visit` for each. */
typedef void pending_visitor(void *context, struct address address, const struct batched *change);
void pending_abandon(struct pending *pending, pending_visitor *visit, void *context);

#endif
