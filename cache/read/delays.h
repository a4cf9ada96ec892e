#ifndef CACHE_READ_DELAYS_H
#define CACHE_READ_DELAYS_H
/* Why the requests of a table wait for their repetition. A caller that waits behind such a request
 * (for its answer, for a slot, or for its turn) may run out of time first. Then it fails for the
 * same reason: EBUSY where the service throttles, not ETIMEDOUT.
 *
 * Holds the latest reason of at most DELAYS_TABLES tables.
 *
 * Thread-safety: any thread; one leaf mutex; never waits. */
#include "client/call.h"

#define DELAYS_TABLES 8

struct delays;
int delays_create(const struct clock *clock, struct delays **ret); /* 0 or -ENOMEM */
void delays_destroy(struct delays *delays);                        /* takes NULL */

/* A request of the table (NULL: of the list of tables) has failed and waits for its repetition. */
void delays_note(struct delays *delays, const char *table, const struct failure *reason);
/* The service has answered about the table. */
void delays_end(struct delays *delays, const char *table);
/* r: the result of a call about the table. If the call's time has run out while its table's
 * requests are repeated, sets the call's failure to their reason, and answers its error. Else
 * answers r. */
int delays_explain(struct delays *delays, const char *table, struct call *call, int r);

#endif
