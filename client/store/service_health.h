/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_STORE_SERVICE_HEALTH_H
#define CLIENT_STORE_SERVICE_HEALTH_H
/* Tracks whether the service answers, so that operations fail at once while it does not.
 *
 * The service is down when an operation has given up without an answer, and no other operation got
 * one meanwhile. Then attempts are refused, with the errno and the reason of that operation. One
 * attempt at a time is let through as a probe: the next one that comes when a probe is due. The
 * first answer of any kind ends the outage; an answer that throttles or refuses counts, too. So
 * does one whose first byte came in time, but not its last one: on a slow link no page is faster.
 *
 * Where connections succeed and only the answer is missing, perhaps one table alone does not
 * answer. Then the first attempt of each other lane (client/base/lane.h) is let through as well, of
 * SERVICE_LANE_PROBES_MAX lanes at most: a loop over a thousand tables must not wait for each of
 * them. Example: `find` of a table that hangs takes the service down; `cat` of another table gets
 * its answer, and the service is up.
 *
 * Any thread; one leaf mutex, which is not held while the sink is called. It has no thread of its
 * own, and no function blocks. */
#include "client/base/bytes.h"
#include "client/base/lane.h"
#include "client/store/call.h"

#include <limits.h>

#define SERVICE_PROBE_MS 8000 /* a probe without an answer ends after this time */
/* The first probe is due this long after the service went down, the next after twice the time, up
 * to the maximum. Where connections succeed and only the answer is missing, the first is due at
 * once: perhaps one request alone takes so long. */
#define SERVICE_PAUSE_MIN_MS 1000
#define SERVICE_PAUSE_MAX_MS 8000

struct service_change {
    bool is_up;
    int64_t lasted_ms;             /* how long the service was down, if is_up */
    const struct failure *failure; /* why it is, or was, down */
};
/* Called when the service goes down or comes back, on the thread that noticed it. The change is
 * valid during the call. */
typedef void service_health_sink(void *context, const struct service_change *change);

#define SERVICE_LANE_PROBES_MAX 64
#define SERVICE_LANE_PROBE      INT_MAX /* more than the number of any probe */

struct service_health;
/* sink: may be NULL. 0 or -ENOMEM. */
int service_health_create(const struct clock *clock, service_health_sink *sink, void *context,
                          struct service_health **ret);
void service_health_destroy(struct service_health *health); /* takes NULL */

/* Before an attempt of the lane: 0: go on; above 0: go on, for at most SERVICE_PROBE_MS, as the
 * probe with this number, or, if it is SERVICE_LANE_PROBE, as the first attempt of an untried lane,
 * which may run beside the probe; -errno: refused, and the reason is in call->failure. Each result
 * that is not negative is followed by one service_health_leave, which takes it as `probe`. */
int service_health_enter(struct service_health *health, unsigned lane, struct call *call);
/* After the attempt, which ended with r; call->failure is its reason. Returns r. A probe that
 * failed becomes the reason of the outage, and is marked with its number as a refusal is. */
int service_health_leave(struct service_health *health, struct call *call, int probe, int r);
/* While an operation waits for its next attempt: 0, or as service_health_enter where it refuses. */
int service_health_check(struct service_health *health, struct call *call);
/* Is the service down? Refuses nothing. */
bool service_health_is_down(struct service_health *health);
/* An operation of the lane has given up at call->failure, which is an attempt without an answer.
 * The service is down now, unless an answer came after since_ms. */
void service_health_give_up(struct service_health *health, unsigned lane, const struct call *call,
                            int64_t since_ms);

int service_health_append_metrics(struct service_health *health, struct buffer *ret);

DEFINE_CLEANUP(struct service_health *, service_health_destroy);

#endif
