/* SPDX-License-Identifier: MIT */
#include "cache/who/read_versions.h"
#include "cache/who/etag_memory.h"
#include "client/base/locked.h"

struct reader { /* a process that has read or stored something; its key is its number */
    struct map_item item;
    struct etag_memory versions;
};

struct read_versions {
    const struct clock *clock;
    pthread_mutex_t lock;
    /* guarded by lock */
    struct map readers;
    size_t bytes;              /* of all versions and processes */
    struct etag_memory unseen; /* what a process that cannot be seen has read */
    struct etag_memory stored; /* by this mount */
};

int read_versions_create(const struct clock *clock, struct read_versions **ret)
{
    struct read_versions *versions = calloc(1, sizeof(*versions));
    if (!versions)
        return -ENOMEM;
    (void)pthread_mutex_init(&versions->lock, NULL);
    map_init(&versions->readers);
    versions->clock = clock;
    etag_memory_init(&versions->unseen, SIZE_MAX, READ_VERSIONS_UNSEEN_MAX_BYTES);
    etag_memory_init(&versions->stored, SIZE_MAX, READ_VERSIONS_STORED_MAX_BYTES);
    *ret = versions;
    return 0;
}

static void drop_reader_locked(struct read_versions *versions, struct reader *reader)
{
    versions->bytes -= sizeof(*reader) + reader->versions.map.bytes;
    etag_memory_finish(&reader->versions);
    map_remove(&versions->readers, reader);
    free(reader);
}

void read_versions_destroy(struct read_versions *versions)
{
    if (!versions)
        return;
    while (versions->readers.count > 0)
        drop_reader_locked(versions, map_oldest(&versions->readers));
    etag_memory_finish(&versions->unseen);
    etag_memory_finish(&versions->stored);
    (void)pthread_mutex_destroy(&versions->lock);
    free(versions);
}

/* NULL: not remembered. It counts as used. */
static struct reader *find_reader_locked(struct read_versions *versions, uint64_t number)
{
    return map_use(&versions->readers, MAP_NUMBER(number));
}

/* NULL: no memory. */
static struct reader *add_reader_locked(struct read_versions *versions, uint64_t number)
{
    struct reader *reader = map_create(sizeof(*reader), MAP_NUMBER(number), 0);
    if (!reader)
        return NULL;
    etag_memory_init(&reader->versions, READ_VERSIONS_EACH, SIZE_MAX);
    if (versions->readers.count == READ_VERSIONS_PROCESSES)
        drop_reader_locked(versions, map_oldest(&versions->readers));
    map_add(&versions->readers, reader);
    versions->bytes += sizeof(*reader);
    return reader;
}

static void forget_locked(struct read_versions *versions, struct reader *reader,
                          struct address address)
{
    if (!reader)
        return;
    versions->bytes -= reader->versions.map.bytes;
    etag_memory_forget(&reader->versions, address);
    versions->bytes += reader->versions.map.bytes;
    if (reader->versions.map.count == 0)
        drop_reader_locked(versions, reader);
}

/* later: NULL: the ETag is known. */
static void note_locked(struct read_versions *versions, uint64_t number, struct address address,
                        struct bytes etag, struct later_etag *later)
{
    struct reader *reader = find_reader_locked(versions, number);
    if (etag.size == 0 && !later) {
        forget_locked(versions, reader, address);
        return;
    }
    if (!reader)
        reader = add_reader_locked(versions, number);
    if (!reader)
        return;
    versions->bytes -= reader->versions.map.bytes;
    if (later)
        etag_memory_note_later(&reader->versions, address, later, INT64_MAX);
    else
        etag_memory_note(&reader->versions, address, etag, INT64_MAX);
    versions->bytes += reader->versions.map.bytes;
    if (reader->versions.map.count == 0) /* no memory */
        drop_reader_locked(versions, reader);
    /* what one process has is far below the maximum */
    while (versions->bytes > READ_VERSIONS_MAX_BYTES && versions->readers.count > 1)
        drop_reader_locked(versions, map_oldest(&versions->readers));
}

/* The oldest version stays. */
static void note_unseen_locked(struct read_versions *versions, struct address address,
                               struct bytes etag, struct later_etag *later)
{
    struct etag_memory *unseen = &versions->unseen;
    int64_t now_ms = clock_now_ms(versions->clock), until_ms = now_ms + READ_VERSIONS_UNSEEN_MS;
    if (etag_memory_find(unseen, address, now_ms).size > 0 ||
        etag_memory_find_later(unseen, address, now_ms))
        return;
    if (later)
        etag_memory_note_later(unseen, address, later, until_ms);
    else if (etag.size > 0)
        etag_memory_note(unseen, address, etag, until_ms);
}

static void note(struct read_versions *versions, uint64_t process, struct address address,
                 struct bytes etag, struct later_etag *later)
{
    LOCKED(&versions->lock);
    if (process == 0)
        note_unseen_locked(versions, address, etag, later);
    else
        note_locked(versions, process, address, etag, later);
}

void read_versions_note(struct read_versions *versions, uint64_t process, struct address address,
                        struct bytes etag)
{
    note(versions, process, address, etag, NULL);
}

void read_versions_note_later(struct read_versions *versions, uint64_t process,
                              struct address address, struct later_etag *later)
{
    note(versions, process, address, (struct bytes){0}, later);
}

int read_versions_find(struct read_versions *versions, uint64_t process, struct address address,
                       struct etag *ret)
{
    LOCKED(&versions->lock);
    struct reader *reader = process == 0 ? NULL : find_reader_locked(versions, process);
    struct etag_memory *memory = reader ? &reader->versions : &versions->unseen;
    int64_t now_ms = clock_now_ms(versions->clock);
    ret->size = 0;
    if (process != 0 && !reader)
        return 0;
    const struct later_etag *later = etag_memory_find_later(memory, address, now_ms);
    if (later && later_etag_is_lost(later))
        return -ESTALE;
    etag_set(ret, etag_memory_find(memory, address, now_ms));
    return 0;
}

void read_versions_forget(struct read_versions *versions, uint64_t process, struct address address)
{
    LOCKED(&versions->lock);
    if (process == 0)
        etag_memory_forget(&versions->unseen, address);
    else
        forget_locked(versions, find_reader_locked(versions, process), address);
}

/* But not a queued text that this may be the store of. One that is lost was not stored. */
static void forget_unseen_locked(struct read_versions *versions, struct address address)
{
    int64_t now_ms = clock_now_ms(versions->clock);
    const struct later_etag *later = etag_memory_find_later(&versions->unseen, address, now_ms);
    if (!later || later_etag_get(later).size > 0 || later_etag_is_lost(later))
        etag_memory_forget(&versions->unseen, address);
}

void read_versions_note_stored(struct read_versions *versions, struct address address,
                               struct bytes etag)
{
    LOCKED(&versions->lock);
    etag_memory_note(&versions->stored, address, etag, INT64_MAX);
    forget_unseen_locked(versions, address);
}

void read_versions_find_stored(struct read_versions *versions, struct address address,
                               struct etag *ret)
{
    LOCKED(&versions->lock);
    etag_set(ret, etag_memory_find(&versions->stored, address, 0));
}
