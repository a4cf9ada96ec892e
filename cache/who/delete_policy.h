/* SPDX-License-Identifier: MIT */
#ifndef CACHE_WHO_DELETE_POLICY_H
#define CACHE_WHO_DELETE_POLICY_H
/* Decides whether the delete of an unlink is sent at once or queued:
 *   NOW      it is sent at once, and the unlink returns the service's answer
 *   QUEUED   the unlink succeeds, and the delete is sent later in a batch; still later if the
 *            process may drop the table (pending_hold.h)
 *
 * A single `rm` gets the service's answer; a process that deletes many files is fast. The decision
 * depends on the process's burst: its unlinks without a rest of DELETE_POLICY_REST_MS in which no
 * unlink begins and none is answered. The count of a burst is its number of NOW decisions. It is 0
 * at the start of the burst and again after a delete has failed. The columns say whether the
 * process has listed the directory of the unlink:
 *
 *   since the count was 0             not listed    listed    for example
 *   no delete has succeeded           NOW           NOW       a process without permission
 *   one has, count below FIRST        NOW           QUEUED    rm a b c; rm -r
 *   one has, count is FIRST           QUEUED        QUEUED    rm *
 *
 * FIRST is DELETE_POLICY_FIRST. The first row gives a process without permission the error of each
 * file.
 *
 * Example: `rm -r T/p` lists T/p. Its first unlink is NOW and succeeds; all further ones are
 * QUEUED. If a queued one fails, the next unlink is NOW.
 *
 * A process with several threads: the count includes deletes that are not answered yet. Before the
 * first success each thread may have one NOW under way. So in a burst without a failure N threads
 * have max(N, FIRST) NOW at most. A success that arrives after another thread's failure counts as a
 * success after it, whichever delete was sent first.
 *
 * Bounded: the last DELETE_POLICY_PROCESSES processes that delete; the least recently used one is
 * evicted, and its next unlink begins a new burst. Process 0 (unknown) is never recorded: always
 * NOW.
 *
 * Thread-safety: any thread; one leaf mutex; no I/O; never blocks.
 * Units: now_ms is monotonic milliseconds. Several threads may report times in any order. */
#include "client/base/base.h"

#define DELETE_POLICY_PROCESSES 64
#define DELETE_POLICY_REST_MS   5000
#define DELETE_POLICY_FIRST     16

enum delete_decision { DELETE_NOW, DELETE_QUEUED };

struct delete_policy;
int delete_policy_create(struct delete_policy **ret);     /* 0 or -ENOMEM */
void delete_policy_destroy(struct delete_policy *policy); /* takes NULL */
/* Decides for one unlink of the process. has_listed: the process has listed the entity's directory.
 */
enum delete_decision delete_policy_unlink(struct delete_policy *policy, uint64_t process,
                                          bool has_listed, int64_t now_ms);
/* Records the answer to a delete that was sent at once, or the failure of a queued one. Does
 * nothing for a process that is not recorded. */
void delete_policy_answered(struct delete_policy *policy, uint64_t process, bool is_deleted,
                            int64_t now_ms);

DEFINE_CLEANUP(struct delete_policy *, delete_policy_destroy);

#endif
