/* SPDX-License-Identifier: MIT */
#ifndef CACHE_READ_REQUEST_SLOT_H
#define CACHE_READ_REQUEST_SLOT_H
/* The room that one request of a scan takes: in the request window, and in the worker pool if a
 * worker sends it. A request that is delayed leaves its room to the requests of other tables: as
 * soon as it waits for its repetition, or after REQUEST_SLOT_SILENT_MS without an answer.
 *
 * In its owner's memory; used by the thread that sends the request. */
#include "cache/read/request_window.h"
#include "cache/read/worker_pool.h"
#include "client/call.h"

/* A page of a healthy service takes less. */
#define REQUEST_SLOT_SILENT_MS 2000

struct request_slot {
    struct call_observer observer; /* private */
    struct request_window *window; /* in which the request is counted as queued */
    unsigned lane;                 /* of its table */
    /* private */
    const struct call *call;
    struct worker_pool *workers;
    const struct worker_task *task;
    const struct clock *clock;
    int64_t began_ms;
    bool is_delayed, is_judged;
};

/* The request is about to be sent by this call. task: the worker's; NULL: the caller's own thread
 * sends it. */
void request_slot_begin(struct request_slot *slot, struct call *call, const struct clock *clock,
                        struct worker_pool *workers, const struct worker_task *task);
/* Called several times a second while the request waits for its answer. Is it delayed? */
bool request_slot_look(struct request_slot *slot);
/* The request has ended with the result r. Takes it out of the window. is_good: it has brought a
 * page of normal size, whose latency counts. */
void request_slot_end(struct request_slot *slot, struct call *call, int r, bool is_good);

#endif
