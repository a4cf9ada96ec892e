/* SPDX-License-Identifier: MIT */
#include "cache/write/path_aliases.h"

#include <bsd/sys/tree.h>
#include <pthread.h>
#include <sys/queue.h>

#define PATH_ALIASES_REPLACED 16

struct use { /* of a partition, by one path */
    uint64_t path;
    uint64_t burst; /* of the job; 0: there was no such use */
};

struct pair { /* a process and a partition */
    RB_ENTRY(pair) by_key;
    TAILQ_ENTRY(pair) by_use;
    uint64_t process, partition;
    struct use uses[2]; /* of different paths, the last one first */
};

static int compare_pairs(const struct pair *a, const struct pair *b)
{
    int order = (a->process > b->process) - (a->process < b->process);
    return order != 0 ? order : (a->partition > b->partition) - (a->partition < b->partition);
}

RB_HEAD(pair_tree, pair);
TAILQ_HEAD(pair_list, pair);
RB_GENERATE_INTERNAL(pair_tree, pair, by_key, compare_pairs, static __attribute__((unused)));

struct job {
    uint64_t number, burst; /* burst 0: no job */
    int64_t used_ms;
};

struct path_aliases {
    const struct clock *clock;
    pthread_mutex_t lock;
    /* guarded by lock */
    struct pair_tree keys;
    struct pair_list by_use; /* the last used first */
    size_t count;
    uint64_t bursts; /* the last one that began */
    uint64_t random;
    uint64_t replaced[PATH_ALIASES_REPLACED]; /* processes of which pairs were replaced */
    size_t replaced_next;
    struct job jobs[PATH_ALIASES_JOBS];
    struct pair pairs[PATH_ALIASES_SIZE]; /* the first `count` are in use */
};

int path_aliases_create(const struct clock *clock, struct path_aliases **ret)
{
    struct path_aliases *aliases = calloc(1, sizeof(*aliases));
    if (!aliases || pthread_mutex_init(&aliases->lock, NULL) != 0) {
        free(aliases);
        return -ENOMEM;
    }
    aliases->clock = clock;
    TAILQ_INIT(&aliases->by_use);
    *ret = aliases;
    return 0;
}

void path_aliases_destroy(struct path_aliases *aliases)
{
    if (!aliases)
        return;
    (void)pthread_mutex_destroy(&aliases->lock);
    free(aliases);
}

struct way { /* what is kept of a path; all are hashes */
    uint64_t table, partition, path;
};

static uint64_t hash_part(uint64_t hash, struct bytes part)
{
    struct bytes size = {(const char *)&part.size, sizeof(part.size)};
    return bytes_hash(bytes_hash(hash, size), part);
}

/* False: the path ends at no partition. */
static bool find_way(const struct directory_path *path, struct way *ret)
{
    const struct directory *directory = path->steps;
    size_t i = 0;
    if (path->n == 0 || directory->kind != DIRECTORY_ENTITIES)
        return false;
    ret->table = hash_part(BYTES_HASH_START, bytes_of(directory->table));
    ret->partition = hash_part(ret->table, position_partition_key(directory->range.lo));
    ret->path = BYTES_HASH_START;
    while (i < path->n && path->steps[i].kind == DIRECTORY_ENTITIES)
        i++;
    for (; i < path->n; i++)
        ret->path = hash_part(ret->path, path->steps[i].range.lo);
    return true;
}

/* The present burst of the job, which goes on. */
static uint64_t use_job_locked(struct path_aliases *aliases, uint64_t number)
{
    int64_t now_ms = clock_now_ms(aliases->clock);
    struct job *job = aliases->jobs;
    for (struct job *it = job; it < aliases->jobs + PATH_ALIASES_JOBS; it++) {
        if (it->burst > 0 && it->number == number) {
            job = it;
            break;
        }
        if (it->burst == 0 || (job->burst > 0 && it->used_ms < job->used_ms))
            job = it;
    }
    if (job->burst == 0 || job->number != number || now_ms - job->used_ms > PATH_ALIASES_REST_MS)
        *job = (struct job){.number = number, .burst = ++aliases->bursts};
    job->used_ms = now_ms;
    return job->burst;
}

/* NULL: not remembered. It counts as used. */
static struct pair *find_locked(struct path_aliases *aliases, uint64_t process, uint64_t partition)
{
    struct pair key = {.process = process, .partition = partition};
    struct pair *pair = RB_FIND(pair_tree, &aliases->keys, &key);
    if (pair) {
        TAILQ_REMOVE(&aliases->by_use, pair, by_use);
        TAILQ_INSERT_HEAD(&aliases->by_use, pair, by_use);
    }
    return pair;
}

/* xorshift */
static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state + 1;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

static bool has_replaced_locked(const struct path_aliases *aliases, uint64_t process)
{
    for (size_t i = 0; i < PATH_ALIASES_REPLACED; i++)
        if (aliases->replaced[i] == process)
            return true;
    return false;
}

/* A process deletes in the order in which it has used the partitions. Were always its oldest pair
 * replaced, each would be gone when its turn comes. */
static struct pair *take_used_locked(struct path_aliases *aliases, uint64_t process)
{
    struct pair *pair = TAILQ_LAST(&aliases->by_use, pair_list);
    if (pair->process == process) {
        pair = &aliases->pairs[next_random(&aliases->random) % PATH_ALIASES_SIZE];
        if (!has_replaced_locked(aliases, process))
            aliases->replaced[aliases->replaced_next++ % PATH_ALIASES_REPLACED] = process;
    }
    (void)RB_REMOVE(pair_tree, &aliases->keys, pair);
    TAILQ_REMOVE(&aliases->by_use, pair, by_use);
    return pair;
}

static struct pair *enter_locked(struct path_aliases *aliases, uint64_t process, uint64_t partition)
{
    struct pair *pair = find_locked(aliases, process, partition);
    if (pair)
        return pair;
    pair = aliases->count < PATH_ALIASES_SIZE ? &aliases->pairs[aliases->count++]
                                              : take_used_locked(aliases, process);
    *pair = (struct pair){.process = process, .partition = partition};
    (void)RB_INSERT(pair_tree, &aliases->keys, pair);
    TAILQ_INSERT_HEAD(&aliases->by_use, pair, by_use);
    return pair;
}

static void note_locked(struct path_aliases *aliases, uint64_t process, uint64_t partition,
                        struct use use)
{
    struct pair *pair = enter_locked(aliases, process, partition);
    if (pair->uses[0].path != use.path)
        pair->uses[1] = pair->uses[0];
    pair->uses[0] = use;
}

void path_aliases_note(struct path_aliases *aliases, const struct caller *caller,
                       const struct directory_path *path)
{
    struct way way;
    if (caller->process == 0 || !find_way(path, &way))
        return;
    (void)pthread_mutex_lock(&aliases->lock);
    struct use use = {way.path, use_job_locked(aliases, caller->job)};
    note_locked(aliases, caller->process, way.partition, use);
    (void)pthread_mutex_unlock(&aliases->lock);
}

/* Of the two last paths one is another, if there was any. */
static bool has_other(const struct pair *pair, struct use use)
{
    for (size_t i = 0; pair && i < ARRAY_SIZE(pair->uses); i++)
        if (pair->uses[i].burst == use.burst && pair->uses[i].path != use.path)
            return true;
    return false;
}

/* That a process was refused in a table is kept as a use of a partition that no key gives: the
 * table's hash. It counts where pairs of the process were replaced. */
static bool differ_locked(struct path_aliases *aliases, uint64_t process, const struct way *way,
                          struct use use)
{
    const struct use refused = {.path = ~use.path, .burst = use.burst};
    if (has_other(find_locked(aliases, process, way->partition), use)) {
        note_locked(aliases, process, way->table, refused);
        return true;
    }
    return has_replaced_locked(aliases, process) &&
           has_other(find_locked(aliases, process, way->table), use);
}

bool path_aliases_differ(struct path_aliases *aliases, const struct caller *caller,
                         const struct directory_path *path)
{
    struct way way;
    if (caller->process == 0 || path->is_flat || !find_way(path, &way))
        return false;
    (void)pthread_mutex_lock(&aliases->lock);
    struct use use = {way.path, use_job_locked(aliases, caller->job)};
    bool do_differ = differ_locked(aliases, caller->process, &way, use);
    (void)pthread_mutex_unlock(&aliases->lock);
    return do_differ;
}
