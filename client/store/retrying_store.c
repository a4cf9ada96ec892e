/* SPDX-License-Identifier: MIT */
#include "client/store/retrying_store.h"
#include "client/base/backoff.h"
#include "client/store/service_health.h"
#include "client/store/written.h"
#include "client/text/metrics.h"

#include <stdatomic.h>

#define CHECK_MS 50 /* longest sleep between two checks for a cancel */
/* The service sends an empty page where a range continues at another of its servers, or after 5 s
 * without a row. A few in a row are usual; more are followed at the pace of a backoff. */
#define EMPTY_PAGES_AT_ONCE 4
/* A throttled request that begins anew counts as this many failures: its pauses are about 0.7 s,
 * then 1.5, 3, 6 and 8 (backoff.h). With 1, eight exports of a partition each have 1.7 requests
 * refused for each answer, with 2 they have 1.4. */
#define FAILURES_ANEW 2
#define ANSWER_USED   INT64_MIN

struct retrying_store {
    struct table_store store;
    struct table_store *inner;
    const struct clock *clock;
    struct service_health *health;
    struct service_throttling *throttling;
    int64_t timeout_ms;
    _Atomic uint64_t retries, given_up;
    _Atomic uint64_t chance; /* state of the random generator for the jitter */
    /* When the table was last answered; ANSWER_USED: a throttled request has begun anew since. */
    _Atomic int64_t answered_ms[LANES];
};

/* One operation with its arguments. `attempt` makes one attempt, and first removes the results
 * of a failed one. */
struct request {
    int (*attempt)(const struct request *request, struct table_store *inner, struct call *call);
    const struct query *query;
    const char *table;
    struct bytes position;
    const struct continuation *after;
    struct page_builder *builder;
    struct table_names *names;
    size_t names_size;
    struct continuation **ret_next;
    const struct write *writes;
    size_t n;
    struct write_result *results;
    /* For a change: the answer of an earlier attempt was lost, and this attempt was refused with
     * `error`. Finds out whether the earlier one made the change: 0, else `error`. NULL: it did
     * not. */
    int (*doubt)(struct retrying_store *self, const struct request *request, int error,
                 struct call *call);
};

/* In [0, 1], by splitmix64, which is good enough to spread clients and needs no lock. */
static double next_chance(struct retrying_store *self)
{
    uint64_t x = atomic_fetch_add(&self->chance, 0x9E3779B97F4A7C15U);
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    return (double)(x >> 11) / (double)(UINT64_MAX >> 11);
}

static int sleep_through(struct retrying_store *self, int64_t wait_ms, struct call *call)
{
    int64_t end = clock_now_ms(self->clock) + wait_ms;
    for (;;) {
        int r = call_is_cancelled(call) ? call_fail(call, -EINTR, "interrupted")
                                        : service_health_check(self->health, call);
        int64_t left = end - clock_now_ms(self->clock);
        if (r < 0 || left <= 0)
            return r;
        self->clock->sleep_ms(self->clock->context, MIN(left, CHECK_MS));
    }
}

/* Refused because the entity exists, or does not, or has another version. An earlier attempt
 * whose answer was lost would have the same effect. */
static bool is_doubtful(int error)
{
    return error == -EEXIST || error == -ENOENT || error == -ESTALE;
}

/* NULL: the list of tables. */
static const char *table_of_request(const struct request *request)
{
    return request->query ? request->query->table : request->table;
}

static unsigned lane_of_request(const struct request *request)
{
    return lane_of_table(table_of_request(request));
}

/* No time is left for another attempt. Returns `error`. */
static int give_up(struct retrying_store *self, const struct request *request, int error,
                   const struct call *call)
{
    atomic_fetch_add(&self->given_up, 1);
    if (call->failure.is_unanswered) /* since the operation began, or last made progress */
        service_health_give_up(self->health, lane_of_request(request), call,
                               call->deadline_ms - self->timeout_ms);
    return error;
}

/* Waits before the next attempt. Returns `error` if there is no time left for one. */
static int wait_for_next(struct retrying_store *self, const struct request *request, int failures,
                         int error, struct call *call)
{
    int64_t wait_ms = backoff_wait_ms(failures, next_chance(self), call->failure.retry_after_ms);
    if (wait_ms >= call_remaining_ms(call, self->clock))
        return give_up(self, request, error, call);
    call_waits(call);
    return sleep_through(self, wait_ms, call);
}

static void note_throttling(struct retrying_store *self, const struct request *request, int r,
                            const struct failure *failure)
{
    bool is_answered = r >= 0 || failure->http_status != 0;
    if (is_answered && (r >= 0 || !failure->is_retryable))
        atomic_store(&self->answered_ms[lane_of_request(request)], clock_now_ms(self->clock));
    if (is_answered)
        service_throttling_note(self->throttling, table_of_request(request),
                                r < 0 && failure_is_throttled(failure));
}

/* The failures that the next pause depends on. A request in a long pause loses to those that arrive
 * meanwhile, so it would be refused until its deadline though the service answers others. Therefore
 * a throttled request begins anew if another request of its table was answered after `began_ms`,
 * when this one was first sent. An answer lets at most one request do so: the number of requests
 * that are refused remains in proportion to the answers. */
static int count_failures(struct retrying_store *self, const struct request *request,
                          int64_t began_ms, int failures, const struct failure *failure)
{
    bool begins_anew =
        failures > FAILURES_ANEW && failure_is_throttled(failure) &&
        atomic_exchange(&self->answered_ms[lane_of_request(request)], ANSWER_USED) >= began_ms;
    return begins_anew ? FAILURES_ANEW : failures;
}

/* One attempt, unless the service is known to be down. */
static int attempt(struct retrying_store *self, const struct request *request, struct call *call)
{
    int64_t deadline_ms = call->deadline_ms;
    call->failure = (struct failure){0};
    int probe = service_health_enter(self->health, lane_of_request(request), call);
    if (probe < 0)
        return probe;
    call->sent_ms = clock_now_ms(self->clock);
    if (probe > 0)
        call->deadline_ms = MIN(deadline_ms, call->sent_ms + SERVICE_PROBE_MS);
    int r = request->attempt(request, self->inner, call);
    call->deadline_ms = deadline_ms;
    if (r == -ETIMEDOUT)
        call->failure.is_retryable |= probe > 0 && call_remaining_ms(call, self->clock) > 0;
    note_throttling(self, request, r, &call->failure);
    return service_health_leave(self->health, call, probe, r);
}

/* Attempts until one succeeds, fails for good, or no time is left. */
static int repeat(struct retrying_store *self, const struct request *request, struct call *call,
                  bool *ret_was_ambiguous)
{
    int64_t began_ms = clock_now_ms(self->clock);
    *ret_was_ambiguous = false;
    for (int failures = 1;; failures++) {
        int r = attempt(self, request, call);
        if (r >= 0)
            return r;
        *ret_was_ambiguous |= call->failure.is_ambiguous;
        if (call->failure.outage > 0)
            return r;
        if (!call->failure.is_retryable) /* or the call's deadline has passed */
            return r == -ETIMEDOUT ? give_up(self, request, r, call) : r;
        failures = count_failures(self, request, began_ms, failures, &call->failure);
        r = wait_for_next(self, request, failures, r, call);
        if (r < 0)
            return r;
        atomic_fetch_add(&self->retries, 1);
        call->repeats++;
    }
}

static int perform(struct retrying_store *self, const struct request *request, struct call *call)
{
    bool was_ambiguous;
    int r = repeat(self, request, call, &was_ambiguous);
    if (r >= 0)
        return r;
    if (was_ambiguous && request->doubt && is_doubtful(r))
        return request->doubt(self, request, r, call);
    call->failure.is_ambiguous = was_ambiguous; /* an earlier attempt may be the reason */
    return r;
}

static int attempt_query(const struct request *request, struct table_store *inner,
                         struct call *call)
{
    page_builder_clear(request->builder);
    return inner->ops->query(inner, request->query, call, request->builder, request->ret_next);
}

static int attempt_get(const struct request *request, struct table_store *inner, struct call *call)
{
    page_builder_clear(request->builder);
    return inner->ops->get(inner, request->table, request->position, call, request->builder);
}

static int attempt_list_tables(const struct request *request, struct table_store *inner,
                               struct call *call)
{
    request->names->names.size = request->names_size;
    return inner->ops->list_tables(inner, request->table, request->after, call, request->names,
                                   request->ret_next);
}

/* After a page without rows or names, but with a token: no progress. A service that sends new
 * tokens for ever would be queried as fast as it answers, so the pauses grow as after failures,
 * less the time that the service took. Gives up timeout_ms after the first such page. */
static int pace_empty_page(struct retrying_store *self, const struct continuation *after,
                           struct continuation *next, struct call *call)
{
    struct empty_run run = continuation_empty_run(after);
    int64_t now_ms = clock_now_ms(self->clock);
    if (run.pages == 0)
        run.since_ms = call->sent_ms;
    run.pages++;
    continuation_set_empty_run(next, run);
    if (run.pages <= EMPTY_PAGES_AT_ONCE)
        return 0;
    int64_t wait_ms = backoff_wait_ms(run.pages - EMPTY_PAGES_AT_ONCE, next_chance(self), 0);
    wait_ms = MAX(wait_ms - (now_ms - call->sent_ms), 0);
    int r = call_fail(call, -EPROTO,
                      "the service answered %d pages in a row without a row, each with another "
                      "continuation token, for %lld s",
                      run.pages, (long long)(now_ms - run.since_ms) / 1000);
    call->failure.advice = "try again; if it stays so, report it to the service's operator";
    if (now_ms + wait_ms >= MIN(run.since_ms + self->timeout_ms, call->deadline_ms)) {
        atomic_fetch_add(&self->given_up, 1);
        return r;
    }
    call_waits(call);
    r = sleep_through(self, wait_ms, call);
    if (r == 0)
        call->failure = (struct failure){0};
    return r;
}

static int retrying_query(struct table_store *store, const struct query *query, struct call *call,
                          struct page_builder *builder, struct continuation **ret_next)
{
    struct retrying_store *self = (struct retrying_store *)store;
    int r = perform(
        self,
        &(struct request){
            .attempt = attempt_query, .query = query, .builder = builder, .ret_next = ret_next},
        call);
    if (r < 0 || !*ret_next || page_builder_rows(builder) > 0)
        return r;
    if (query->filter) /* the service has searched up to 5 s, or to the end of a server's part */
        continuation_set_progress(*ret_next);
    if (continuation_is_progress(*ret_next))
        return 0;
    return pace_empty_page(self, query->after, *ret_next, call);
}

static int retrying_get(struct table_store *store, const char *table, struct bytes position,
                        struct call *call, struct page_builder *builder)
{
    return perform(
        (struct retrying_store *)store,
        &(struct request){
            .attempt = attempt_get, .table = table, .position = position, .builder = builder},
        call);
}

static int retrying_list_tables(struct table_store *store, const char *only,
                                const struct continuation *after, struct call *call,
                                struct table_names *ret, struct continuation **ret_next)
{
    struct retrying_store *self = (struct retrying_store *)store;
    size_t names_size = ret->names.size;
    int r = perform(self,
                    &(struct request){.attempt = attempt_list_tables,
                                      .table = only,
                                      .after = after,
                                      .names = ret,
                                      .names_size = names_size,
                                      .ret_next = ret_next},
                    call);
    if (r < 0 || !*ret_next || ret->names.size > names_size)
        return r;
    return pace_empty_page(self, after, *ret_next, call);
}

static int attempt_write(const struct request *request, struct table_store *inner,
                         struct call *call)
{
    return inner->ops->write(inner, request->table, request->writes, request->n, call,
                             request->results);
}

static int doubt_write(struct retrying_store *self, const struct request *request, int error,
                       struct call *call)
{
    struct failure refused = call->failure;
    int r = written_check(&self->store, request->table, request->writes, request->n, call,
                          request->results);
    if (r == WRITTEN_WHOLE) {
        call->failure = (struct failure){0};
        return 0;
    }
    if (r < 0) { /* the outcome is unknown */
        call->failure.is_ambiguous = true;
        return r;
    }
    call->failure = refused;
    call->failure.is_ambiguous = r == WRITTEN_PERHAPS;
    return error;
}

static int retrying_write(struct table_store *store, const char *table, const struct write *writes,
                          size_t n, struct call *call, struct write_result *ret)
{
    return perform((struct retrying_store *)store,
                   &(struct request){.attempt = attempt_write,
                                     .doubt = doubt_write,
                                     .table = table,
                                     .writes = writes,
                                     .n = n,
                                     .results = ret},
                   call);
}

static int attempt_create_table(const struct request *request, struct table_store *inner,
                                struct call *call)
{
    return inner->ops->create_table(inner, request->table, call);
}

static int attempt_delete_table(const struct request *request, struct table_store *inner,
                                struct call *call)
{
    return inner->ops->delete_table(inner, request->table, call);
}

/* After a lost answer, a table that exists counts as created, and one that does not as deleted,
 * even if another client did it. */
static int doubt_table(struct retrying_store *self, const struct request *request, int error,
                       struct call *call)
{
    (void)self;
    int done = request->attempt == attempt_create_table ? -EEXIST : -ENOENT;
    if (error != done)
        return error;
    call->failure = (struct failure){0};
    return 0;
}

static int retrying_create_table(struct table_store *store, const char *table, struct call *call)
{
    return perform(
        (struct retrying_store *)store,
        &(struct request){.attempt = attempt_create_table, .doubt = doubt_table, .table = table},
        call);
}

static int retrying_delete_table(struct table_store *store, const char *table, struct call *call)
{
    return perform(
        (struct retrying_store *)store,
        &(struct request){.attempt = attempt_delete_table, .doubt = doubt_table, .table = table},
        call);
}

static bool retrying_is_down(struct table_store *store)
{
    return service_health_is_down(((struct retrying_store *)store)->health);
}

static size_t retrying_write_size(struct table_store *store, const char *table,
                                  const struct write *write)
{
    return table_store_write_size(((struct retrying_store *)store)->inner, table, write);
}

static const struct table_store_limits *retrying_limits(struct table_store *store)
{
    return table_store_limits(((struct retrying_store *)store)->inner);
}

static void retrying_destroy(struct table_store *store)
{
    struct retrying_store *self = (struct retrying_store *)store;
    table_store_destroy(self->inner);
    service_health_destroy(self->health);
    service_throttling_destroy(self->throttling);
    free(self);
}

static const struct table_store_ops retrying_ops = {.query = retrying_query,
                                                    .get = retrying_get,
                                                    .list_tables = retrying_list_tables,
                                                    .write = retrying_write,
                                                    .is_down = retrying_is_down,
                                                    .write_size = retrying_write_size,
                                                    .create_table = retrying_create_table,
                                                    .delete_table = retrying_delete_table,
                                                    .limits = retrying_limits,
                                                    .destroy = retrying_destroy};

int retrying_store_create(struct table_store *inner, const struct clock *clock,
                          const struct retrying_store_options *options, struct table_store **ret)
{
    _cleanup_(service_health_destroyp) struct service_health *health = NULL;
    _cleanup_(freep) struct retrying_store *self = calloc(1, sizeof(*self));
    if (!self)
        return -ENOMEM;
    int r = service_health_create(clock, options->sink, options->sink_context, &health);
    if (r == 0)
        r = service_throttling_create(clock, options->throttling_sink, options->sink_context,
                                      &self->throttling);
    if (r < 0)
        return r;
    self->health = TAKE_PTR(health);
    self->store.ops = &retrying_ops;
    self->inner = inner;
    self->clock = clock;
    self->timeout_ms = options->timeout_ms;
    for (size_t i = 0; i < LANES; i++)
        atomic_init(&self->answered_ms[i], ANSWER_USED);
    atomic_init(&self->chance, (uint64_t)clock_utc_100ns(clock)); /* other clients differ */
    *ret = &TAKE_PTR(self)->store;
    return 0;
}

int retrying_store_append_metrics(struct table_store *store, struct buffer *ret)
{
    struct retrying_store *self = (struct retrying_store *)store;
    (void)metrics_append_number(ret, "tablefuse_retries_total", "counter",
                                "Requests that were sent again.", atomic_load(&self->retries));
    (void)metrics_append_number(ret, "tablefuse_given_up_total", "counter",
                                "Operations that failed after all retries.",
                                atomic_load(&self->given_up));
    return service_health_append_metrics(self->health, ret);
}
