/* SPDX-License-Identifier: MIT */
#include "client/store/service_throttling.h"
#include "client/base/lane.h"
#include "client/base/locked.h"

#define PART       10 /* throttling: more than one request in PART is refused */
#define TABLE_SIZE 64

struct window {                     /* of a lane; all 0 before the first request */
    int64_t began_ms, throttled_ms; /* throttled_ms: the last request that was throttled */
    unsigned requests, throttled;
};

struct service_throttling {
    const struct clock *clock;
    service_throttling_sink *sink;
    void *context;
    pthread_mutex_t lock;
    /* guarded by lock */
    struct window windows[LANES];
    bool is_throttling;
    int64_t began_ms;       /* is_throttling: since when */
    int64_t last_ms;        /* the last request of a window with more than a tenth */
    char table[TABLE_SIZE]; /* of the last window that had REQUESTS, too */
};

int service_throttling_create(const struct clock *clock, service_throttling_sink *sink,
                              void *context, struct service_throttling **ret)
{
    struct service_throttling *throttling = calloc(1, sizeof(*throttling));
    if (!throttling)
        return -ENOMEM;
    (void)pthread_mutex_init(&throttling->lock, NULL);
    throttling->clock = clock;
    throttling->sink = sink;
    throttling->context = context;
    *ret = throttling;
    return 0;
}

void service_throttling_destroy(struct service_throttling *throttling)
{
    if (!throttling)
        return;
    (void)pthread_mutex_destroy(&throttling->lock);
    free(throttling);
}

static bool is_over_part(const struct window *window)
{
    return (uint64_t)window->throttled * PART > window->requests;
}

/* Counts the request in its window. True: more than a tenth of that window were throttled. */
static bool count_locked(struct service_throttling *throttling, struct window *window,
                         bool is_throttled, int64_t now_ms)
{
    if (now_ms - window->began_ms >= SERVICE_THROTTLING_WINDOW_MS) {
        if (is_over_part(window)) /* even of a few requests */
            throttling->last_ms = MAX(throttling->last_ms, window->throttled_ms);
        *window = (struct window){.began_ms = now_ms};
    }
    window->requests++;
    window->throttled += is_throttled;
    if (is_throttled)
        window->throttled_ms = now_ms;
    return window->requests >= SERVICE_THROTTLING_REQUESTS && is_over_part(window);
}

/* True: *ret is a change. */
static bool change_locked(struct service_throttling *throttling, const struct window *window,
                          bool is_over, int64_t now_ms, struct service_throttling_change *ret)
{
    bool was_throttling = throttling->is_throttling;
    if (is_over)
        throttling->last_ms = now_ms;
    if (is_over && !was_throttling)
        throttling->began_ms = now_ms;
    bool is_quiet = now_ms - throttling->last_ms >= SERVICE_THROTTLING_QUIET_MS;
    throttling->is_throttling = is_over || (was_throttling && !is_quiet);
    *ret =
        (struct service_throttling_change){.is_throttling = throttling->is_throttling,
                                           .requests = window->requests,
                                           .throttled = window->throttled,
                                           .lasted_ms = throttling->last_ms - throttling->began_ms};
    return throttling->is_throttling != was_throttling;
}

void service_throttling_note(struct service_throttling *throttling, const char *table,
                             bool is_throttled)
{
    int64_t now_ms = clock_now_ms(throttling->clock);
    struct service_throttling_change change;
    char last_table[TABLE_SIZE]; /* the sink is called without the lock */
    (void)pthread_mutex_lock(&throttling->lock);
    struct window *window = &throttling->windows[lane_of_table(table)];
    bool is_over = count_locked(throttling, window, is_throttled, now_ms);
    if (is_over)
        (void)snprintf(throttling->table, TABLE_SIZE, "%s", table ? table : "the list of tables");
    bool is_changed = change_locked(throttling, window, is_over, now_ms, &change);
    memcpy(last_table, throttling->table, TABLE_SIZE);
    (void)pthread_mutex_unlock(&throttling->lock);
    change.table = last_table;
    if (is_changed && throttling->sink)
        throttling->sink(throttling->context, &change);
}
