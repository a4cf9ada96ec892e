/* SPDX-License-Identifier: MIT */
#include "fs/tree/failed_lookups.h"
#include "client/base/locked.h"

#include <pthread.h>

struct slot {
    pid_t thread; /* 0: free */
    struct failure failure;
    uint64_t name_hash; /* of the parent and the name */
    int64_t failed_ms;
};

struct failed_lookups {
    pthread_mutex_t lock;
    /* guarded by lock */
    struct slot slots[FAILED_LOOKUPS_SLOTS];
};

int failed_lookups_create(struct failed_lookups **ret)
{
    struct failed_lookups *failed = calloc(1, sizeof(*failed));
    if (!failed)
        return -ENOMEM;
    (void)pthread_mutex_init(&failed->lock, NULL);
    *ret = failed;
    return 0;
}

void failed_lookups_destroy(struct failed_lookups *failed)
{
    if (!failed)
        return;
    (void)pthread_mutex_destroy(&failed->lock);
    free(failed);
}

static uint64_t hash_name(uint64_t parent, struct bytes name)
{
    return bytes_hash(BYTES_HASH_START ^ parent, name);
}

void failed_lookups_put(struct failed_lookups *failed, pid_t thread, uint64_t parent,
                        struct bytes name, const struct failure *failure, int64_t now_ms)
{
    if (thread <= 0)
        return;
    LOCKED(&failed->lock);
    failed->slots[thread % FAILED_LOOKUPS_SLOTS] =
        (struct slot){.thread = thread,
                      .failure = *failure,
                      .name_hash = hash_name(parent, name),
                      .failed_ms = now_ms};
}

bool failed_lookups_take(struct failed_lookups *failed, pid_t thread, uint64_t parent,
                         struct bytes name, int64_t now_ms, struct failure *ret)
{
    if (thread <= 0)
        return false;
    LOCKED(&failed->lock);
    struct slot *slot = &failed->slots[thread % FAILED_LOOKUPS_SLOTS];
    bool is_own = slot->thread == thread;
    bool is_there = is_own && slot->name_hash == hash_name(parent, name) &&
                    now_ms - slot->failed_ms < FAILED_LOOKUPS_KEPT_MS;
    if (is_there)
        *ret = slot->failure;
    if (is_own)
        slot->thread = 0;
    return is_there;
}
