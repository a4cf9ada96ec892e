/* SPDX-License-Identifier: MIT */
#ifndef CACHE_QUEUE_WRITE_SIDE_H
#define CACHE_QUEUE_WRITE_SIDE_H
/* The modules that changes need, and the claims of one change at a time. In its owner's memory,
 * which is the account's. Any thread; no lock of its own. */
#include "cache/known/local_directories.h"
#include "cache/queue/commit_threads.h"
#include "cache/queue/pending.h"
#include "cache/who/delete_policy.h"
#include "cache/who/path_aliases.h"
#include "cache/who/read_versions.h"

struct write_side {
    struct pending *pending;
    struct committer *committer;
    struct commit_threads *threads; /* that send what is queued */
    struct delete_policy *policy;
    struct local_directories *local;
    struct read_versions *versions;
    struct path_aliases *aliases;
};

/* queued: without its committer, which is made here. pending_bytes: the maximum of the queue. 0 or
 * -ENOMEM; what exists then stays, for write_side_finish. */
int write_side_init(struct write_side *side, const struct committer_source *source,
                    const struct batch_committer *queued, size_t pending_bytes);
/* Of zeros, too; nothing is claimed or queued. */
void write_side_finish(struct write_side *side);

/* Claims the position for a change of the entity (pending_claim). Waits also while this mount
 * creates or drops the table. */
int write_side_claim(struct write_side *side, struct address address, struct call *call);
/* The same of two entities, in the order of their tables and positions, so that no two callers wait
 * for each other. They are not the same entity. 0; else neither is claimed. */
int write_side_claim_both(struct write_side *side, struct address a, struct address b,
                          struct call *call);
void write_side_release(struct write_side *side, struct address address);

/* Claims a table for its creation or its drop: until the release no change of an entity in it
 * begins. One that has begun before goes on. */
int write_side_claim_table(struct write_side *side, const char *table, struct call *call);
void write_side_release_table(struct write_side *side, const char *table);

#endif
