/* SPDX-License-Identifier: MIT */
#ifndef CACHE_KNOWN_DELAYS_H
#define CACHE_KNOWN_DELAYS_H
/* Why the requests of a table wait for their repetition. A caller that waits behind such a request
 * (for its answer, for a slot, or for its turn) may run out of time first. Then it fails for the
 * same reason: EBUSY where the service throttles, not ETIMEDOUT.
 *
 * Holds the latest reason of at most DELAYS_TABLES tables. An answer ends the reason of its table,
 * unless another request of the table waits still: perhaps one partition alone is throttled.
 *
 * Thread-safety: any thread; one leaf mutex; never waits. */
#include "client/store/call.h"

#include <sys/queue.h>

#define DELAYS_TABLES 8

struct delays;
int delays_create(const struct clock *clock, struct delays **ret); /* 0 or -ENOMEM */
void delays_destroy(struct delays *delays);                        /* takes NULL */

struct delayed {       /* a request, in its owner's memory; zeroed but for the table */
    const char *table; /* NULL: of the list of tables */
    /* private; guarded by the lock */
    LIST_ENTRY(delayed) entry;
    bool is_waiting;
};
/* The request has failed and waits for its repetition. It is followed by delays_leave. */
void delays_note(struct delays *delays, struct delayed *request, const struct failure *reason);
/* The service has answered the request, which may not have waited. */
void delays_answered(struct delays *delays, struct delayed *request);
/* The request has ended. Its reason stays, for those that wait behind it. */
void delays_leave(struct delays *delays, struct delayed *request);
/* r: the result of a call about the table. If the call's time has run out while its table's
 * requests are repeated, sets the call's failure to their reason, and answers its error. Else
 * answers r. */
int delays_explain(struct delays *delays, const char *table, struct call *call, int r);

#endif
