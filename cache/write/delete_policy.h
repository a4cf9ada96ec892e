/* SPDX-License-Identifier: MIT */
#ifndef CACHE_WRITE_DELETE_POLICY_H
#define CACHE_WRITE_DELETE_POLICY_H
/* Decides what an unlink does:
 *   NOW      it is sent at once, and its result is the answer
 *   QUEUED   it is queued, and sent with others later
 *   HELD     it is queued and kept back, because the process seems to delete the whole table: the
 *            rmdir of the table may drop the table instead
 *
 * Two tables decide, one after the other: SENDING and HOLDING. SENDING tells whether the unlink is
 * NOW or QUEUED. HOLDING tells whether a QUEUED one is HELD. Each of the two has a table of events
 * behind it.
 *
 * SENDING: NOW or QUEUED? What counts is the burst of the process. A burst ends with a rest:
 * DELETE_POLICY_REST_MS without an event of the table behind SENDING. To wait is no rest: while an
 * operation of the process runs (delete_policy_begin), the burst goes on. Its count is the number
 * of NOW since it began or since a delete failed. The first row that applies decides; whether the
 * process has listed is said of the unlink's directory:
 *
 *   since the count began                has not listed    has listed    for example
 *   no delete has succeeded              NOW               NOW           no permission
 *   one has, the count is below FIRST    NOW               QUEUED        rm a b c; rm -r
 *   one has, the count is FIRST          QUEUED            QUEUED        rm *
 *
 *   event                      within a burst                 after a rest
 *   delete_policy_unlink       it goes on                     a burst begins
 *   delete_policy_answered     it goes on                     it goes on
 *     of a failure             and the count begins again     and the count begins again
 *   delete_policy_active       it goes on                     nothing
 *   delete_policy_removed      it goes on                     nothing
 *   delete_policy_begin, _end  no event, but in HOLDING(p)    nothing
 *                              it goes on
 *
 * In the mount _active and _removed come within an operation, which ends a rest at its begin. After
 * a rest they come only if the process was not remembered then.
 *
 * So a process without permission gets the error of each file: each delete is sent at once until
 * one succeeds.
 *
 * HOLDING: QUEUED or HELD? What SENDING tells to be NOW is NOW in every state. A burst begins in
 * NONE. In the state HOLDING(p) the process deletes one partition after the other, each to
 * its rmdir; p is the partition of its last unlink, and q is another one of the same table. An
 * unlink may be held if both facts are true: has_listed and may_hold. The first row that applies
 * decides:
 *
 *   state         unlink                                state then         instead of QUEUED
 *   NONE          may be held, and is not NOW           HOLDING(p)         HELD
 *   NONE          any other                             NONE               -
 *   HOLDING(p)    may be held, in p                     HOLDING(p)         HELD
 *   HOLDING(p)    may be held, in q, p was removed      HOLDING(q)         HELD
 *   HOLDING(p)    any other: in q while p stands, in    OFF, and the hold  -
 *                 another table, may not be held        has been left
 *   OFF           any                                   OFF                -
 *
 *   event                      NONE    HOLDING(p)                                  OFF
 *   delete_policy_answered     NONE    HOLDING(p), also after a failure            OFF
 *   delete_policy_active,      NONE    HOLDING(p)                                  OFF
 *     _begin, _end
 *   delete_policy_removed      NONE    HOLDING(p); if the range holds all of p,    OFF
 *                                      p was removed, until the next unlink in p
 *   delete_policy_end_table    NONE    NONE if p is of that table                  NONE
 *   the burst ends             NONE    NONE                                        NONE
 *
 * Without memory for p the state is OFF in the place of HOLDING(p). When a burst ends, or its
 * process is forgotten, the caller is not told that the hold has been left: it ends in the queue by
 * itself, because the process does not go on (delete_policy_holds).
 *
 * Threads: until the first success each thread has one NOW under way; then the count, which
 * includes those without an answer, limits NOW. Without a failure, N threads have at most
 * max(N, FIRST) NOW in a burst. A success that comes after the failure of another thread counts,
 * whichever delete was sent first. A thread may queue its HELD delete when another one has just
 * left the hold: that delete begins a hold, which ends by itself.
 *
 * Bounded: the last DELETE_POLICY_PROCESSES processes that delete; the least recently used is
 * forgotten. A forgotten process begins a burst. Each has at most 16 KiB for p. Process 0 (unknown)
 * is never remembered: always NOW.
 *
 * Thread-safety: any thread; one leaf mutex, which delete_policy_begin does not take for a process
 * that is not remembered; no I/O; never blocks.
 * Units: now_ms is monotonic milliseconds. Times of several threads may come in any order.
 *
 * Example: `rm -r T/p` lists T/p. Its first unlink is NOW and succeeds; all further ones are
 * QUEUED. If a queued one fails, the next unlink is NOW.
 *
 * Example: `rm -r T` lists T and T/p. Its first unlink is NOW and succeeds; further ones in p are
 * HELD. It removes T/p and lists T/q, however long that takes: the unlinks in q are HELD.
 *
 * Example: `find T -name 'x*' -delete` begins in the same way, but leaves T/p. Its first unlink in
 * q is QUEUED, as all further ones, and what was held is sent. */
#include "cache/address.h"

#define DELETE_POLICY_PROCESSES 64
#define DELETE_POLICY_REST_MS   1000
#define DELETE_POLICY_FIRST     16

enum delete_decision { DELETE_NOW, DELETE_QUEUED, DELETE_HELD };

struct delete_facts {       /* of an unlink */
    struct address address; /* of the entity */
    bool has_listed;        /* the process has listed the entity's directory */
    bool may_hold;          /* it has listed the table's directory, it may drop the table, and the
                             * queue has room to hold more */
};

struct delete_policy;
int delete_policy_create(struct delete_policy **ret);     /* 0 or -ENOMEM */
void delete_policy_destroy(struct delete_policy *policy); /* takes NULL */
/* ret_has_left: the hold has been left: the deletes of the process were held until now, and are not
 * from now on. The caller ends their hold in the queue, so that they are sent. */
enum delete_decision delete_policy_unlink(struct delete_policy *policy, uint64_t process,
                                          const struct delete_facts *facts, int64_t now_ms,
                                          bool *ret_has_left);
/* The answer of a delete that was sent at once, or that a drain reported. It does nothing for a
 * process that is not remembered. */
void delete_policy_answered(struct delete_policy *policy, uint64_t process, bool is_deleted,
                            int64_t now_ms);
/* An operation of the process begins. The answer is for delete_policy_end; 0: the process is not
 * remembered, and there is nothing to end. An operation that began before its process was
 * remembered does not count. */
uint64_t delete_policy_begin(struct delete_policy *policy, uint64_t process, int64_t now_ms);
/* It has ended. */
void delete_policy_end(struct delete_policy *policy, uint64_t process, uint64_t number,
                       int64_t now_ms);
/* Is the process in HOLDING, in a burst that has not ended? */
bool delete_policy_holds(struct delete_policy *policy, uint64_t process, int64_t now_ms);
/* For each RMDIR and each queued unlink of the process, whatever its answer: it may have waited. */
void delete_policy_active(struct delete_policy *policy, uint64_t process, int64_t now_ms);
/* The process has removed the directory of this range, which is not a whole table. */
void delete_policy_removed(struct delete_policy *policy, uint64_t process, const char *table,
                           struct range range, int64_t now_ms);
/* The rmdir of the table by the process was answered, whatever the answer. */
void delete_policy_end_table(struct delete_policy *policy, uint64_t process, const char *table);

DEFINE_CLEANUP(struct delete_policy *, delete_policy_destroy);

#endif
