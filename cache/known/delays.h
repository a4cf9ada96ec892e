/* SPDX-License-Identifier: MIT */
#ifndef CACHE_KNOWN_DELAYS_H
#define CACHE_KNOWN_DELAYS_H
/* Why requests of a table wait for a retry. A caller that waits for such a request (for its answer,
 * for room, or for its turn) may reach its deadline first. Then it fails for the same reason:
 * -EBUSY if the service throttles, not -ETIMEDOUT.
 *
 * Keeps the latest reason for each of at most DELAYS_TABLES tables. An answer removes the reason of
 * its table, unless another request of the table still waits for a retry: perhaps only one
 * partition is throttled.
 *
 * Thread-safety: any thread; one leaf mutex; never waits. */
#include "client/store/call.h"

#include <sys/queue.h>

#define DELAYS_TABLES 8

struct delays;
int delays_create(const struct clock *clock, struct delays **ret); /* 0 or -ENOMEM */
void delays_destroy(struct delays *delays);                        /* takes NULL */

struct delayed {       /* a request, embedded, or on the stack; zeroed except for the table */
    const char *table; /* NULL: the list of tables */
    /* private; guarded by the lock */
    LIST_ENTRY(delayed) entry;
    bool is_waiting;
};
/* An attempt of the request failed, and it waits for a retry. delays_leave must follow. */
void delays_note(struct delays *delays, struct delayed *request, const struct failure *reason);
/* The service has answered the request, whether it waited for a retry or not. */
void delays_answered(struct delays *delays, struct delayed *request);
/* The request has ended. Its reason stays, for callers that wait for it. */
void delays_leave(struct delays *delays, struct delayed *request);
/* r: the result of a call on the table. If it is -ETIMEDOUT while the table has a reason, sets the
 * call's failure to that reason, and returns its error. Else returns r. */
int delays_explain(struct delays *delays, const char *table, struct call *call, int r);

#endif
