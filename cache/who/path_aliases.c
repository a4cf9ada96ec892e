/* SPDX-License-Identifier: MIT */
#include "cache/who/path_aliases.h"
#include "client/base/locked.h"

#define REFUSED_TABLES 8

struct pair { /* a process and a partition, which is its key */
    struct map_item item;
    uint64_t paths[2]; /* the last one first; 0: none */
};

struct user { /* a process; its key is its number */
    struct map_item item;
    int64_t used_ms;
    struct map partitions;            /* its pairs, in the order in which they were added */
    bool has_lost;                    /* a pair is not remembered any more, or was not added */
    uint64_t refused[REFUSED_TABLES]; /* the last ones in which it was refused */
    size_t refused_next;
};

struct path_aliases {
    const struct clock *clock;
    pthread_mutex_t lock;
    /* guarded by lock */
    struct map users;
    size_t count; /* of users and pairs */
};

int path_aliases_create(const struct clock *clock, struct path_aliases **ret)
{
    struct path_aliases *aliases = calloc(1, sizeof(*aliases));
    if (!aliases)
        return -ENOMEM;
    (void)pthread_mutex_init(&aliases->lock, NULL);
    aliases->clock = clock;
    map_init(&aliases->users);
    *ret = aliases;
    return 0;
}

/* Takes its youngest pair; the user itself when it has none. */
static void lose_youngest_locked(struct path_aliases *aliases, struct user *user)
{
    void *lost = user;
    user->has_lost = true;
    aliases->count--;
    if (user->partitions.count > 0)
        map_remove(&user->partitions, lost = map_newest(&user->partitions));
    else
        map_remove(&aliases->users, user);
    free(lost);
}

void path_aliases_destroy(struct path_aliases *aliases)
{
    if (!aliases)
        return;
    while (aliases->users.count > 0)
        lose_youngest_locked(aliases, map_oldest(&aliases->users));
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
    struct user *last;
    while ((last = map_oldest(&aliases->users)) && now_ms - last->used_ms > PATH_ALIASES_REST_MS)
        lose_youngest_locked(aliases, last);
    struct user *user = map_use(&aliases->users, MAP_NUMBER(number));
    if (!user && is_added && (user = map_create(sizeof(*user), MAP_NUMBER(number), 0))) {
        map_init(&user->partitions);
        map_add(&aliases->users, user);
        aliases->count++;
    }
    if (user)
        user->used_ms = now_ms;
    return user;
}

static struct pair *find_pair(const struct user *user, uint64_t partition)
{
    return map_find(&user->partitions, MAP_NUMBER(partition));
}

/* NULL: it is not remembered. */
static struct pair *add_pair_locked(struct path_aliases *aliases, struct user *user,
                                    uint64_t partition)
{
    struct user *last;
    while (aliases->count >= PATH_ALIASES_SIZE && (last = map_oldest(&aliases->users)) != user)
        lose_youngest_locked(aliases, last);
    struct pair *pair = aliases->count < PATH_ALIASES_SIZE
                            ? map_create(sizeof(*pair), MAP_NUMBER(partition), 0)
                            : NULL;
    if (!pair) {
        user->has_lost = true;
        return NULL;
    }
    map_add(&user->partitions, pair);
    aliases->count++;
    return pair;
}

void path_aliases_note(struct path_aliases *aliases, const struct caller *caller,
                       const struct directory_path *path)
{
    struct way way;
    if (caller->process == 0 || !find_way(path, &way))
        return;
    LOCKED(&aliases->lock);
    struct user *user = find_user_locked(aliases, caller->process, true);
    struct pair *pair = user ? find_pair(user, way.partition) : NULL;
    if (user && !pair)
        pair = add_pair_locked(aliases, user, way.partition);
    if (!pair || pair->paths[0] == way.path)
        return;
    pair->paths[1] = pair->paths[0];
    pair->paths[0] = way.path;
}

/* Is one of the last two paths another one? */
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

bool path_aliases_differ(struct path_aliases *aliases, const struct caller *caller,
                         const struct directory_path *path)
{
    struct way way;
    if (caller->process == 0 || path->is_flat || !find_way(path, &way))
        return false;
    LOCKED(&aliases->lock);
    struct user *user = find_user_locked(aliases, caller->process, false);
    const struct pair *pair = user ? find_pair(user, way.partition) : NULL;
    bool was_refused = user && is_refused(user, way.table);
    if (!pair || !has_other(pair, way.path))
        return was_refused && user->has_lost;
    if (!was_refused)
        user->refused[user->refused_next++ % REFUSED_TABLES] = way.table;
    return true;
}
