#include "cache/write/read_versions.h"

#include <bsd/sys/tree.h>
#include <pthread.h>
#include <sys/queue.h>

struct version { /* of one entity, to one process */
    TAILQ_ENTRY(version) by_use;
    struct address address;
    struct bytes etag;
    size_t bytes;
    char text[]; /* table, NUL, position, ETag */
};

TAILQ_HEAD(version_list, version);

struct reader { /* a process that has read or stored something */
    RB_ENTRY(reader) by_number;
    TAILQ_ENTRY(reader) by_use;
    uint64_t number;
    struct version_list versions; /* the last used first */
    size_t count;
};

static int compare_numbers(const struct reader *a, const struct reader *b)
{
    return (a->number > b->number) - (a->number < b->number);
}

RB_HEAD(reader_tree, reader);
TAILQ_HEAD(reader_list, reader);
RB_GENERATE_INTERNAL(reader_tree, reader, by_number, compare_numbers,
                     static __attribute__((unused)));

struct read_versions {
    pthread_mutex_t lock;
    /* guarded by lock */
    struct reader_tree numbers;
    struct reader_list by_use; /* the last used first */
    size_t count;              /* of processes */
    size_t bytes;              /* of all versions and processes */
};

int read_versions_create(struct read_versions **ret)
{
    struct read_versions *versions = calloc(1, sizeof(*versions));
    if (!versions || pthread_mutex_init(&versions->lock, NULL) != 0) {
        free(versions);
        return -ENOMEM;
    }
    TAILQ_INIT(&versions->by_use);
    *ret = versions;
    return 0;
}

static void drop_version_locked(struct read_versions *versions, struct reader *reader,
                                struct version *version)
{
    TAILQ_REMOVE(&reader->versions, version, by_use);
    reader->count--;
    versions->bytes -= version->bytes;
    free(version);
}

static void drop_reader_locked(struct read_versions *versions, struct reader *reader)
{
    while (!TAILQ_EMPTY(&reader->versions))
        drop_version_locked(versions, reader, TAILQ_FIRST(&reader->versions));
    (void)RB_REMOVE(reader_tree, &versions->numbers, reader);
    TAILQ_REMOVE(&versions->by_use, reader, by_use);
    versions->count--;
    versions->bytes -= sizeof(*reader);
    free(reader);
}

void read_versions_destroy(struct read_versions *versions)
{
    if (!versions)
        return;
    while (!TAILQ_EMPTY(&versions->by_use))
        drop_reader_locked(versions, TAILQ_FIRST(&versions->by_use));
    (void)pthread_mutex_destroy(&versions->lock);
    free(versions);
}

/* NULL: not remembered. It counts as used. */
static struct reader *find_reader_locked(struct read_versions *versions, uint64_t number)
{
    struct reader key = {.number = number};
    struct reader *reader = RB_FIND(reader_tree, &versions->numbers, &key);
    if (reader) {
        TAILQ_REMOVE(&versions->by_use, reader, by_use);
        TAILQ_INSERT_HEAD(&versions->by_use, reader, by_use);
    }
    return reader;
}

/* NULL: no memory. */
static struct reader *add_reader_locked(struct read_versions *versions, uint64_t number)
{
    struct reader *reader = calloc(1, sizeof(*reader));
    if (!reader)
        return NULL;
    reader->number = number;
    TAILQ_INIT(&reader->versions);
    if (versions->count == READ_VERSIONS_PROCESSES)
        drop_reader_locked(versions, TAILQ_LAST(&versions->by_use, reader_list));
    (void)RB_INSERT(reader_tree, &versions->numbers, reader);
    TAILQ_INSERT_HEAD(&versions->by_use, reader, by_use);
    versions->count++;
    versions->bytes += sizeof(*reader);
    return reader;
}

/* NULL: not remembered. It counts as used. */
static struct version *find_version_locked(struct reader *reader, struct address address)
{
    struct version *version = TAILQ_FIRST(&reader->versions);
    while (version && address_compare(version->address, address) != 0)
        version = TAILQ_NEXT(version, by_use);
    if (version) {
        TAILQ_REMOVE(&reader->versions, version, by_use);
        TAILQ_INSERT_HEAD(&reader->versions, version, by_use);
    }
    return version;
}

/* NULL: no memory. */
static struct version *version_create(struct address address, struct bytes etag)
{
    size_t size = address_size(address), bytes = sizeof(struct version) + size + etag.size;
    struct version *version = calloc(1, bytes);
    if (!version)
        return NULL;
    version->address = address_copy(address, version->text);
    memcpy(version->text + size, etag.data, etag.size);
    version->etag = (struct bytes){version->text + size, etag.size};
    version->bytes = bytes;
    return version;
}

/* Takes the version. */
static void enter_locked(struct read_versions *versions, struct reader *reader,
                         struct version *version)
{
    if (reader->count == READ_VERSIONS_EACH)
        drop_version_locked(versions, reader, TAILQ_LAST(&reader->versions, version_list));
    TAILQ_INSERT_HEAD(&reader->versions, version, by_use);
    reader->count++;
    versions->bytes += version->bytes;
    /* what one process has is far below the maximum */
    while (versions->bytes > READ_VERSIONS_MAX_BYTES && versions->count > 1)
        drop_reader_locked(versions, TAILQ_LAST(&versions->by_use, reader_list));
}

static void forget_locked(struct read_versions *versions, struct reader *reader,
                          struct address address)
{
    struct version *version = reader ? find_version_locked(reader, address) : NULL;
    if (version)
        drop_version_locked(versions, reader, version);
    if (reader && reader->count == 0)
        drop_reader_locked(versions, reader);
}

static void note_locked(struct read_versions *versions, uint64_t number, struct address address,
                        struct bytes etag)
{
    struct reader *reader = find_reader_locked(versions, number);
    forget_locked(versions, reader, address);
    if (etag.size == 0 || number == 0)
        return;
    struct version *version = version_create(address, etag);
    reader = find_reader_locked(versions, number);
    if (version && !reader)
        reader = add_reader_locked(versions, number);
    if (version && reader)
        enter_locked(versions, reader, version);
    else
        free(version);
}

void read_versions_note(struct read_versions *versions, uint64_t process, struct address address,
                        struct bytes etag)
{
    (void)pthread_mutex_lock(&versions->lock);
    note_locked(versions, process, address, etag);
    (void)pthread_mutex_unlock(&versions->lock);
}

int read_versions_find(struct read_versions *versions, uint64_t process, struct address address,
                       struct buffer *ret)
{
    int r = 0;
    buffer_clear(ret);
    (void)pthread_mutex_lock(&versions->lock);
    struct reader *found = find_reader_locked(versions, process);
    struct version *version = found ? find_version_locked(found, address) : NULL;
    if (version)
        r = buffer_append(ret, version->etag);
    (void)pthread_mutex_unlock(&versions->lock);
    return r < 0 ? r : version != NULL;
}

void read_versions_forget(struct read_versions *versions, uint64_t process, struct address address)
{
    (void)pthread_mutex_lock(&versions->lock);
    forget_locked(versions, find_reader_locked(versions, process), address);
    (void)pthread_mutex_unlock(&versions->lock);
}
