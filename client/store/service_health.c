/* SPDX-License-Identifier: MIT */
#include "client/store/service_health.h"
#include "client/base/locked.h"
#include "client/text/metrics.h"

#include <assert.h>
#include <pthread.h>

/* | state   | attempts                               | ends with                                |
 * | UP      | are sent                               | an operation gives up: DOWN              |
 * | DOWN    | refused; the first at or after         | an answer to what is still under way: UP |
 * |         | probe_ms is the probe: PROBING         |                                          |
 * | PROBING | refused                                | an answer, to the probe or what is still |
 * |         |                                        | under way: UP; the end of the probe: DOWN|
 * In addition, the first attempt of an untried lane is sent; only its answer changes the state.
 */
enum state { UP, DOWN, PROBING };

struct service_health {
    const struct clock *clock;
    service_health_sink *sink;
    void *context;
    pthread_mutex_t lock;
    /* guarded by lock */
    enum state state;
    int64_t answered_ms;     /* the last answer */
    int64_t changed_ms;      /* state went from or to UP */
    int64_t changed_utc_sec; /* likewise; at first: the creation */
    int64_t probe_ms;        /* DOWN */
    int64_t pause_ms;        /* before the next probe; UP: 0 */
    int probe;               /* the number of the last probe */
    bool is_untried[LANES];  /* not UP */
    int lane_probes;         /* likewise: how many lanes may still be tried */
    uint32_t outages;
    uint64_t refused;
    struct failure failure; /* why it is down; UP: why it was */
};

/* What the result of an attempt shows about the service. */
enum sign {
    SIGN_ANSWER,
    SIGN_SILENCE,
    SIGN_NONE, /* it was cancelled, or failed on this machine */
};

int service_health_create(const struct clock *clock, service_health_sink *sink, void *context,
                          struct service_health **ret)
{
    struct service_health *health = calloc(1, sizeof(*health));
    if (!health)
        return -ENOMEM;
    (void)pthread_mutex_init(&health->lock, NULL);
    health->clock = clock;
    health->sink = sink;
    health->context = context;
    health->answered_ms = INT64_MIN;
    health->changed_utc_sec = clock_utc_100ns(clock) / TICKS_PER_SEC;
    *ret = health;
    return 0;
}

void service_health_destroy(struct service_health *health)
{
    if (!health)
        return;
    (void)pthread_mutex_destroy(&health->lock);
    free(health);
}

/* After each change. */
static void check_locked(const struct service_health *health)
{
    assert((health->state == UP) == (health->pause_ms == 0));
    assert(health->pause_ms <= SERVICE_PAUSE_MAX_MS);
    assert(health->state == UP || (health->failure.error < 0 && health->outages > 0));
    assert(health->state != PROBING || health->probe > 0);
}

static void change_locked(struct service_health *health, enum state state, int64_t now_ms)
{
    health->state = state;
    health->changed_ms = now_ms;
    health->changed_utc_sec = clock_utc_100ns(health->clock) / TICKS_PER_SEC;
}

static void report(const struct service_health *health, const struct service_change *change)
{
    if (health->sink)
        health->sink(health->context, change);
}

static int refuse_locked(struct service_health *health, struct call *call)
{
    const struct failure *reason = &health->failure;
    health->refused++;
    (void)call_fail(call, reason->error, "the service is down: %s", reason->message);
    call->failure.is_retryable = true;
    call->failure.is_unanswered = true;
    call->failure.advice = reason->advice;
    call->failure.outage = health->outages;
    return reason->error;
}

int service_health_enter(struct service_health *health, unsigned lane, struct call *call)
{
    int64_t now_ms = clock_now_ms(health->clock);
    int r = 0;
    LOCKED(&health->lock);
    if (health->state == DOWN && now_ms >= health->probe_ms) {
        health->state = PROBING;
        r = ++health->probe;
    } else if (health->state != UP && health->is_untried[lane] && health->lane_probes > 0) {
        r = SERVICE_LANE_PROBE;
        health->lane_probes--;
    } else if (health->state != UP) {
        r = refuse_locked(health, call);
    }
    health->is_untried[lane] = false;
    check_locked(health);
    return r;
}

int service_health_check(struct service_health *health, struct call *call)
{
    LOCKED(&health->lock);
    return health->state == UP ? 0 : refuse_locked(health, call);
}

bool service_health_is_down(struct service_health *health)
{
    LOCKED(&health->lock);
    return health->state != UP;
}

static enum sign sign_of(int r, const struct failure *failure)
{
    if (r >= 0 || failure->http_status > 0 || failure->has_begun_answer)
        return SIGN_ANSWER;
    return failure->is_unanswered ? SIGN_SILENCE : SIGN_NONE;
}

/* True: the service is back, and the sink is to be called. */
static bool note_answer_locked(struct service_health *health, int64_t now_ms,
                               struct service_change *ret, struct failure *ret_failure)
{
    health->answered_ms = now_ms;
    if (health->state == UP)
        return false;
    *ret_failure = health->failure;
    *ret = (struct service_change){true, now_ms - health->changed_ms, ret_failure};
    health->pause_ms = 0;
    change_locked(health, UP, now_ms);
    return true;
}

static void end_probe_locked(struct service_health *health, enum sign sign, struct call *call,
                             int64_t now_ms)
{
    bool is_ambiguous = call->failure.is_ambiguous;
    health->state = DOWN; /* without a sign the next probe is due at once */
    if (sign == SIGN_NONE)
        return;
    health->pause_ms = MIN(2 * health->pause_ms, SERVICE_PAUSE_MAX_MS);
    health->probe_ms = now_ms + health->pause_ms;
    health->failure = call->failure;
    (void)refuse_locked(health, call);
    call->failure.is_ambiguous = is_ambiguous;
}

int service_health_leave(struct service_health *health, struct call *call, int probe, int r)
{
    enum sign sign = sign_of(r, &call->failure);
    int64_t now_ms = clock_now_ms(health->clock);
    struct service_change change;
    struct failure failure;
    bool is_back = false;
    (void)pthread_mutex_lock(&health->lock);
    if (sign == SIGN_ANSWER)
        is_back = note_answer_locked(health, now_ms, &change, &failure);
    else if (health->state == PROBING && health->probe == probe)
        end_probe_locked(health, sign, call, now_ms);
    check_locked(health);
    (void)pthread_mutex_unlock(&health->lock);
    if (is_back)
        report(health, &change);
    return r;
}

void service_health_give_up(struct service_health *health, unsigned lane, const struct call *call,
                            int64_t since_ms)
{
    int64_t now_ms = clock_now_ms(health->clock);
    bool is_connected = call->failure.error == -ETIMEDOUT;
    (void)pthread_mutex_lock(&health->lock);
    bool goes_down = health->state == UP && health->answered_ms <= since_ms;
    if (goes_down) {
        change_locked(health, DOWN, now_ms);
        health->pause_ms = SERVICE_PAUSE_MIN_MS;
        health->probe_ms = now_ms + (is_connected ? 0 : health->pause_ms);
        memset(health->is_untried, is_connected, sizeof(health->is_untried));
        health->is_untried[lane] = false;
        health->lane_probes = SERVICE_LANE_PROBES_MAX;
        health->failure = call->failure;
        health->outages++;
    }
    check_locked(health);
    (void)pthread_mutex_unlock(&health->lock);
    if (goes_down)
        report(health, &(struct service_change){false, 0, &call->failure});
}

int service_health_append_metrics(struct service_health *health, struct buffer *ret)
{
    (void)pthread_mutex_lock(&health->lock);
    bool is_up = health->state == UP;
    uint64_t since_sec = (uint64_t)health->changed_utc_sec, refused = health->refused;
    uint64_t outages = health->outages;
    (void)pthread_mutex_unlock(&health->lock);
    (void)metrics_append_number(ret, "tablefuse_service_up", "gauge",
                                "1: the service answers. 0: it is down, and operations fail at "
                                "once.",
                                is_up);
    (void)metrics_append_number(ret, "tablefuse_service_since_timestamp_seconds", "gauge",
                                "Since when this is so (Unix time).", since_sec);
    (void)metrics_append_number(ret, "tablefuse_service_outages_total", "counter",
                                "How often the service went down.", outages);
    return metrics_append_number(ret, "tablefuse_failed_at_once_total", "counter",
                                 "Requests that were not sent, because the service was down.",
                                 refused);
}
