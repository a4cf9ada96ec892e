/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_STORE_SERVICE_THROTTLING_H
#define CLIENT_STORE_SERVICE_THROTTLING_H
/* Notices when the service begins to throttle, and when it has stopped, so that the user learns why
 * operations are slow. The requests of each lane (client/base/lane.h), that is of each table, are
 * counted in windows of WINDOW_MS. It begins when a window has at least REQUESTS requests, and more
 * than a tenth of them were throttled. From then on a window of any size counts; throttling has
 * stopped when no window had more than a tenth for QUIET_MS. This is noticed by the next answer.
 *
 * Any thread; one leaf mutex, which is not held while the sink is called. The memory does not
 * depend on the number of tables. */
#include "client/base/bytes.h"
#include "client/base/clock.h"

#define SERVICE_THROTTLING_WINDOW_MS 10000
#define SERVICE_THROTTLING_REQUESTS  20
#define SERVICE_THROTTLING_QUIET_MS  30000

struct service_throttling_change {
    bool is_throttling;
    const char *table;            /* whose requests were throttled last, or "the list of tables" */
    unsigned requests, throttled; /* in its window; if is_throttling */
    int64_t lasted_ms;            /* else: from the start to the last window that counts */
};
/* Called when the service begins and when it has stopped, by the thread that noticed it. `change`
 * is valid during the call. */
typedef void service_throttling_sink(void *context, const struct service_throttling_change *change);

struct service_throttling;
/* sink: may be NULL. 0 or -ENOMEM. */
int service_throttling_create(const struct clock *clock, service_throttling_sink *sink,
                              void *context, struct service_throttling **ret);
void service_throttling_destroy(struct service_throttling *throttling); /* takes NULL */

/* A request was answered; is_throttled: with 503 or 429. table: NULL: the list of tables. */
void service_throttling_note(struct service_throttling *throttling, const char *table,
                             bool is_throttled);

DEFINE_CLEANUP(struct service_throttling *, service_throttling_destroy);

#endif
