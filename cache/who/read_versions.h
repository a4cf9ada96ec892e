/* SPDX-License-Identifier: MIT */
#ifndef CACHE_WHO_READ_VERSIONS_H
#define CACHE_WHO_READ_VERSIONS_H
/* Remembers which version (ETag) of an entity each process last read or stored. A later write of
 * that process then does not silently overwrite a change of another client.
 *
 * Bounded: the last READ_VERSIONS_EACH entities of each of the last READ_VERSIONS_PROCESSES
 * processes, in READ_VERSIONS_MAX_BYTES; keys of ordinary length take 7 MiB at most. A process
 * evicts only its own entities: a `grep -r` never evicts what an editor has open. With very long
 * keys it may evict the process that was idle for longest. If a pair was evicted, the
 * process is treated as one that never read the entity: it overwrites. A version without an ETag is
 * not remembered, nor one that there is no memory for. Of a queued text the ETag is learned when it
 * is stored.
 *
 * Process 0 is all processes that cannot be seen. Which of them has read an entity is not known. So
 * of an entity it has the oldest version that one of them read, until this mount stores the entity,
 * a conflict was reported, or READ_VERSIONS_UNSEEN_MS have passed. If one of them has read a text
 * that was queued, the store of that text does not end the entry. Its limit is
 * READ_VERSIONS_UNSEEN_MAX_BYTES, about 40,000 entities. A conflict may be reported to a process
 * that has read the present version, after another one has read an older one.
 *
 * It also remembers which version this mount itself stored last, whichever process asked for it, of
 * the entities that were stored last, in READ_VERSIONS_STORED_MAX_BYTES: about 20,000. The kernel
 * may still have an older version of such an entity by another path.
 *
 * After an ESTALE or EBUSY the pair is forgotten: the conflict was reported, and the next store
 * overwrites, as `:w!` in vim is meant to.
 *
 * Thread-safety: any thread; one leaf mutex; never blocks.
 * Ownership: addresses and ETags are copied.
 *
 * Example: `sed -i` reads f.json with ETag R, writes a temporary file, and renames it onto f.json.
 * read_versions_find answers R, and write_rule chooses Replace with If-Match R. */
#include "cache/address.h"
#include "client/base/clock.h"
#include "client/store/etag.h"
#include "client/store/later_etag.h"

#define READ_VERSIONS_PROCESSES        1024 /* the least recently used is evicted */
#define READ_VERSIONS_EACH             32
#define READ_VERSIONS_MAX_BYTES        ((size_t)16 << 20)
#define READ_VERSIONS_UNSEEN_MS        INT64_C(60000)
#define READ_VERSIONS_UNSEEN_MAX_BYTES ((size_t)8 << 20)
#define READ_VERSIONS_STORED_MAX_BYTES ((size_t)4 << 20)

struct read_versions;
/* 0 or -ENOMEM. The clock outlives it. */
int read_versions_create(const struct clock *clock, struct read_versions **ret);
void read_versions_destroy(struct read_versions *versions); /* takes NULL */
/* Replaces what was noted of the entity, but for process 0. An empty ETag forgets it. */
void read_versions_note(struct read_versions *versions, uint64_t process, struct address address,
                        struct bytes etag);
/* The same of a queued text. */
void read_versions_note_later(struct read_versions *versions, uint64_t process,
                              struct address address, struct later_etag *later);
/* ret: empty: no version is known. 0; -ESTALE: what the process has read was queued, and its ETag
 * is lost (later_etag.h). */
int read_versions_find(struct read_versions *versions, uint64_t process, struct address address,
                       struct etag *ret);
void read_versions_forget(struct read_versions *versions, uint64_t process, struct address address);

/* This mount has stored this version. The change's claim is held. */
void read_versions_note_stored(struct read_versions *versions, struct address address,
                               struct bytes etag);
/* What this mount stored last; empty: not known. Another client may have changed it since. */
void read_versions_find_stored(struct read_versions *versions, struct address address,
                               struct etag *ret);

DEFINE_CLEANUP(struct read_versions *, read_versions_destroy);

#endif
