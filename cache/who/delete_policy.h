/* SPDX-License-Identifier: MIT */
#ifndef CACHE_WHO_DELETE_POLICY_H
#define CACHE_WHO_DELETE_POLICY_H
/* Decides what an unlink does:
 *   NOW      it is sent at once, and its result is the answer
 *   QUEUED   it is queued, and sent with others later; of a process that may drop the table, even
 *            later (pending_hold.h)
 *
 * What counts is the burst of the process. A burst ends with a rest: DELETE_POLICY_REST_MS without
 * an unlink that begins, or one that is answered. Its count is the number of NOW since it began or
 * since a delete failed. The first row that applies decides; whether the process has listed is said
 * of the unlink's directory:
 *
 *   since the count began                has not listed    has listed    for example
 *   no delete has succeeded              NOW               NOW           no permission
 *   one has, the count is below FIRST    NOW               QUEUED        rm a b c; rm -r
 *   one has, the count is FIRST          QUEUED            QUEUED        rm *
 *
 * So a process without permission gets the error of each file: each delete is sent at once until
 * one succeeds.
 *
 * Threads: until the first success each thread has one NOW under way; then the count, which
 * includes those without an answer, limits NOW. Without a failure, N threads have at most
 * max(N, FIRST) NOW in a burst. A success that comes after the failure of another thread counts,
 * whichever delete was sent first.
 *
 * Bounded: the last DELETE_POLICY_PROCESSES processes that delete; the least recently used is
 * forgotten. A forgotten process begins a burst. Process 0 (unknown) is never remembered: always
 * NOW.
 *
 * Thread-safety: any thread; one leaf mutex; no I/O; never blocks.
 * Units: now_ms is monotonic milliseconds. Times of several threads may come in any order.
 *
 * Example: `rm -r T/p` lists T/p. Its first unlink is NOW and succeeds; all further ones are
 * QUEUED. If a queued one fails, the next unlink is NOW. */
#include "client/base/base.h"

#define DELETE_POLICY_PROCESSES 64
#define DELETE_POLICY_REST_MS   5000
#define DELETE_POLICY_FIRST     16

enum delete_decision { DELETE_NOW, DELETE_QUEUED };

struct delete_policy;
int delete_policy_create(struct delete_policy **ret);     /* 0 or -ENOMEM */
void delete_policy_destroy(struct delete_policy *policy); /* takes NULL */
/* An unlink of the process. has_listed: the process has listed the entity's directory. */
enum delete_decision delete_policy_unlink(struct delete_policy *policy, uint64_t process,
                                          bool has_listed, int64_t now_ms);
/* The answer of a delete that was sent at once, or the failure of a queued one. It does nothing for
 * a process that is not remembered. */
void delete_policy_answered(struct delete_policy *policy, uint64_t process, bool is_deleted,
                            int64_t now_ms);

DEFINE_CLEANUP(struct delete_policy *, delete_policy_destroy);

#endif
