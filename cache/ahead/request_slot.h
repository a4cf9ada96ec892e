/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_REQUEST_SLOT_H
#define CACHE_AHEAD_REQUEST_SLOT_H
/* The room that one request of a scan takes in the request window, and what the window learns of
 * it: a request whose first attempt failed halves the window at once, not at its end.
 *
 * In its owner's memory; used by the thread that sends the request. */
#include "cache/ahead/request_window.h"
#include "client/store/call.h"

struct request_slot {
    struct call_observer observer; /* private */
    struct request_window *window; /* in which the request is counted */
    unsigned lane;                 /* of its table */
    /* private */
    const struct call *call;
    const struct clock *clock;
    int64_t began_ms;
    bool is_judged;
};

/* The request is about to be sent by this call. */
void request_slot_begin(struct request_slot *slot, struct call *call, const struct clock *clock);
/* The request has ended with the result r. Takes it out of the window. end: what its answer says
 * if no attempt failed. */
void request_slot_end(struct request_slot *slot, struct call *call, int r, enum request_end end);

#endif
