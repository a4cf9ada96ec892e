/* SPDX-License-Identifier: MIT */
#include "cache/ahead/request_window.h"
#include "client/base/locked.h"

#include <assert.h>
#include <pthread.h>

#define START_SIZE       2
#define SMOOTHING        8       /* a page moves the smoothed latency by 1/8 of its difference */
#define FORGET_MS        10000.0 /* in about this time the baseline follows a slower service */
#define LATENCY_FLOOR_MS 10.0    /* a smaller difference may be due to this machine */

/* The latency of pages. It is smoothed, because a single slow page means nothing.
 *
 * The baseline is the lowest smoothed latency, and drifts up towards the present one. It has to
 * drift: large entities or a slower network make every page slower for good. A smaller window does
 * not help then, so the window must be able to grow again. */
struct latency {
    double smoothed_ms, baseline_ms; /* negative: no page yet */
    int64_t noted_ms;
};

struct request_window {
    int max;
    pthread_mutex_t lock;
    /* guarded by lock */
    int size, largest; /* 1 <= size <= largest <= max; largest: the greatest size */
    int in_flight;     /* of all lanes */
    int counted;       /* of them, those that take room of all: of a lane `max` at most */
    int in_lane[LANES];
    int64_t fell_ms;
    uint64_t shrunk;
    struct latency latency;
};

int request_window_create(int max, struct request_window **ret)
{
    if (max < 1)
        return -EINVAL;
    struct request_window *window = calloc(1, sizeof(*window));
    if (!window)
        return -ENOMEM;
    (void)pthread_mutex_init(&window->lock, NULL);
    window->max = max;
    window->size = window->largest = MIN(START_SIZE, max);
    window->fell_ms = INT64_MIN;
    window->latency = (struct latency){.smoothed_ms = -1, .baseline_ms = -1};
    *ret = window;
    return 0;
}

void request_window_destroy(struct request_window *window)
{
    if (!window)
        return;
    (void)pthread_mutex_destroy(&window->lock);
    free(window);
}

static void count_locked(struct request_window *window, unsigned lane, int n)
{
    int before = window->in_lane[lane], now = before + n;
    window->in_lane[lane] = now;
    window->in_flight += n;
    window->counted += MIN(now, window->max) - MIN(before, window->max);
    assert(now >= 0 && now <= window->in_flight && window->counted <= window->in_flight);
}

/* How many more requests the lane may send, if `size` is the size of the window. */
static int idle_locked(const struct request_window *window, unsigned lane, int size)
{
    int idle = size - window->in_lane[lane];
    return MAX(MIN(idle, REQUEST_WINDOW_TABLES * window->max - window->counted), 0);
}

int request_window_idle(struct request_window *window, unsigned lane)
{
    LOCKED(&window->lock);
    bool is_low = window->size == 1 || window->size < window->largest;
    return idle_locked(window, lane, is_low ? window->size / 2 : window->size);
}

bool request_window_enter(struct request_window *window, unsigned lane)
{
    LOCKED(&window->lock);
    bool has_room = idle_locked(window, lane, window->size) > 0;
    if (has_room)
        count_locked(window, lane, 1);
    return has_room;
}

void request_window_enter_anyway(struct request_window *window, unsigned lane)
{
    LOCKED(&window->lock);
    count_locked(window, lane, 1);
}

void request_window_give_back(struct request_window *window, unsigned lane)
{
    LOCKED(&window->lock);
    count_locked(window, lane, -1);
}

static void latency_note(struct latency *latency, int64_t sent_ms, int64_t ended_ms)
{
    double page_ms = (double)(ended_ms - sent_ms);
    double since_ms = (double)(ended_ms - latency->noted_ms);
    latency->noted_ms = ended_ms;
    if (latency->smoothed_ms < 0) {
        latency->smoothed_ms = latency->baseline_ms = page_ms;
        return;
    }
    latency->smoothed_ms += (page_ms - latency->smoothed_ms) / SMOOTHING;
    double learnt = MIN(MAX(since_ms, 0) / FORGET_MS, 1);
    latency->baseline_ms += MAX(page_ms - latency->baseline_ms, 0) * learnt;
    latency->baseline_ms = MIN(latency->baseline_ms, latency->smoothed_ms);
}

static bool latency_doubled(const struct latency *latency)
{
    double above_ms = latency->smoothed_ms - latency->baseline_ms;
    return above_ms > MAX(latency->baseline_ms, LATENCY_FLOOR_MS);
}

static void fall_locked(struct request_window *window, int64_t now_ms)
{
    window->size = MAX(window->size / 2, 1);
    window->fell_ms = now_ms;
    window->shrunk++;
    /* Measured anew. Otherwise the slow pages of the larger window would halve it again. */
    window->latency.smoothed_ms = window->latency.baseline_ms;
}

static void grow_locked(struct request_window *window)
{
    window->size = MIN(window->size + 1, window->max);
    window->largest = MAX(window->largest, window->size);
}

static void note_end_locked(struct request_window *window, enum request_end end, int64_t sent_ms,
                            int64_t ended_ms)
{
    if (end == REQUEST_OTHER || sent_ms < window->fell_ms)
        return;
    if (end == REQUEST_GOOD)
        latency_note(&window->latency, sent_ms, ended_ms);
    bool is_slow = end == REQUEST_GOOD && latency_doubled(&window->latency);
    if (end == REQUEST_THROTTLED || is_slow)
        fall_locked(window, ended_ms);
    else
        grow_locked(window);
}

void request_window_leave(struct request_window *window, unsigned lane, enum request_end end,
                          int64_t sent_ms, int64_t ended_ms)
{
    LOCKED(&window->lock);
    count_locked(window, lane, -1);
    note_end_locked(window, end, sent_ms, ended_ms);
}

void request_window_throttled(struct request_window *window, int64_t sent_ms, int64_t now_ms)
{
    LOCKED(&window->lock);
    note_end_locked(window, REQUEST_THROTTLED, sent_ms, now_ms);
}

void request_window_stats(struct request_window *window, struct request_window_stats *ret)
{
    LOCKED(&window->lock);
    *ret = (struct request_window_stats){
        .size = window->size, .in_flight = window->in_flight, .shrunk = window->shrunk};
}
