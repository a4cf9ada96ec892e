/* SPDX-License-Identifier: MIT */
#include "cache/write/delete_policy.h"
#include "cache/read/owned_range.h"

#include <pthread.h>
#include <stdatomic.h>

enum hold_state { HOLD_NONE, HOLDING, HOLD_OFF };

struct burst {          /* of one process */
    uint64_t number;    /* of all that were ever begun; one that has rested keeps it */
    uint64_t used;      /* the lowest was not used for longest */
    unsigned running;   /* operations of the process: delete_policy_begin */
    int64_t last_ms;    /* of its last event */
    unsigned count;     /* of NOW, up to DELETE_POLICY_FIRST */
    bool has_succeeded; /* one delete, since the count began */
    enum hold_state state;
    struct owned_range partition; /* HOLDING: of its last unlink; else not set */
    bool is_removed;              /* HOLDING: its directory was, since the last unlink in it */
};

struct delete_policy {
    pthread_mutex_t lock;
    /* Of each burst; 0: none. Written with the lock; delete_policy_begin reads it without. */
    _Atomic uint64_t processes[DELETE_POLICY_PROCESSES];
    /* guarded by lock */
    struct burst bursts[DELETE_POLICY_PROCESSES];
    uint64_t numbers, uses; /* the last ones */
};

int delete_policy_create(struct delete_policy **ret)
{
    struct delete_policy *policy = calloc(1, sizeof(*policy));
    if (!policy || pthread_mutex_init(&policy->lock, NULL) != 0) {
        free(policy);
        return -ENOMEM;
    }
    *ret = policy;
    return 0;
}

void delete_policy_destroy(struct delete_policy *policy)
{
    if (!policy)
        return;
    for (size_t i = 0; i < DELETE_POLICY_PROCESSES; i++)
        if (policy->processes[i] != 0)
            owned_range_finish(&policy->bursts[i].partition);
    (void)pthread_mutex_destroy(&policy->lock);
    free(policy);
}

/* DELETE_POLICY_PROCESSES: the process is not remembered. */
static size_t place_of(const struct delete_policy *policy, uint64_t process)
{
    size_t i = 0;
    if (process == 0)
        return DELETE_POLICY_PROCESSES;
    while (i < DELETE_POLICY_PROCESSES && policy->processes[i] != process)
        i++;
    return i;
}

/* NULL: the process is not remembered. */
static struct burst *find_locked(struct delete_policy *policy, uint64_t process)
{
    size_t i = place_of(policy, process);
    return i < DELETE_POLICY_PROCESSES ? &policy->bursts[i] : NULL;
}

static void use_locked(struct delete_policy *policy, struct burst *burst, int64_t now_ms)
{
    burst->last_ms = MAX(burst->last_ms, now_ms);
    burst->used = ++policy->uses;
}

/* In an empty place, or in that of the one that was not used for longest. */
static struct burst *add_locked(struct delete_policy *policy, uint64_t process, int64_t now_ms)
{
    size_t place = 0; /* an empty one has the lowest `used`: 0 */
    for (size_t i = 1; i < DELETE_POLICY_PROCESSES; i++)
        if (policy->bursts[i].used < policy->bursts[place].used)
            place = i;
    struct burst *burst = &policy->bursts[place];
    if (policy->processes[place] != 0)
        owned_range_finish(&burst->partition);
    *burst = (struct burst){.number = ++policy->numbers, .last_ms = now_ms};
    owned_range_init(&burst->partition);
    policy->processes[place] = process;
    return burst;
}

static void begin_count(struct burst *burst)
{
    burst->count = 0;
    burst->has_succeeded = false;
}

static bool has_ended(const struct burst *burst, int64_t now_ms)
{
    return burst->running == 0 && now_ms - burst->last_ms >= DELETE_POLICY_REST_MS;
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

/* To NONE or OFF. */
static void set_state(struct burst *burst, enum hold_state state)
{
    burst->state = state;
    burst->is_removed = false;
    owned_range_finish(&burst->partition);
}

/* The state becomes HOLDING with the entity's partition; without memory for the key: OFF. */
static void hold(struct burst *burst, struct address address)
{
    struct bytes key = position_partition_key(address.position);
    struct bytes begin = bytes_first(address.position, key.size + 1); /* with its NUL */
    _cleanup_(buffer_finish) struct buffer end;
    buffer_init(&end, POSITION_MAX_BYTES);
    bool is_set = position_append_behind(&end, key) == 0 &&
                  owned_range_set(&burst->partition, address.table,
                                  (struct range){begin, buffer_bytes(&end)});
    if (!is_set) {
        set_state(burst, HOLD_OFF);
        return;
    }
    burst->state = HOLDING;
    burst->is_removed = false;
}

static bool is_holding_in(const struct burst *burst, const char *table)
{
    return burst->state == HOLDING && is_same_table(burst->partition.table, table);
}

/* In HOLDING, at an unlink that may be held. */
static void advance_hold(struct burst *burst, struct address address)
{
    bool is_of_table = is_holding_in(burst, address.table);
    if (is_of_table && range_holds(burst->partition.range, address.position))
        burst->is_removed = false;
    else if (is_of_table && burst->is_removed)
        hold(burst, address);
    else
        set_state(burst, HOLD_OFF);
}

/* The contract's table HOLDING; the decision is that of SENDING. True: the burst has left
 * HOLDING. */
static bool change_state(struct burst *burst, const struct delete_facts *facts,
                         enum delete_decision decision)
{
    bool was_holding = burst->state == HOLDING, may_hold = facts->has_listed && facts->may_hold;
    if (was_holding && may_hold)
        advance_hold(burst, facts->address);
    else if (was_holding)
        set_state(burst, HOLD_OFF);
    else if (burst->state == HOLD_NONE && may_hold && decision == DELETE_QUEUED)
        hold(burst, facts->address);
    return was_holding && burst->state != HOLDING;
}

/* It begins again, if it has ended. */
static void check_rest(struct burst *burst, int64_t now_ms)
{
    if (!has_ended(burst, now_ms))
        return;
    begin_count(burst);
    set_state(burst, HOLD_NONE);
}

/* That of the process, at its unlink. It begins if there is none, or if it has ended. */
static struct burst *go_on_or_begin_locked(struct delete_policy *policy, uint64_t process,
                                           int64_t now_ms)
{
    struct burst *burst = find_locked(policy, process);
    if (burst)
        check_rest(burst, now_ms);
    else
        burst = add_locked(policy, process, now_ms);
    use_locked(policy, burst, now_ms);
    return burst;
}

uint64_t delete_policy_begin(struct delete_policy *policy, uint64_t process, int64_t now_ms)
{
    uint64_t number = 0;
    if (place_of(policy, process) == DELETE_POLICY_PROCESSES)
        return 0;
    (void)pthread_mutex_lock(&policy->lock);
    struct burst *burst = find_locked(policy, process);
    if (burst) {
        check_rest(burst, now_ms); /* before it runs */
        if (burst->state == HOLDING)
            use_locked(policy, burst, now_ms);
        burst->running++;
        number = burst->number;
    }
    (void)pthread_mutex_unlock(&policy->lock);
    return number;
}

void delete_policy_end(struct delete_policy *policy, uint64_t process, uint64_t number,
                       int64_t now_ms)
{
    (void)pthread_mutex_lock(&policy->lock);
    struct burst *burst = find_locked(policy, process);
    if (burst && burst->number == number) {
        burst->running--;
        if (burst->state == HOLDING)
            use_locked(policy, burst, now_ms);
    }
    (void)pthread_mutex_unlock(&policy->lock);
}

bool delete_policy_holds(struct delete_policy *policy, uint64_t process, int64_t now_ms)
{
    (void)pthread_mutex_lock(&policy->lock);
    const struct burst *burst = find_locked(policy, process);
    bool holds = burst && burst->state == HOLDING && !has_ended(burst, now_ms);
    (void)pthread_mutex_unlock(&policy->lock);
    return holds;
}

enum delete_decision delete_policy_unlink(struct delete_policy *policy, uint64_t process,
                                          const struct delete_facts *facts, int64_t now_ms,
                                          bool *ret_has_left)
{
    *ret_has_left = false;
    if (process == 0)
        return DELETE_NOW;
    (void)pthread_mutex_lock(&policy->lock);
    struct burst *burst = go_on_or_begin_locked(policy, process, now_ms);
    enum delete_decision decision = decide(burst, facts->has_listed);
    *ret_has_left = change_state(burst, facts, decision);
    if (decision == DELETE_QUEUED && burst->state == HOLDING)
        decision = DELETE_HELD;
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

/* NULL: it has none, or has rested. */
static struct burst *go_on_locked(struct delete_policy *policy, uint64_t process, int64_t now_ms)
{
    struct burst *burst = find_locked(policy, process);
    if (!burst || has_ended(burst, now_ms))
        return NULL;
    use_locked(policy, burst, now_ms);
    return burst;
}

void delete_policy_active(struct delete_policy *policy, uint64_t process, int64_t now_ms)
{
    (void)pthread_mutex_lock(&policy->lock);
    (void)go_on_locked(policy, process, now_ms);
    (void)pthread_mutex_unlock(&policy->lock);
}

void delete_policy_removed(struct delete_policy *policy, uint64_t process, const char *table,
                           struct range range, int64_t now_ms)
{
    (void)pthread_mutex_lock(&policy->lock);
    struct burst *burst = go_on_locked(policy, process, now_ms);
    if (burst && is_holding_in(burst, table) && range_holds_range(range, burst->partition.range))
        burst->is_removed = true;
    (void)pthread_mutex_unlock(&policy->lock);
}

void delete_policy_end_table(struct delete_policy *policy, uint64_t process, const char *table)
{
    (void)pthread_mutex_lock(&policy->lock);
    struct burst *burst = find_locked(policy, process);
    if (burst && (burst->state == HOLD_OFF || is_holding_in(burst, table)))
        set_state(burst, HOLD_NONE);
    (void)pthread_mutex_unlock(&policy->lock);
}
