/* SPDX-License-Identifier: MIT */
#include "cache/known/delays.h"
#include "client/base/locked.h"
#include "client/text/table_name.h"

#include <assert.h>
#include <pthread.h>

/* A reason stays valid for the longest pause before a repetition (backoff.h; a Retry-After is added
 * to it) and as long again for the answer. */
#define REASON_MS 16000

struct delay {
    char table[TABLE_NAME_SIZE]; /* "": the list of tables */
    int64_t noted_ms;
    struct failure reason; /* error 0: none */
};

struct delays {
    const struct clock *clock;
    pthread_mutex_t lock;
    /* guarded by lock */
    struct delay all[DELAYS_TABLES];
    LIST_HEAD(delayed_list, delayed) waiting; /* a short list: at most the requests in flight */
};

int delays_create(const struct clock *clock, struct delays **ret)
{
    struct delays *delays = calloc(1, sizeof(*delays));
    if (!delays)
        return -ENOMEM;
    (void)pthread_mutex_init(&delays->lock, NULL);
    delays->clock = clock;
    LIST_INIT(&delays->waiting);
    *ret = delays;
    return 0;
}

void delays_destroy(struct delays *delays)
{
    if (!delays)
        return;
    assert(LIST_EMPTY(&delays->waiting));
    (void)pthread_mutex_destroy(&delays->lock);
    free(delays);
}

static const char *name_of(const char *table)
{
    return table ? table : "";
}

/* NULL: the table has no reason. */
static struct delay *find_locked(struct delays *delays, const char *table)
{
    for (size_t i = 0; i < DELAYS_TABLES; i++) {
        struct delay *delay = &delays->all[i];
        if (delay->reason.error < 0 && strcmp(delay->table, name_of(table)) == 0)
            return delay;
    }
    return NULL;
}

/* A free place, or that of the oldest reason. */
static struct delay *find_place_locked(struct delays *delays)
{
    struct delay *found = &delays->all[0];
    for (size_t i = 1; i < DELAYS_TABLES && found->reason.error < 0; i++) {
        struct delay *delay = &delays->all[i];
        if (delay->reason.error == 0 || delay->noted_ms < found->noted_ms)
            found = delay;
    }
    return found;
}

void delays_note(struct delays *delays, struct delayed *request, const struct failure *reason)
{
    int64_t now_ms = clock_now_ms(delays->clock);
    LOCKED(&delays->lock);
    struct delay *delay = find_locked(delays, request->table);
    if (!delay)
        delay = find_place_locked(delays);
    (void)snprintf(delay->table, sizeof(delay->table), "%s", name_of(request->table));
    delay->noted_ms = now_ms;
    delay->reason = *reason;
    if (!request->is_waiting)
        LIST_INSERT_HEAD(&delays->waiting, request, entry);
    request->is_waiting = true;
}

static void leave_locked(struct delayed *request)
{
    if (request->is_waiting)
        LIST_REMOVE(request, entry);
    request->is_waiting = false;
}

static bool is_any_waiting_locked(const struct delays *delays, const char *table)
{
    for (const struct delayed *it = LIST_FIRST(&delays->waiting); it; it = LIST_NEXT(it, entry)) {
        if (strcmp(name_of(it->table), name_of(table)) == 0)
            return true;
    }
    return false;
}

void delays_answered(struct delays *delays, struct delayed *request)
{
    LOCKED(&delays->lock);
    leave_locked(request);
    struct delay *delay = find_locked(delays, request->table);
    if (delay && !is_any_waiting_locked(delays, request->table))
        delay->reason.error = 0;
}

void delays_leave(struct delays *delays, struct delayed *request)
{
    LOCKED(&delays->lock);
    leave_locked(request);
}

int delays_explain(struct delays *delays, const char *table, struct call *call, int r)
{
    if (r != -ETIMEDOUT || call->failure.is_retryable) /* not the end of the call's time */
        return r;
    int64_t now_ms = clock_now_ms(delays->clock);
    LOCKED(&delays->lock);
    const struct delay *delay = find_locked(delays, table);
    if (delay && now_ms - delay->noted_ms <= REASON_MS + delay->reason.retry_after_ms)
        call->failure = delay->reason;
    return call->failure.error;
}
