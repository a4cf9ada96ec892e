/* SPDX-License-Identifier: MIT */
#ifndef CACHE_QUEUE_PENDING_PARTS_H
#define CACHE_QUEUE_PENDING_PARTS_H
/* What the files of pending share. Private to them. Everything here is guarded by the monitor. */
#include "cache/queue/pending_hold.h"
#include "cache/queue/pending_queue.h"
#include "cache/queue/pending_table.h"
#include "client/base/monitor.h"

#include <bsd/sys/tree.h>
#include <stdatomic.h>
#include <sys/queue.h>

struct waiter { /* on the stack of its thread */
    TAILQ_ENTRY(waiter) entry;
    bool has_claim; /* the position is claimed by this waiter now */
};

TAILQ_HEAD(waiter_list, waiter);

enum record_state { FREE, CLAIMED, WAITING, SENDING };

struct mask {                      /* of a record */
    TAILQ_ENTRY(record) in_tables; /* of a masked table */
    struct etag etag;              /* of the masked version */
};

/* A queue may have hundreds of thousands of records with a queued change: both are kept small. */
struct record { /* of a position that is claimed, queued or masked */
    RB_ENTRY(record) by_key;
    struct address address;     /* table "": the position is a table's name */
    struct waiter_list waiters; /* first come, first served; none while FREE */
    struct mask *mask;          /* NULL: it is not masked */
    struct queued *queued;      /* while WAITING or SENDING */
    enum record_state state;
    char text[]; /* table, NUL, position */
};

struct queued { /* the change of a record */
    TAILQ_ENTRY(queued) in_partition;
    struct record *record;
    struct partition *partition;
    uint64_t number; /* counts all changes that were ever queued */
    int64_t queued_ms;
    struct entity text;
    uint64_t process;
    uint32_t bytes, request_bytes;
    uint32_t etag_size;
    uint8_t kind; /* enum write_kind */
    bool is_doubtful;
    bool is_hurried; /* a caller waits for this one: it is sent before earlier ones */
    char if_match[];
};

TAILQ_HEAD(queued_list, queued);

struct partition { /* that has a queued change */
    RB_ENTRY(partition) by_key;
    RB_ENTRY(partition) by_ready;
    struct address address;     /* the position is the PartitionKey */
    struct queued_list waiting; /* hurried changes first, then the others; both by number */
    struct queued_list sending; /* in any order */
    size_t count;               /* of `waiting` */
    size_t request_bytes;       /* of `waiting` */
    uint64_t due_number;        /* what is queued with this number or below is due */
    int64_t not_before_ms;      /* the next attempt is not earlier */
    int64_t taken_ms;           /* when the last batch was taken */
    int64_t ready_ms;           /* when a batch may be taken; INT64_MAX: never, and not in a tree */
    int out;                    /* batches that are being sent */
    int failed_in_a_row;        /* attempts at which the service was not available */
    bool is_held;               /* all changes of `waiting` are held: pending_hold.h */
    bool was_held;              /* it is held, or was */
    char text[];                /* table, NUL, PartitionKey */
};

struct hold { /* of a table, while changes of it are queued */
    TAILQ_ENTRY(hold) entry;
    int64_t began_ms;
    int64_t end_ms; /* when it ends */
    bool is_full;   /* it has ended because the room was full: no delete of the table is held */
    char table[];
};

struct kept_failure {
    TAILQ_ENTRY(kept_failure) entry;
    struct address address;
    struct failure failure;
    bool is_delete;
    char text[];
};

/* Waits for the changes of its range, one record after the other in key order: those before `at`
 * have ended, or were queued after the drain began. */
struct drain {
    LIST_ENTRY(drain) entry;
    const char *table; /* NULL: all */
    struct range range;
    uint64_t number;    /* of the last change that it waits for */
    struct position at; /* of the first such change, when it was last looked for; empty: not yet */
    bool has_progress;  /* a change that it waits for has ended */
};

TAILQ_HEAD(hold_list, hold);
RB_HEAD(record_tree, record);
TAILQ_HEAD(record_list, record);
RB_HEAD(partition_tree, partition);
RB_HEAD(ready_tree, partition);
TAILQ_HEAD(kept_failures, kept_failure);

struct queue {
    struct partition_tree partitions;
    struct ready_tree ready;        /* partitions that were never held; the next batch first */
    struct ready_tree ready_held;   /* partitions with was_held; likewise */
    _Atomic size_t partition_count; /* changes inside the monitor */
    size_t bytes;                   /* of changes and partitions */
    uint64_t last_number;
    struct hold_list holds;
    _Atomic size_t hold_count;     /* changes inside the monitor */
    size_t once_held;              /* partitions with was_held */
    struct kept_failures failures; /* the oldest first */
    size_t failure_count;
    LIST_HEAD(drain_list, drain) drains; /* that wait */
    struct failure again; /* why the last batch must be sent again; error 0: it need not */
    uint64_t answered;    /* batches that the service has answered */
    int64_t tried_ms;     /* when a caller last made batches due because of `again` */
    int out;              /* batches that are being sent */
    bool took_held;       /* the last batch was of a partition with was_held */
    bool is_closed, is_stopped;
};

struct pending {
    const struct clock *clock;
    struct pending_limits limits;
    struct monitor monitor;
    _Atomic size_t masks, claims, queued; /* change inside the monitor */
    _Atomic uint64_t ended;               /* queued changes and masks; likewise */
    struct record_tree records;
    struct record_list tables; /* masked ones, in the order in which they were masked */
    size_t table_count;
    size_t waiting;
    size_t reserved; /* bytes of texts that are not queued: pending_room.h */
    struct queue queue;
    LIST_HEAD(watch_list, table_watch) watches;
};

/* Is the address in the range of the table? table NULL: always. */
static inline bool is_in_range(const char *table, struct range range, struct address address)
{
    return !table || (strcmp(address.table, table) == 0 && range_holds(range, address.position));
}

/* The files below call only those above them: pending_records, pending_failures,
 * pending_partition, pending_hold, pending_stall, pending_room, pending_drain, pending_queue,
 * pending_table; pending.c calls all. */

/* Of pending_records.c: */
struct record *pending_find_locked(struct pending *pending, const char *table,
                                   struct bytes position);
/* The first record at or after the position; NULL: none in the table. */
struct record *pending_seek_locked(struct pending *pending, const char *table,
                                   struct bytes position);
struct record *pending_after_locked(struct record *record);
/* The first record after the address, also of another table. NULL: none. */
struct record *pending_behind_locked(struct pending *pending, struct address address);
/* NULL: out of memory. */
struct record *pending_find_or_add_locked(struct pending *pending, const char *table,
                                          struct bytes position);
/* Frees the record if it is FREE and has no mask. */
void pending_free_if_unused_locked(struct pending *pending, struct record *record);
void pending_set_claimed_locked(struct pending *pending, struct record *record);
/* The change or claim has ended: the first caller that waits for the record claims it; if none
 * waits, it is free. */
void pending_pass_on_locked(struct pending *pending, struct record *record);
/* The same for a claim. */
void pending_release_locked(struct pending *pending, struct record *record);
/* call_check, outside the monitor. */
int pending_check_locked(struct pending *pending, struct call *call, const char *late);
/* Called when a queued change of the table has ended: for the watches of pending_table.h. */
void watches_note_end_locked(struct pending *pending, const char *table);

/* Of pending_failures.c: */
void queue_finish(struct queue *queue);
void queue_keep_failure_locked(struct pending *pending, struct address address,
                               const struct batched *change);

/* Of pending_partition.c: */
struct address partition_address(const char *table, struct bytes position);
/* How much of max_bytes the partition itself takes. */
size_t partition_bytes(struct address address);
/* When a batch of the partition may be taken, by its present state. INT64_MAX: not before that
 * changes. */
int64_t partition_ready_ms(const struct pending *pending, const struct partition *partition);
/* NULL: there is none. */
struct partition *queue_find_partition_locked(struct pending *pending, struct address address);
/* Adds a partition without changes. NULL: out of memory. */
struct partition *queue_add_partition_locked(struct pending *pending, struct address address);
/* The partitions of a table that have queued changes, by key. NULL: no more. */
struct partition *queue_first_partition_locked(struct pending *pending, const char *table);
struct partition *queue_next_partition_locked(struct partition *partition);
/* The partition whose batch is taken next, at its ready_ms. NULL: none may be taken. */
struct partition *queue_first_ready_locked(struct pending *pending);
struct partition *queue_first_unheld_locked(struct pending *pending); /* of those never held */
/* Any change that waits to be sent; NULL: none. */
struct queued *queue_first_waiting_locked(struct queue *queue);
/* Adds the change to the waiting ones of its partition, or removes it. The caller then calls
 * queue_update_locked. */
void queue_insert_waiting_locked(struct queued *queued);
void queue_remove_waiting_locked(struct queued *queued);
/* Called after a change of the partition: computes ready_ms anew, and frees the partition if it has
 * no changes. */
void queue_update_locked(struct pending *pending, struct partition *partition);
/* May a batch of the partition be taken now? NULL: no. */
bool partition_is_ready(const struct pending *pending, const struct partition *partition);
/* A caller waits for bytes: makes everything due, unless a batch may be taken now. */
void queue_hurry_for_bytes_locked(struct pending *pending);
/* A caller waits for the change: makes it due, before the others of its partition. */
void queue_hurry_locked(struct pending *pending, struct queued *queued);
/* Makes due all partitions of the table that may have positions in the range; table NULL: all. */
void queue_make_due_locked(struct pending *pending, const char *table, struct range range);
void queue_make_unheld_due_locked(struct pending *pending); /* all that were never held */
/* Batches that wait to be sent again become due. */
void queue_try_again_locked(struct pending *pending);
/* Is a change with this number or a lower one still queued? */
bool queue_has_older_locked(struct pending *pending, uint64_t number);

/* The hold of a table; NULL: it has none. */
struct hold *hold_find_locked(const struct queue *queue, const char *table);
void hold_free_locked(struct queue *queue, struct hold *hold);

/* Of pending_hold.c: */
/* Called before the change is queued: sets whether the partition is held from now on. The caller
 * then calls queue_update_locked. */
void hold_change_locked(struct pending *pending, struct partition *partition,
                        const struct queued_change *change);
/* Ends the holds whose end_ms has passed. Returns when the next one ends; INT64_MAX: there is none.
 */
int64_t hold_end_due_locked(struct pending *pending);

/* Of pending_stall.c: */
/* While the service does not answer: the errno and the reason; else 0. */
int queue_check_answers_locked(struct pending *pending, struct call *call);
/* Batches that wait to be sent again become due, at most once a second, to find out whether the
 * service is back. This costs no request while the store knows that the service is down. */
void queue_probe_locked(struct pending *pending);

/* Of pending_room.c: */
size_t room_for_queue_locked(const struct pending *pending); /* bytes that the queue may use */

/* Of pending_drain.c: */
/* The queued change has just ended. */
void drains_note_end_locked(struct pending *pending, const struct queued *queued);

/* Of pending_queue.c: */
/* Ends a waiting change that was not sent. */
void queue_end_unsent_locked(struct pending *pending, struct queued *queued);

#endif
