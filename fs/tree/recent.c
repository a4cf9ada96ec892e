#include "fs/tree/recent.h"

#include <pthread.h>

struct slot {
    pid_t thread; /* 0: free */
    uint64_t node;
    struct entity entity; /* looked up behind an ESTALE; no page: none */
    bool was_stale;
    struct failure failure; /* of the lookup of a name; error 0: none */
    uint64_t failed_name;   /* hash of its parent and name */
    int64_t failed_ms;
};

struct recent {
    pthread_mutex_t lock;
    /* guarded by lock */
    struct slot slots[RECENT_SIZE];
};

int recent_create(struct recent **ret)
{
    struct recent *recent = calloc(1, sizeof(*recent));
    if (!recent)
        return -ENOMEM;
    int r = pthread_mutex_init(&recent->lock, NULL);
    if (r != 0) {
        free(recent);
        return -r;
    }
    *ret = recent;
    return 0;
}

void recent_destroy(struct recent *recent)
{
    if (!recent)
        return;
    for (size_t i = 0; i < RECENT_SIZE; i++)
        entity_finish(&recent->slots[i].entity);
    (void)pthread_mutex_destroy(&recent->lock);
    free(recent);
}

static struct slot *find_locked(struct recent *recent, pid_t thread)
{
    struct slot *slot = thread > 0 ? &recent->slots[thread % RECENT_SIZE] : NULL;
    return slot && slot->thread == thread ? slot : NULL;
}

static struct slot *take_slot_locked(struct recent *recent, pid_t thread)
{
    struct slot *slot = &recent->slots[thread % RECENT_SIZE];
    if (slot->thread != thread) {
        entity_finish(&slot->entity);
        *slot = (struct slot){.thread = thread};
    }
    return slot;
}

int recent_looked_up(struct recent *recent, pid_t thread, uint64_t node,
                     const struct entity *entity)
{
    struct entity copy = {0};
    int r = recent_was_stale(recent, thread) ? entity_copy(entity, &copy) : 0;
    if (r < 0 || !copy.page)
        return r;
    (void)pthread_mutex_lock(&recent->lock);
    struct slot *slot = find_locked(recent, thread);
    if (slot) {
        struct entity before = slot->entity;
        slot->entity = copy;
        slot->node = node;
        copy = before;
    }
    (void)pthread_mutex_unlock(&recent->lock);
    entity_finish(&copy);
    return 0;
}

bool recent_take(struct recent *recent, pid_t thread, uint64_t node, struct entity *ret)
{
    (void)pthread_mutex_lock(&recent->lock);
    struct slot *slot = find_locked(recent, thread);
    bool is_there = slot && slot->entity.page && slot->node == node;
    if (is_there) {
        *ret = slot->entity;
        slot->entity = (struct entity){0};
    }
    (void)pthread_mutex_unlock(&recent->lock);
    return is_there;
}

void recent_answered_stale(struct recent *recent, pid_t thread)
{
    if (thread <= 0)
        return;
    (void)pthread_mutex_lock(&recent->lock);
    take_slot_locked(recent, thread)->was_stale = true;
    (void)pthread_mutex_unlock(&recent->lock);
}

bool recent_was_stale(struct recent *recent, pid_t thread)
{
    (void)pthread_mutex_lock(&recent->lock);
    struct slot *slot = find_locked(recent, thread);
    bool was_stale = slot && slot->was_stale;
    (void)pthread_mutex_unlock(&recent->lock);
    return was_stale;
}

void recent_opened(struct recent *recent, pid_t thread)
{
    (void)pthread_mutex_lock(&recent->lock);
    struct slot *slot = find_locked(recent, thread);
    if (slot)
        slot->was_stale = false;
    (void)pthread_mutex_unlock(&recent->lock);
}

static uint64_t hash_name(uint64_t parent, struct bytes name)
{
    return bytes_hash(BYTES_HASH_START ^ parent, name);
}

void recent_failed(struct recent *recent, pid_t thread, uint64_t parent, struct bytes name,
                   const struct failure *failure, int64_t now_ms)
{
    if (thread <= 0)
        return;
    (void)pthread_mutex_lock(&recent->lock);
    struct slot *slot = take_slot_locked(recent, thread);
    slot->failure = *failure;
    slot->failed_name = hash_name(parent, name);
    slot->failed_ms = now_ms;
    (void)pthread_mutex_unlock(&recent->lock);
}

bool recent_take_failure(struct recent *recent, pid_t thread, uint64_t parent, struct bytes name,
                         int64_t now_ms, struct failure *ret)
{
    (void)pthread_mutex_lock(&recent->lock);
    struct slot *slot = find_locked(recent, thread);
    bool is_there = slot && slot->failure.error < 0 &&
                    slot->failed_name == hash_name(parent, name) &&
                    now_ms - slot->failed_ms < RECENT_FAILURE_MS;
    if (is_there)
        *ret = slot->failure;
    if (slot)
        slot->failure.error = 0;
    (void)pthread_mutex_unlock(&recent->lock);
    return is_there;
}
