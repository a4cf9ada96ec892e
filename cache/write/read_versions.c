#include "cache/write/read_versions.h"

#include <bsd/sys/tree.h>
#include <pthread.h>
#include <sys/queue.h>

struct version { /* of one entity, to one process */
    TAILQ_ENTRY(version) by_use;
    struct bytes key, etag;
    size_t bytes;
    char text[]; /* the key: table, NUL, position; then the ETag */
};

TAILQ_HEAD(version_list, version);

struct process {
    RB_ENTRY(process) by_number;
    TAILQ_ENTRY(process) by_use;
    uint64_t number;
    struct version_list versions; /* the last used first */
    size_t count;
};

static int compare_numbers(const struct process *a, const struct process *b)
{
    return (a->number > b->number) - (a->number < b->number);
}

RB_HEAD(process_tree, process);
TAILQ_HEAD(process_list, process);
RB_GENERATE_INTERNAL(process_tree, process, by_number, compare_numbers,
                     static __attribute__((unused)));

struct read_versions {
    pthread_mutex_t lock;
    /* guarded by lock */
    struct process_tree numbers;
    struct process_list by_use; /* the last used first */
    size_t count;               /* of processes */
    size_t bytes;               /* of all versions and processes */
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

static void drop_version_locked(struct read_versions *versions, struct process *process,
                                struct version *version)
{
    TAILQ_REMOVE(&process->versions, version, by_use);
    process->count--;
    versions->bytes -= version->bytes;
    free(version);
}

static void drop_process_locked(struct read_versions *versions, struct process *process)
{
    while (!TAILQ_EMPTY(&process->versions))
        drop_version_locked(versions, process, TAILQ_FIRST(&process->versions));
    (void)RB_REMOVE(process_tree, &versions->numbers, process);
    TAILQ_REMOVE(&versions->by_use, process, by_use);
    versions->count--;
    versions->bytes -= sizeof(*process);
    free(process);
}

void read_versions_destroy(struct read_versions *versions)
{
    if (!versions)
        return;
    while (!TAILQ_EMPTY(&versions->by_use))
        drop_process_locked(versions, TAILQ_FIRST(&versions->by_use));
    (void)pthread_mutex_destroy(&versions->lock);
    free(versions);
}

/* NULL: not remembered. It counts as used. */
static struct process *find_process_locked(struct read_versions *versions, uint64_t number)
{
    struct process key = {.number = number};
    struct process *process = RB_FIND(process_tree, &versions->numbers, &key);
    if (process) {
        TAILQ_REMOVE(&versions->by_use, process, by_use);
        TAILQ_INSERT_HEAD(&versions->by_use, process, by_use);
    }
    return process;
}

/* NULL: no memory. */
static struct process *add_process_locked(struct read_versions *versions, uint64_t number)
{
    struct process *process = calloc(1, sizeof(*process));
    if (!process)
        return NULL;
    process->number = number;
    TAILQ_INIT(&process->versions);
    if (versions->count == READ_VERSIONS_PROCESSES)
        drop_process_locked(versions, TAILQ_LAST(&versions->by_use, process_list));
    (void)RB_INSERT(process_tree, &versions->numbers, process);
    TAILQ_INSERT_HEAD(&versions->by_use, process, by_use);
    versions->count++;
    versions->bytes += sizeof(*process);
    return process;
}

/* The key is the table's name with its NUL, then the position. */
static bool is_key_of(struct bytes key, struct address address)
{
    size_t table_size = strlen(address.table) + 1;
    return key.size == table_size + address.position.size &&
           memcmp(key.data, address.table, table_size) == 0 &&
           bytes_equal(bytes_skip(key, table_size), address.position);
}

/* NULL: not remembered. It counts as used. */
static struct version *find_version_locked(struct process *process, struct address address)
{
    struct version *version = TAILQ_FIRST(&process->versions);
    while (version && !is_key_of(version->key, address))
        version = TAILQ_NEXT(version, by_use);
    if (version) {
        TAILQ_REMOVE(&process->versions, version, by_use);
        TAILQ_INSERT_HEAD(&process->versions, version, by_use);
    }
    return version;
}

/* NULL: no memory. */
static struct version *version_create(struct address address, struct bytes etag)
{
    size_t table_size = strlen(address.table) + 1;
    size_t key_size = table_size + address.position.size;
    size_t bytes = sizeof(struct version) + key_size + etag.size;
    struct version *version = calloc(1, bytes);
    if (!version)
        return NULL;
    memcpy(version->text, address.table, table_size);
    memcpy(version->text + table_size, address.position.data, address.position.size);
    memcpy(version->text + key_size, etag.data, etag.size);
    version->key = (struct bytes){version->text, key_size};
    version->etag = (struct bytes){version->text + key_size, etag.size};
    version->bytes = bytes;
    return version;
}

/* Takes the version. */
static void enter_locked(struct read_versions *versions, struct process *process,
                         struct version *version)
{
    if (process->count == READ_VERSIONS_EACH)
        drop_version_locked(versions, process, TAILQ_LAST(&process->versions, version_list));
    TAILQ_INSERT_HEAD(&process->versions, version, by_use);
    process->count++;
    versions->bytes += version->bytes;
    /* what one process has is far below the maximum */
    while (versions->bytes > READ_VERSIONS_MAX_BYTES && versions->count > 1)
        drop_process_locked(versions, TAILQ_LAST(&versions->by_use, process_list));
}

static void forget_locked(struct read_versions *versions, struct process *process,
                          struct address address)
{
    struct version *version = process ? find_version_locked(process, address) : NULL;
    if (version)
        drop_version_locked(versions, process, version);
    if (process && process->count == 0)
        drop_process_locked(versions, process);
}

static void note_locked(struct read_versions *versions, uint64_t number, struct address address,
                        struct bytes etag)
{
    struct process *process = find_process_locked(versions, number);
    forget_locked(versions, process, address);
    if (etag.size == 0 || number == 0)
        return;
    struct version *version = version_create(address, etag);
    process = find_process_locked(versions, number);
    if (version && !process)
        process = add_process_locked(versions, number);
    if (version && process)
        enter_locked(versions, process, version);
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
    struct process *found = find_process_locked(versions, process);
    struct version *version = found ? find_version_locked(found, address) : NULL;
    if (version)
        r = buffer_append(ret, version->etag);
    (void)pthread_mutex_unlock(&versions->lock);
    return r < 0 ? r : version != NULL;
}

void read_versions_forget(struct read_versions *versions, uint64_t process, struct address address)
{
    (void)pthread_mutex_lock(&versions->lock);
    forget_locked(versions, find_process_locked(versions, process), address);
    (void)pthread_mutex_unlock(&versions->lock);
}
