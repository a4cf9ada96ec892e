/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_REQUEST_WINDOW_H
#define CACHE_AHEAD_REQUEST_WINDOW_H
/* The congestion window of an account. Its size is the maximum number of requests that the scans of
 * one table have in flight, so a table whose requests get no answer does not delay another table.
 * All tables together may have REQUEST_WINDOW_TABLES times `max` requests in flight. The size
 * starts at 2. Each good page adds one, up to `max`. It is halved when the service throttles, or
 * when pages take twice as long as before, but at most once in a round trip.
 *
 * Thread-safety: any thread; one leaf mutex; never waits. Time is an argument (monotonic). */
#include "client/base/lane.h"

#define REQUEST_WINDOW_TABLES 4

struct request_window;
int request_window_create(int max, struct request_window **ret); /* -EINVAL: max < 1; -ENOMEM */
void request_window_destroy(struct request_window *window);      /* takes NULL */

/* How many speculative requests of the lane may be sent now; at least 0. Their limit is reached
 * first: while the window is smaller than it was before, they are allowed only while the requests
 * in flight fill at most half of it. A window of one has no room for them. */
int request_window_idle(struct request_window *window, unsigned lane);
/* Counts a request. False: there is no room, and it is not counted. */
bool request_window_enter(struct request_window *window, unsigned lane);
/* Counts a request that must be sent although there may be no room. Requests of a lane beyond the
 * maximum wait for a worker thread, and do not reduce the room of other lanes. */
void request_window_enter_anyway(struct request_window *window, unsigned lane);
/* A counted request is not sent after all: it is no longer counted. */
void request_window_give_back(struct request_window *window, unsigned lane);

enum request_end {
    REQUEST_GOOD,      /* a page of normal size: its latency counts */
    REQUEST_UNTIMED,   /* a page whose latency is ignored: the service searched for rows */
    REQUEST_THROTTLED, /* the service is overloaded, or the request must be repeated */
    REQUEST_OTHER, /* it failed for another reason, was cancelled, or its page is nearly empty */
};
/* A request that was sent has ended. If it was sent before the window was last halved, it does not
 * change the size. */
void request_window_leave(struct request_window *window, unsigned lane, enum request_end end,
                          int64_t sent_ms, int64_t ended_ms);
/* The first attempt of a request has failed. Halves the window now, as for REQUEST_THROTTLED. When
 * the request ends, request_window_leave gets REQUEST_OTHER. */
void request_window_throttled(struct request_window *window, int64_t sent_ms, int64_t now_ms);

struct request_window_stats {
    int size;
    int in_flight;   /* of all tables */
    uint64_t shrunk; /* how often it was halved; also counted for a size of 1, which stays 1 */
};
void request_window_stats(struct request_window *window, struct request_window_stats *ret);

DEFINE_CLEANUP(struct request_window *, request_window_destroy);

#endif
