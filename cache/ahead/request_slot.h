/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_REQUEST_SLOT_H
#define CACHE_AHEAD_REQUEST_SLOT_H
/* The place that one request of a scan has in the request window. It reports to the window how the
 * request ends; if the first attempt fails, the window is halved at once, not when the request
 * ends.
 *
 * Embedded, or on the stack; used by the thread that sends the request. */
#include "cache/ahead/request_window.h"
#include "client/store/call.h"

struct request_slot {
    struct call_observer observer; /* private */
    struct request_window *window; /* counts the request */
    unsigned lane;                 /* of the request's table */
    /* private */
    const struct call *call;
    const struct clock *clock;
    int64_t began_ms;
    bool is_reported;
};

/* The request is about to be sent by this call. */
void request_slot_begin(struct request_slot *slot, struct call *call, const struct clock *clock);
/* The request has ended with the result r: it is no longer counted. end: how it ended, if no
 * attempt failed. */
void request_slot_end(struct request_slot *slot, struct call *call, int r, enum request_end end);

#endif
