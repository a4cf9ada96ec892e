/* SPDX-License-Identifier: MIT */
#ifndef CACHE_WHO_READ_VERSIONS_H
#define CACHE_WHO_READ_VERSIONS_H
/* Records which version (ETag) of an entity each process last read or stored. So a later write of
 * that process does not silently overwrite a change of another client.
 *
 * Bounded: the last READ_VERSIONS_EACH entities of each of the last READ_VERSIONS_PROCESSES
 * processes, in READ_VERSIONS_MAX_BYTES; keys of ordinary length take 7 MiB at most. A process
 * evicts only its own entities: a `grep -r` never evicts what an editor has open. With very long
 * keys it may also evict the least recently used process. If the record of a process and an entity
 * was evicted, the process counts as having never read the entity: its store overwrites. A version
 * without an ETag is not recorded; nor is any version when memory runs out. The ETag of a queued
 * text is learned when the text is stored.
 *
 * Process 0 stands for all processes that cannot be identified, such as those of another pid
 * namespace. They share one record of each entity: the oldest version that one of them has read.
 * Example: one of them reads version A, another one reads the newer version B and stores. The
 * record is A, so this store gets a conflict. The record ends when this mount stores the entity,
 * when a conflict was reported, or after READ_VERSIONS_UNSEEN_MS. But a record of a queued text
 * does not end when that text is stored. These records take READ_VERSIONS_UNSEEN_MAX_BYTES at most,
 * about 40,000 entities.
 *
 * For the most recently stored entities it also records the version that this mount stored last,
 * for whatever process, in READ_VERSIONS_STORED_MAX_BYTES: about 20,000 entities. This is needed
 * because the kernel may still show an older version of such an entity by another path.
 *
 * After an ESTALE or EBUSY the record of the process and the entity is removed: the conflict was
 * reported, and the next store overwrites, as a user of `:w!` in vim expects.
 *
 * Thread-safety: any thread; one leaf mutex; never blocks.
 * Ownership: addresses and ETags are copied.
 *
 * Example: `sed -i` reads f.json with ETag R, writes a temporary file, and renames it onto f.json.
 * read_versions_find returns R, and write_rule chooses Replace with If-Match R. */
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
/* Replaces the record of the process and the entity; for process 0 see above. An empty ETag removes
 * it. */
void read_versions_note(struct read_versions *versions, uint64_t process, struct address address,
                        struct bytes etag);
/* The same for a queued text. */
void read_versions_note_later(struct read_versions *versions, uint64_t process,
                              struct address address, struct later_etag *later);
/* ret: empty: no version is known. 0; -ESTALE: what the process has read was queued, and its ETag
 * is lost (later_etag.h). */
int read_versions_find(struct read_versions *versions, uint64_t process, struct address address,
                       struct etag *ret);
void read_versions_forget(struct read_versions *versions, uint64_t process, struct address address);

/* This mount has stored this version. Called while the position is claimed. */
void read_versions_note_stored(struct read_versions *versions, struct address address,
                               struct bytes etag);
/* The version that this mount stored last; empty: not known. Another client may have changed the
 * entity since. */
void read_versions_find_stored(struct read_versions *versions, struct address address,
                               struct etag *ret);

DEFINE_CLEANUP(struct read_versions *, read_versions_destroy);

#endif
