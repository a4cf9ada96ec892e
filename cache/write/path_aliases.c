/* SPDX-License-Identifier: MIT */
#include "cache/write/path_aliases.h"
#include "client/locked.h"

#include <bsd/sys/tree.h>
#include <pthread.h>
#include <sys/queue.h>

#define REFUSED_TABLES 8

struct pair { /* a process and a partition */
    RB_ENTRY(pair) by_partition;
    SLIST_ENTRY(pair) older;
    uint64_t partition;
    uint64_t paths[2]; /* the last one first; 0: none */
};

static int compare_pairs(const struct pair *a, const struct pair *b)
{
    return (a->partition > b->partition) - (a->partition < b->partition);
}

RB_HEAD(pair_tree, pair);
SLIST_HEAD(pair_list, pair);
RB_GENERATE_INTERNAL(pair_tree, pair, by_partition, compare_pairs, static __attribute__((unused)));

struct user { /* a process */
    RB_ENTRY(user) by_number;
    TAILQ_ENTRY(user) by_use;
    uint64_t number;
    int64_t used_ms;
    struct pair_tree partitions;
    struct pair_list youngest;
    bool has_lost;                    /* a pair is not remembered any more, or was not added */
    uint64_t refused[REFUSED_TABLES]; /* the last ones in which it was refused */
    size_t refused_next;
};

static int compare_users(const struct user *a, const struct user *b)
{
    return (a->number > b->number) - (a->number < b->number);
}

RB_HEAD(user_tree, user);
TAILQ_HEAD(user_list, user);
RB_GENERATE_INTERNAL(user_tree, user, by_number, compare_users, static __attribute__((unused)));

struct path_aliases {
    const struct clock *clock;
    pthread_mutex_t lock;
    /* guarded by lock */
    struct user_tree numbers;
    struct user_list by_use; /* the last used first */
    size_t count;            /* of users and pairs */
};

int path_aliases_create(const struct clock *clock, struct path_aliases **ret)
{
    struct path_aliases *aliases = calloc(1, sizeof(*aliases));
    if (!aliases)
        return -ENOMEM;
    (void)pthread_mutex_init(&aliases->lock, NULL);
    aliases->clock = clock;
    TAILQ_INIT(&aliases->by_use);
    *ret = aliases;
    return 0;
}

/* Takes its youngest pair; the user itself when it has none. */
static void lose_youngest_locked(struct path_aliases *aliases, struct user *user)
{
    struct pair *pair = SLIST_FIRST(&user->youngest);
    user->has_lost = true;
    aliases->count--;
    if (pair) {
        SLIST_REMOVE_HEAD(&user->youngest, older);
        (void)RB_REMOVE(pair_tree, &user->partitions, pair);
        free(pair);
        return;
    }
    (void)RB_REMOVE(user_tree, &aliases->numbers, user);
    TAILQ_REMOVE(&aliases->by_use, user, by_use);
    free(user);
}

void path_aliases_destroy(struct path_aliases *aliases)
{
    if (!aliases)
        return;
    while (!TAILQ_EMPTY(&aliases->by_use))
        lose_youngest_locked(aliases, TAILQ_FIRST(&aliases->by_use));
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

/* Counts as a use by the process. NULL: nothing is remembered of it; or, if it is to be added,
 * there is no memory. */
static struct user *find_user_locked(struct path_aliases *aliases, uint64_t number, bool is_added)
{
    int64_t now_ms = clock_now_ms(aliases->clock);
    struct user *last, key = {.number = number};
    while ((last = TAILQ_LAST(&aliases->by_use, user_list)) &&
           now_ms - last->used_ms > PATH_ALIASES_REST_MS)
        lose_youngest_locked(aliases, last);
    struct user *user = RB_FIND(user_tree, &aliases->numbers, &key);
    if (user) {
        TAILQ_REMOVE(&aliases->by_use, user, by_use);
    } else if (is_added && (user = calloc(1, sizeof(*user)))) {
        user->number = number;
        (void)RB_INSERT(user_tree, &aliases->numbers, user);
        aliases->count++;
    }
    if (!user)
        return NULL;
    user->used_ms = now_ms;
    TAILQ_INSERT_HEAD(&aliases->by_use, user, by_use);
    return user;
}

static struct pair *find_pair(struct user *user, uint64_t partition)
{
    return RB_FIND(pair_tree, &user->partitions, &(struct pair){.partition = partition});
}

/* NULL: it is not remembered. */
static struct pair *add_pair_locked(struct path_aliases *aliases, struct user *user,
                                    uint64_t partition)
{
    struct user *last;
    while (aliases->count >= PATH_ALIASES_SIZE &&
           (last = TAILQ_LAST(&aliases->by_use, user_list)) != user)
        lose_youngest_locked(aliases, last);
    struct pair *pair = aliases->count < PATH_ALIASES_SIZE ? calloc(1, sizeof(*pair)) : NULL;
    if (!pair) {
        user->has_lost = true;
        return NULL;
    }
    pair->partition = partition;
    (void)RB_INSERT(pair_tree, &user->partitions, pair);
    SLIST_INSERT_HEAD(&user->youngest, pair, older);
    aliases->count++;
    return pair;
}

static void note_locked(struct path_aliases *aliases, uint64_t process, const struct way *way)
{
    struct user *user = find_user_locked(aliases, process, true);
    struct pair *pair = user ? find_pair(user, way->partition) : NULL;
    if (user && !pair)
        pair = add_pair_locked(aliases, user, way->partition);
    if (!pair || pair->paths[0] == way->path)
        return;
    pair->paths[1] = pair->paths[0];
    pair->paths[0] = way->path;
}

void path_aliases_note(struct path_aliases *aliases, const struct caller *caller,
                       const struct directory_path *path)
{
    struct way way;
    if (caller->process == 0 || !find_way(path, &way))
        return;
    LOCKED(&aliases->lock);
    note_locked(aliases, caller->process, &way);
}

/* Of the two last paths one is another, if there was any. */
static bool has_other(const struct pair *pair, uint64_t path)
{
    for (size_t i = 0; i < ARRAY_SIZE(pair->paths); i++)
        if (pair->paths[i] != 0 && pair->paths[i] != path)
            return true;
    return false;
}

static bool is_refused(const struct user *user, uint64_t table)
{
    for (size_t i = 0; i < REFUSED_TABLES; i++)
        if (user->refused[i] == table)
            return true;
    return false;
}

static bool differ_locked(struct path_aliases *aliases, uint64_t process, const struct way *way)
{
    struct user *user = find_user_locked(aliases, process, false);
    const struct pair *pair = user ? find_pair(user, way->partition) : NULL;
    bool was_refused = user && is_refused(user, way->table);
    if (!pair || !has_other(pair, way->path))
        return was_refused && user->has_lost;
    if (!was_refused)
        user->refused[user->refused_next++ % REFUSED_TABLES] = way->table;
    return true;
}

bool path_aliases_differ(struct path_aliases *aliases, const struct caller *caller,
                         const struct directory_path *path)
{
    struct way way;
    if (caller->process == 0 || path->is_flat || !find_way(path, &way))
        return false;
    LOCKED(&aliases->lock);
    return differ_locked(aliases, caller->process, &way);
}
