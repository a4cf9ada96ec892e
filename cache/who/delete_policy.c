/* SPDX-License-Identifier: MIT */
#include "cache/who/delete_policy.h"

#include <pthread.h>

struct burst { /* of one process */
    uint64_t process;
    uint64_t used;      /* the lowest is the least recently used */
    int64_t last_ms;    /* of its last event */
    unsigned count;     /* of DELETE_NOW decisions, up to DELETE_POLICY_FIRST */
    bool has_succeeded; /* one delete, since the count began */
};

struct delete_policy {
    pthread_mutex_t lock; /* guards the rest */
    struct burst bursts[DELETE_POLICY_PROCESSES];
    uint64_t uses; /* the last one */
};

int delete_policy_create(struct delete_policy **ret)
{
    struct delete_policy *policy = calloc(1, sizeof(*policy));
    if (!policy)
        return -ENOMEM;
    (void)pthread_mutex_init(&policy->lock, NULL);
    *ret = policy;
    return 0;
}

void delete_policy_destroy(struct delete_policy *policy)
{
    if (!policy)
        return;
    (void)pthread_mutex_destroy(&policy->lock);
    free(policy);
}

/* NULL: the process is not remembered. */
static struct burst *find_locked(struct delete_policy *policy, uint64_t process)
{
    for (size_t i = 0; process != 0 && i < DELETE_POLICY_PROCESSES; i++)
        if (policy->bursts[i].process == process)
            return &policy->bursts[i];
    return NULL;
}

static void use_locked(struct delete_policy *policy, struct burst *burst, int64_t now_ms)
{
    burst->last_ms = MAX(burst->last_ms, now_ms);
    burst->used = ++policy->uses;
}

/* In an empty place, or in that of the least recently used one. */
static struct burst *add_locked(struct delete_policy *policy, uint64_t process, int64_t now_ms)
{
    struct burst *burst = &policy->bursts[0]; /* an empty one has the lowest `used`: 0 */
    for (size_t i = 1; i < DELETE_POLICY_PROCESSES; i++)
        if (policy->bursts[i].used < burst->used)
            burst = &policy->bursts[i];
    *burst = (struct burst){.process = process, .last_ms = now_ms};
    return burst;
}

static void begin_count(struct burst *burst)
{
    burst->count = 0;
    burst->has_succeeded = false;
}

static enum delete_decision decide(struct burst *burst, bool has_listed)
{
    bool is_full = burst->count == DELETE_POLICY_FIRST;
    if (burst->has_succeeded && (has_listed || is_full))
        return DELETE_QUEUED;
    if (!is_full)
        burst->count++;
    return DELETE_NOW;
}

enum delete_decision delete_policy_unlink(struct delete_policy *policy, uint64_t process,
                                          bool has_listed, int64_t now_ms)
{
    if (process == 0)
        return DELETE_NOW;
    (void)pthread_mutex_lock(&policy->lock);
    struct burst *burst = find_locked(policy, process);
    if (!burst)
        burst = add_locked(policy, process, now_ms);
    if (now_ms - burst->last_ms >= DELETE_POLICY_REST_MS)
        begin_count(burst);
    use_locked(policy, burst, now_ms);
    enum delete_decision decision = decide(burst, has_listed);
    (void)pthread_mutex_unlock(&policy->lock);
    return decision;
}

void delete_policy_answered(struct delete_policy *policy, uint64_t process, bool is_deleted,
                            int64_t now_ms)
{
    (void)pthread_mutex_lock(&policy->lock);
    struct burst *burst = find_locked(policy, process);
    if (burst) {
        use_locked(policy, burst, now_ms);
        if (is_deleted)
            burst->has_succeeded = true;
        else
            begin_count(burst);
    }
    (void)pthread_mutex_unlock(&policy->lock);
}
