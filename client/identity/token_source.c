/* SPDX-License-Identifier: MIT */
#include "client/identity/token_source.h"
#include "client/base/monitor.h"
#include "client/base/thread.h"
#include "client/text/edm_datetime.h"
#include "client/text/metrics.h"

#include <stdatomic.h>

#define REQUEST_MS  60000 /* for one request for a token */
#define MIN_WAIT_MS 1000  /* between a new token and the next request */
#define SAME_WAIT_MS                                                                               \
    TOKEN_SOURCE_RENEW_MS /* the same after an answer with the token that was there already */
/* An older failure shows nothing: the machine was suspended. */
#define FRESH_MS   ((int64_t)2 * TOKEN_SOURCE_PAUSES_MS)
#define NEVER_MS   (INT64_MIN / 2)
#define JITTER_MAX 20 /* a wait is shorter by this part of it at most */

struct token_source {
    struct token_issuer issuer;
    const struct clock *clock, *boottime;
    struct monitor monitor;
    pthread_t thread;
    atomic_bool is_ending;
    /* guarded by the monitor; times by boottime: */
    struct token *token; /* NULL: there was none yet */
    int64_t got_ms, end_ms;
    int64_t next_ms;        /* when the thread requests a token */
    int64_t renewed_ms;     /* when a token was last requested after a refusal */
    bool is_requesting;     /* the thread waits for an answer */
    bool is_renewing;       /* a request is due now, although the token has not ended */
    uint64_t requested;     /* requests that began */
    uint64_t answered;      /* and that ended */
    int failures;           /* in a row */
    int64_t failed_ms;      /* the last one */
    struct failure failure; /* its reason */
};

static int64_t now_of(const struct token_source *source)
{
    return clock_now_ms(source->boottime);
}

static bool has_token(const struct token_source *source)
{
    return source->token && now_of(source) < source->end_ms;
}

/* Machines that began at the same time do not send requests at the same time. */
static int64_t shorten(const struct token_source *source, int64_t wait_ms)
{
    int64_t chance = clock_utc_100ns(source->clock) / 10 % 1000;
    return wait_ms - wait_ms / JITTER_MAX * chance / 1000;
}

static void take_failure(struct token_source *source, const struct failure *failure)
{
    int64_t pause_ms = (int64_t)TOKEN_SOURCE_PAUSE_MS << MIN(source->failures, 5);
    source->failure = *failure;
    source->failures++;
    source->failed_ms = now_of(source);
    source->next_ms = source->failed_ms + MIN(pause_ms, TOKEN_SOURCE_PAUSES_MS);
}

/* The token takes the place of the old one; the same one stays. */
static void take_token(struct token_source *source, struct token *token,
                       const struct token_answer *answer, int64_t sent_ms)
{
    bool is_same = source->token &&
                   credential_is_same(token_credential(token), token_credential(source->token));
    int64_t wait_ms =
        shorten(source, answer->refresh_ms > 0 ? answer->refresh_ms : answer->life_ms / 2);
    wait_ms = MIN(MAX(wait_ms, is_same ? SAME_WAIT_MS : MIN_WAIT_MS), TOKEN_SOURCE_REFRESH_MS);
    if (!is_same) {
        token_unref(source->token);
        source->token = token_ref(token);
        source->got_ms = sent_ms;
    }
    source->end_ms = sent_ms + answer->life_ms;
    source->next_ms = MAX(MIN(sent_ms + wait_ms, source->end_ms), now_of(source) + MIN_WAIT_MS);
    source->failures = 0;
}

static bool is_ending(void *context)
{
    const struct token_source *source = context;
    return atomic_load(&source->is_ending);
}

/* Outside of the monitor. */
static int request(struct token_source *source, struct call *call, int64_t sent_ms,
                   struct token_answer *ret, struct token **ret_token)
{
    int r = source->issuer.request(source->issuer.context, call, ret);
    if (r < 0)
        return r;
    if (now_of(source) - sent_ms >= ret->life_ms)
        return call_fail(call, -EPROTO, "its token had ended when it arrived");
    r = token_create(buffer_bytes(&ret->text), ret_token);
    return r < 0 ? call_fail(call, r, "out of memory") : 0;
}

/* One request for a token. The caller is inside the monitor, and leaves it meanwhile. */
static void refresh(struct token_source *source)
{
    _cleanup_(token_unrefp) struct token *token = NULL;
    _cleanup_(token_answer_finish) struct token_answer answer = {0};
    struct call call = {.deadline_ms = clock_now_ms(source->clock) + REQUEST_MS,
                        .is_cancelled = is_ending,
                        .context = source};
    int64_t sent_ms = now_of(source);
    source->is_requesting = true;
    source->is_renewing = false;
    source->requested++;
    monitor_leave(&source->monitor);
    int r = request(source, &call, sent_ms, &answer, &token);
    monitor_enter(&source->monitor);
    if (r < 0)
        take_failure(source, &call.failure);
    else
        take_token(source, token, &answer, sent_ms);
    source->is_requesting = false;
    source->answered++;
    monitor_notify(&source->monitor);
}

static void *run(void *context)
{
    struct token_source *source = context;
    monitor_enter(&source->monitor);
    while (!is_ending(source)) {
        int64_t wait_ms = source->next_ms - now_of(source);
        if (wait_ms <= 0 || source->is_renewing)
            refresh(source);
        else
            monitor_wait_for(&source->monitor, wait_ms);
    }
    monitor_leave(&source->monitor);
    return NULL;
}

/* Of a call on the account. */
static int fail(const struct token_source *source, struct call *call)
{
    bool is_first = !source->token;
    struct failure failure = source->failure;
    (void)call_fail(call, is_first ? failure.error : -EACCES, "no token from %s: %s",
                    source->issuer.name, failure.message);
    call->failure.advice = failure.advice;
    call->failure.is_retryable = is_first && failure.is_retryable;
    call->failure.lacks_token = !is_first;
    return call->failure.error;
}

/* Waits until the thread has done something. */
static int wait(struct token_source *source, struct call *call)
{
    char late[sizeof(call->failure.message)];
    (void)snprintf(late, sizeof(late), "no token from %s in time", source->issuer.name);
    int r = call_check(call, source->clock, late);
    if (r == -ETIMEDOUT)
        call->failure.advice = source->issuer.advice_late;
    if (r == 0)
        monitor_wait(&source->monitor);
    return r;
}

int token_source_get(struct token_source *source, struct call *call, struct token **ret)
{
    int r = 0;
    monitor_enter(&source->monitor);
    /* the thread's wait does not count the time of a suspend */
    if (!source->is_requesting && now_of(source) >= source->next_ms)
        monitor_notify(&source->monitor);
    while (r == 0 && !has_token(source))
        r = source->failures > 0 && now_of(source) - source->failed_ms < FRESH_MS
                ? fail(source, call)
                : wait(source, call);
    if (r == 0)
        *ret = token_ref(source->token);
    monitor_leave(&source->monitor);
    return r;
}

/* Begins a request for a token, unless one is in progress. False: the last one was not long ago. */
static bool begin_renewal(struct token_source *source)
{
    if (source->is_requesting || source->is_renewing)
        return true;
    if (now_of(source) - source->renewed_ms < TOKEN_SOURCE_RENEW_MS)
        return false;
    source->renewed_ms = now_of(source);
    source->is_renewing = true;
    monitor_notify(&source->monitor);
    return true;
}

bool token_source_replace(struct token_source *source, const struct token *refused,
                          struct call *call, struct token **ret)
{
    monitor_enter(&source->monitor);
    uint64_t answered = source->answered;
    if (source->token == refused && begin_renewal(source))
        while (source->answered == answered && wait(source, call) == 0)
            ;
    bool is_replaced = source->token != refused && has_token(source);
    if (is_replaced)
        *ret = token_ref(source->token);
    monitor_leave(&source->monitor);
    return is_replaced;
}

int token_source_append_description(struct token_source *source, struct buffer *ret)
{
    monitor_enter(&source->monitor);
    if (!source->token) {
        (void)buffer_append_string(ret, "none");
    } else {
        const struct token_claims *claims = token_claims(source->token);
        int64_t left_ms = source->end_ms - now_of(source);
        (void)token_claims_append_identity(claims, ret);
        if (claims->tenant[0])
            (void)buffer_append_format(ret, " of tenant %s", claims->tenant);
        (void)buffer_append_string(ret, ", until ");
        (void)edm_datetime_append(ret, clock_utc_100ns(source->clock) + left_ms * TICKS_PER_MS);
    }
    monitor_leave(&source->monitor);
    return ret->error;
}

int token_source_append_metrics(struct token_source *source, struct buffer *ret)
{
    monitor_enter(&source->monitor);
    (void)metrics_append_number(ret, "tablefuse_token_requests_total", "counter",
                                "Requests for a token of Microsoft Entra ID.", source->requested);
    if (source->token)
        (void)metrics_append_seconds(ret, "tablefuse_token_age_seconds", "gauge",
                                     "How long the present token is used.",
                                     now_of(source) - source->got_ms);
    monitor_leave(&source->monitor);
    return ret->error;
}

int token_source_create(const struct token_issuer *issuer, const struct clock *clock,
                        const struct clock *boottime, struct token_source **ret)
{
    struct token_source *source = calloc(1, sizeof(*source));
    if (!source)
        return -ENOMEM;
    source->issuer = *issuer;
    source->clock = clock;
    source->boottime = boottime;
    source->next_ms = source->renewed_ms = NEVER_MS;
    monitor_init(&source->monitor);
    int r = -thread_create(&source->thread, run, source);
    if (r < 0) {
        monitor_finish(&source->monitor);
        free(source);
        return r;
    }
    *ret = source;
    return 0;
}

void token_source_destroy(struct token_source *source)
{
    if (!source)
        return;
    monitor_enter(&source->monitor);
    atomic_store(&source->is_ending, true);
    monitor_notify(&source->monitor);
    monitor_leave(&source->monitor);
    (void)pthread_join(source->thread, NULL);
    monitor_finish(&source->monitor);
    token_unref(source->token);
    free(source);
}
