/* SPDX-License-Identifier: MIT */
#ifndef CACHE_QUEUE_WRITE_SIDE_H
#define CACHE_QUEUE_WRITE_SIDE_H
/* The modules that every kind of change needs, and functions that claim positions for a change.
 * Part of the account. Any thread; no lock of its own. */
#include "cache/known/local_directories.h"
#include "cache/queue/commit_threads.h"
#include "cache/queue/pending.h"
#include "cache/who/delete_policy.h"
#include "cache/who/path_aliases.h"
#include "cache/who/read_versions.h"

struct write_side {
    struct pending *pending;
    struct committer *committer;
    struct commit_threads *threads; /* they send what is queued */
    struct delete_policy *policy;
    struct local_directories *local;
    struct read_versions *versions;
    struct path_aliases *aliases;
};

/* Creates the modules. `queued` has no committer yet: it is created here. pending_bytes: the
 * maximum of the queue. 0 or -ENOMEM; then write_side_finish destroys the modules that exist.
 */
int write_side_init(struct write_side *side, const struct committer_source *source,
                    const struct batch_committer *queued, size_t pending_bytes);
/* Accepts zeros; nothing may be claimed or queued. */
void write_side_finish(struct write_side *side);

/* Claims the position for a change of the entity (pending_claim). Waits also while this mount
 * creates or drops the table. */
int write_side_claim(struct write_side *side, struct address address, struct call *call);
/* The same for two different entities, in the order of their tables and positions, so that no two
 * callers wait for each other. 0; after an error neither is claimed. */
int write_side_claim_both(struct write_side *side, struct address a, struct address b,
                          struct call *call);
void write_side_release(struct write_side *side, struct address address);

/* Claims a table for its creation or its drop: until the release no change of an entity in it
 * begins. A change that has begun before is not stopped. */
int write_side_claim_table(struct write_side *side, const char *table, struct call *call);
void write_side_release_table(struct write_side *side, const char *table);

#endif
