/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_STORE_SERVICE_HEALTH_H
#define CLIENT_STORE_SERVICE_HEALTH_H
/* Tracks whether the service answers, so that operations fail at once while it does not.
 *
 * The service is down when an operation has given up without an answer, and no other operation
 * got an answer meanwhile. From then on, attempts are refused with the errno and the
 * reason of that operation. When a probe is due, the next attempt is sent as the probe; there is
 * one probe at a time. The first answer of any kind ends the outage, also one that throttles or
 * refuses. So does an answer of which only a part arrived in time: on a slow link no page arrives
 * faster.
 *
 * If connections succeed and only the answer is missing, perhaps only one table does not answer.
 * Then the first attempt of each other lane (client/base/lane.h) is sent as well, for at most
 * SERVICE_LANE_PROBES_MAX lanes: a loop over a thousand tables must not wait for each of them.
 * Example: after `find` of a table that hangs, the service is down. `cat` of another table gets an
 * answer, and the service is up.
 *
 * Any thread; one leaf mutex, which is not held while the sink is called. It has no thread of its
 * own, and no function blocks. */
#include "client/base/bytes.h"
#include "client/base/lane.h"
#include "client/store/call.h"

#include <limits.h>

#define SERVICE_PROBE_MS 8000 /* a probe without an answer ends after this time */
/* The first probe is due MIN after the service went down, each further one after twice the time, up
 * to MAX. If connections succeed and only the answer is missing, the first probe is due at once:
 * perhaps only one request took so long. */
#define SERVICE_PAUSE_MIN_MS 1000
#define SERVICE_PAUSE_MAX_MS 8000

struct service_change {
    bool is_up;
    int64_t lasted_ms;             /* if is_up: how long the service was down */
    const struct failure *failure; /* why it is, or was, down */
};
/* Called when the service goes down or is up again, by the thread that noticed it. `change` is
 * valid during the call. */
typedef void service_health_sink(void *context, const struct service_change *change);

#define SERVICE_LANE_PROBES_MAX 64
#define SERVICE_LANE_PROBE      INT_MAX /* greater than the number of any probe */

struct service_health;
/* sink: may be NULL. 0 or -ENOMEM. */
int service_health_create(const struct clock *clock, service_health_sink *sink, void *context,
                          struct service_health **ret);
void service_health_destroy(struct service_health *health); /* takes NULL */

/* Call it before each attempt. 0: send it. > 0: send it as a probe, which may take at most
 * SERVICE_PROBE_MS; the result is the probe's number, or SERVICE_LANE_PROBE for the first attempt
 * of an untried lane, which may run in parallel with the probe. -errno: refused, with the reason in
 * call->failure. After a result that is not negative, one service_health_leave must follow, with
 * the result as `probe`. */
int service_health_enter(struct service_health *health, unsigned lane, struct call *call);
/* Call it after the attempt, which ended with r and call->failure. Returns r. The failure of a
 * probe becomes the reason of the outage, and gets the outage's number, as a refusal does. */
int service_health_leave(struct service_health *health, struct call *call, int probe, int r);
/* While an operation waits in a backoff: 0, or -errno as service_health_enter if it refuses. */
int service_health_check(struct service_health *health, struct call *call);
bool service_health_is_down(struct service_health *health);
/* An operation of the lane gives up; call->failure is that of its last attempt, which got no
 * answer. Now the service is down, unless an answer arrived after since_ms. */
void service_health_give_up(struct service_health *health, unsigned lane, const struct call *call,
                            int64_t since_ms);

int service_health_append_metrics(struct service_health *health, struct buffer *ret);

DEFINE_CLEANUP(struct service_health *, service_health_destroy);

#endif
