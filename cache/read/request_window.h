#ifndef CACHE_READ_REQUEST_WINDOW_H
#define CACHE_READ_REQUEST_WINDOW_H
/* How many requests of scans may be in flight at once, over all scans of the account: what the
 * service bears. Starts at 2, grows by one with each good page up to its maximum, and falls by
 * half, at most once a round trip, when the service throttles, or when pages take twice as long as
 * they used to. Any thread, never blocks; one leaf mutex. Time is an argument. */
#include "client/base.h"

struct request_window;
int request_window_create(int max, struct request_window **ret); /* -EINVAL: max < 1; -ENOMEM */
void request_window_destroy(struct request_window *window);      /* takes NULL */

/* How many more may be sent now; at least 0. While the window is smaller than it once was,
 * speculative ones are sent only as long as all in flight take no more than half of it: speculation
 * stops first. A window of one has no room for them. */
int request_window_idle(struct request_window *window, bool is_speculative);
/* A request is sent, of either kind: who speculates has asked before. false: there is no room. */
bool request_window_enter(struct request_window *window);

/* One is sent that cannot wait for room. */
void request_window_enter_anyway(struct request_window *window);

enum request_end {
    REQUEST_GOOD,      /* a page that is worth its time: latency counts */
    REQUEST_THROTTLED, /* the service said to slow down, or the request had to be repeated */
    REQUEST_OTHER,     /* failed for another reason, was cancelled, or came back all but empty */
};
/* One that entered has ended. sent_ms, ended_ms: monotonic. What was sent before the last fall
 * tells nothing of the window as it is now: it neither shrinks nor grows it. */
void request_window_leave(struct request_window *window, enum request_end end, int64_t sent_ms,
                          int64_t ended_ms);

struct request_window_stats {
    int size, in_flight; /* more may be in flight than it has room for */
    uint64_t shrunk;     /* falls; also those of a window of one, which stays */
};
void request_window_stats(struct request_window *window, struct request_window_stats *ret);

DEFINE_CLEANUP(struct request_window *, request_window_destroy);

#endif
