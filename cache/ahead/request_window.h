/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_REQUEST_WINDOW_H
#define CACHE_AHEAD_REQUEST_WINDOW_H
/* The congestion window of an account. Its size is the maximum number of requests that the scans of
 * one table have in flight. A table whose requests get no answer does not reduce the number of
 * another table. All tables together have at most REQUEST_WINDOW_TABLES times the maximum size. The
 * window starts at 2. Each good page
 * adds one, up to the maximum. It is halved when the service throttles, or when pages take twice as
 * long as before, but at most once in a round trip.
 *
 * Thread-safety: any thread; one leaf mutex; never waits. Time is an argument (monotonic). */
#include "client/base/lane.h"

#define REQUEST_WINDOW_TABLES 4

struct request_window;
int request_window_create(int max, struct request_window **ret); /* -EINVAL: max < 1; -ENOMEM */
void request_window_destroy(struct request_window *window);      /* takes NULL */

/* How many more requests of the lane may be sent now; at least 0. Speculative requests give way
 * first: while the window is smaller than it once was, they are allowed only as long as the
 * requests in flight take no more than half of it. A window of one has no room for them. */
int request_window_idle(struct request_window *window, unsigned lane, bool is_speculative);
/* Counts a request, speculative or not (for a speculative one the caller has asked
 * request_window_idle before). False: there is no room, and nothing is counted. */
bool request_window_enter(struct request_window *window, unsigned lane);
/* Counts a request that cannot wait for room. Requests of a lane beyond the maximum wait for a
 * worker, and do not reduce the room of other lanes. */
void request_window_enter_anyway(struct request_window *window, unsigned lane);
/* A request is not sent: it is no longer counted. */
void request_window_give_back(struct request_window *window, unsigned lane);

enum request_end {
    REQUEST_GOOD,      /* a page of normal size: its latency counts */
    REQUEST_UNTIMED,   /* an answer whose latency says nothing: the service has looked for rows */
    REQUEST_THROTTLED, /* the service asked to slow down, or the request has to be repeated */
    REQUEST_OTHER, /* it failed for another reason, was cancelled, or its page is nearly empty */
};
/* A request that was sent has ended. A request that was sent before the window was halved last says
 * nothing about the present window: it changes nothing. */
void request_window_leave(struct request_window *window, unsigned lane, enum request_end end,
                          int64_t sent_ms, int64_t ended_ms);
/* The first attempt of a request has failed. The window is halved now, as for REQUEST_THROTTLED,
 * and not when the request ends: its end is then REQUEST_OTHER. */
void request_window_throttled(struct request_window *window, int64_t sent_ms, int64_t now_ms);

struct request_window_stats {
    int size;
    int in_flight;   /* of all tables */
    uint64_t shrunk; /* how often it was halved; a window of one counts, too, and stays */
};
void request_window_stats(struct request_window *window, struct request_window_stats *ret);

DEFINE_CLEANUP(struct request_window *, request_window_destroy);

#endif
