/* SPDX-License-Identifier: MIT */
#include "cache/known/fetcher.h"
#include "cache/known/delays.h"
#include "cache/known/freshness.h"
#include "cache/known/table_names.h"
#include "cache/known/table_page.h"
#include "client/base/condition.h"
#include "client/base/locked.h"

#include <assert.h>
#include <sys/queue.h>

#define NAMES_MAX_BYTES ((size_t)16 << 20) /* of all tables of an account */

struct fetcher {
    struct fetcher_source source;
    struct delays *delays;
    pthread_mutex_t lock;
    /* guarded by lock */
    LIST_HEAD(flights, flight) flights; /* FLYING */
    struct fetcher_stats stats;
    uint64_t left_out; /* hash of the tables that were left out of the last list; 0: none */
};

enum state { FLYING, LANDED, GIVEN_UP }; /* see fetcher.h */

/* A request, or several, for one page. */
struct flight {
    struct call_observer observer; /* of the leader's call */
    struct delayed delayed;
    LIST_ENTRY(flight) entry;
    struct fetcher *fetcher;
    struct fetch fetch;        /* the leader's; valid while FLYING */
    struct stamp stamp;        /* from before anything was sent */
    struct token_origin token; /* of a page that follows a token; else 0 */
    struct caller *leader;     /* used by its thread alone, as has_arrived and requested_ms are */
    bool is_passing;           /* its page is returned, and not put into the cache */
    bool has_arrived;          /* an answer, of whatever kind */
    int64_t requested_ms;      /* when the first of its pages was requested */
    pthread_cond_t changed;
    /* guarded by the fetcher's lock; the result is fixed once LANDED */
    size_t users;   /* callers that lead or joined */
    uint64_t pages; /* that arrived, without those that were no progress */
    enum state state;
    int result;
    struct failure failure;
    struct page *page;
};

int fetcher_create(const struct fetcher_source *source, struct fetcher **ret)
{
    struct fetcher *fetcher = calloc(1, sizeof(*fetcher));
    if (!fetcher || delays_create(source->clock, &fetcher->delays) < 0) {
        free(fetcher);
        return -ENOMEM;
    }
    (void)pthread_mutex_init(&fetcher->lock, NULL);
    fetcher->source = *source;
    LIST_INIT(&fetcher->flights);
    *ret = fetcher;
    return 0;
}

void fetcher_destroy(struct fetcher *fetcher)
{
    if (!fetcher)
        return;
    assert(LIST_EMPTY(&fetcher->flights));
    (void)pthread_mutex_destroy(&fetcher->lock);
    delays_destroy(fetcher->delays);
    free(fetcher);
}

static bool is_single(struct range range)
{
    return range.hi.size == range.lo.size + 1 && bytes_start_with(range.hi, range.lo) &&
           range.hi.data[range.lo.size] == POSITION_AFTER[0];
}

static bool is_row(struct range range)
{
    return is_single(range) && position_has_row(range.lo);
}

static bool is_name(struct range range)
{
    return is_single(range) && !position_has_row(range.lo);
}

/* The fetch that is sent: for tables either one table by its name, or all of them. */
static struct fetch fetch_to_send(const struct fetch *fetch)
{
    struct fetch sent = *fetch;
    if (sent.table)
        return sent;
    sent.keys_only = false;
    if (!is_name(sent.range))
        sent.range = RANGE_ALL;
    return sent;
}

static void note_wait(struct call_observer *observer, const struct failure *reason)
{
    struct flight *flight = (struct flight *)observer;
    delays_note(flight->fetcher->delays, &flight->delayed, reason);
}

static void observe(struct flight *flight)
{
    struct call *call = &flight->leader->call;
    flight->observer = (struct call_observer){.waits = note_wait, .outer = call->observer};
    flight->delayed = (struct delayed){.table = flight->fetch.table};
    call->observer = &flight->observer;
}

static void stop_observing(struct flight *flight)
{
    flight->leader->call.observer = flight->observer.outer;
    delays_leave(flight->fetcher->delays, &flight->delayed);
}

/* An answer arrived. If it is progress, the time that each caller waits starts again. */
static void note_arrival(struct flight *flight, bool is_progress)
{
    struct fetcher *fetcher = flight->fetcher;
    if (!flight->has_arrived)
        flight->requested_ms = caller_requested_ms(flight->leader, flight->stamp.requested_ms);
    flight->has_arrived = true;
    if (!is_progress)
        return;
    delays_answered(fetcher->delays, &flight->delayed);
    (void)pthread_mutex_lock(&fetcher->lock);
    flight->pages++;
    (void)pthread_mutex_unlock(&fetcher->lock);
    caller_made_progress(flight->leader, fetcher->source.clock);
}

/* "No such row" is an answer: an empty page. "No such table" is a failure. */
static int request_row(struct flight *flight, struct page **ret)
{
    const struct fetch *fetch = &flight->fetch;
    struct call *call = &flight->leader->call;
    int r =
        table_store_get(flight->fetcher->source.store, fetch->table, fetch->range.lo, call, ret);
    if (r == -ENOENT && !failure_is_no_table(&call->failure)) {
        r = page_create_empty(fetch->range, ret);
        if (r < 0)
            return call_fail(call, r, "out of memory");
    }
    if (r == 0)
        note_arrival(flight, true);
    return r;
}

/* If a page is too large, queries it again with fewer rows. */
static int request_page(struct flight *flight, struct query *query, struct answer *ret)
{
    struct table_store *store = flight->fetcher->source.store;
    int r;
    while ((r = table_store_query(store, query, &flight->leader->call, ret)) == -EFBIG &&
           query->top > 1)
        query->top = MAX(query->top / 8, 1);
    if (r == 0)
        note_arrival(flight, answer_is_progress(ret));
    return r;
}

/* An empty page with a token does not show that nothing follows, so the token is followed. */
static int request_rows(struct flight *flight, struct page **ret)
{
    const struct fetch *fetch = &flight->fetch;
    _cleanup_(answer_finish) struct answer answer = {0};
    struct query query = {.table = fetch->table,
                          .range = fetch->range,
                          .top = fetch->top,
                          .keys_only = fetch->keys_only};
    int r;
    do {
        _cleanup_(answer_finish) struct answer last = answer;
        answer = (struct answer){0};
        query.after = last.next;
        r = request_page(flight, &query, &answer);
    } while (r == 0 && page_rows(answer.page) == 0 && answer.next);
    if (r == 0)
        *ret = TAKE_PTR(answer.page);
    return r;
}

/* `only`: the one table that is looked up; NULL: all tables are listed. */
static int list_tables(struct flight *flight, const char *only, struct table_names *ret)
{
    struct call *call = &flight->leader->call;
    struct continuation *next = NULL;
    int r;
    do {
        _cleanup_(continuation_destroyp) struct continuation *after = TAKE_PTR(next);
        size_t size = ret->names.size;
        r = table_store_list_tables(flight->fetcher->source.store, only, after, call, ret, &next);
        if (r == 0 && ret->names.error < 0)
            r = call_fail(call, ret->names.error, "the list of tables is too long");
        if (r == 0)
            note_arrival(flight, ret->names.size > size || !next);
    } while (r == 0 && next && !(only && ret->names.size > 0));
    continuation_destroy(next);
    return r;
}

/* Removes the tables that no path can name. Reports them as a failure if the list before left out
 * others. */
static void leave_out(struct flight *flight, struct buffer *names)
{
    struct fetcher *fetcher = flight->fetcher;
    struct left_out left_out;
    table_names_leave_out(names, &left_out);
    (void)pthread_mutex_lock(&fetcher->lock);
    bool is_new = left_out.hash != fetcher->left_out;
    fetcher->left_out = left_out.hash;
    (void)pthread_mutex_unlock(&fetcher->lock);
    if (!is_new || left_out.count == 0 || !fetcher->source.failures)
        return;
    const struct failure_record record = {.at_100ns = clock_utc_100ns(fetcher->source.clock),
                                          .operation = "readdir",
                                          .command = flight->leader->call.command,
                                          .failure = table_names_failure(&left_out)};
    failure_log_add(fetcher->source.failures, &record);
}

static int request_tables(struct flight *flight, struct page **ret)
{
    struct range range = flight->fetch.range;
    struct call *call = &flight->leader->call;
    _cleanup_(freep) char *only = NULL;
    struct table_names names;
    if (is_name(range) && !(only = strndup(range.lo.data, range.lo.size)))
        return call_fail(call, -ENOMEM, "out of memory");
    buffer_init(&names.names, NAMES_MAX_BYTES);
    int r = list_tables(flight, only, &names);
    if (r == 0 && !only)
        leave_out(flight, &names.names);
    if (r == 0) {
        r = only ? table_page_of_one(only, names.names.size > 0, ret)
                 : table_page_of_all(buffer_bytes(&names.names), ret);
        if (r < 0)
            (void)call_fail(call, r, "no memory for a page of tables");
    }
    buffer_finish(&names.names);
    return r;
}

static int request(struct flight *flight, struct page **ret)
{
    const struct fetch *fetch = &flight->fetch;
    observe(flight);
    bool is_get = is_row(fetch->range) && fetch->top == 1 && !fetch->keys_only;
    int r = !fetch->table ? request_tables(flight, ret)
            : is_get      ? request_row(flight, ret)
                          : request_rows(flight, ret);
    stop_observing(flight);
    return r;
}

/* The stamp of an answer that has just arrived, as if it was requested at requested_ms. */
static struct stamp arrived_stamp(const struct flight *flight, int64_t requested_ms)
{
    const struct fetcher_source *source = &flight->fetcher->source;
    return (struct stamp){
        freshness_requested_ms(requested_ms, clock_now_ms(source->clock), source->ttl_ms),
        flight->stamp.order};
}

static void report_listed(const struct flight *flight, const struct page *tables)
{
    const struct fetcher_source *source = &flight->fetcher->source;
    if (source->listed)
        source->listed(source->listed_context, tables, flight->stamp);
}

/* Notes whether the table exists. Without memory nothing is noted, and the next lookup of the table
 * is a request. */
static void note_table(struct flight *flight, bool is_there, struct stamp stamp)
{
    _cleanup_(page_unrefp) struct page *page = NULL;
    if (table_page_of_one(flight->fetch.table, is_there, &page) < 0)
        return;
    (void)range_cache_put(flight->fetcher->source.cache, NULL, page, stamp);
    if (!is_there)
        report_listed(flight, page);
}

/* The table is noted first: the page that is put last is not evicted by that put.
 *
 * A token names the row that came next when it was given. A row that was stored before that one
 * since then is not in this page, although the page covers its position: this gap is as old as the
 * token. So the whole page counts as that old: one stamp is simpler than two. A page of a filter
 * covers its rows alone, and no gap. */
static int keep(struct flight *flight, struct page *page)
{
    struct stamp stamp = arrived_stamp(flight, flight->requested_ms);
    if (flight->fetch.table)
        note_table(flight, true, stamp);
    else
        report_listed(flight, page);
    if (flight->token.order > 0 && !range_is_empty(page_range(page))) {
        stamp = arrived_stamp(flight, MIN(flight->requested_ms, flight->token.arrived_ms));
        stamp.order = flight->token.order;
    }
    int r = flight->is_passing
                ? 0
                : range_cache_put(flight->fetcher->source.cache, flight->fetch.table, page, stamp);
    if (r < 0)
        return call_fail(&flight->leader->call, r, "no memory to keep a page");
    flight->leader->call.failure = (struct failure){0}; /* of "no such row", perhaps */
    return 0;
}

static void forget_table(struct flight *flight)
{
    note_arrival(flight, true);
    struct stamp stamp = arrived_stamp(flight, flight->requested_ms);
    range_cache_drop_table(flight->fetcher->source.cache, flight->fetch.table, stamp);
    note_table(flight, false, stamp);
}

/* Does the failure concern only the leader? It was interrupted, or its deadline has passed. */
static bool is_leaders_own(int r, const struct failure *failure)
{
    return r == -EINTR || r == -ETIMEDOUT || (r < 0 && failure->is_retryable);
}

static void check_locked(const struct flight *flight)
{
    assert(flight->users > 0);
    assert(flight->state == LANDED || !flight->page);
}

static void land(struct flight *flight, int r, struct page *page)
{
    struct fetcher *fetcher = flight->fetcher;
    const struct failure *failure = &flight->leader->call.failure;
    LOCKED(&fetcher->lock);
    LIST_REMOVE(flight, entry);
    flight->state = is_leaders_own(r, failure) ? GIVEN_UP : LANDED;
    flight->result = r;
    flight->failure = *failure;
    flight->page = page ? page_ref(page) : NULL;
    check_locked(flight);
    (void)pthread_cond_broadcast(&flight->changed);
}

/* The page is put into the cache before the flight lands. So a caller that finds neither the page
 * nor the flight has to send a request. */
static int lead(struct flight *flight, struct page **ret_page)
{
    _cleanup_(page_unrefp) struct page *page = NULL;
    int r = request(flight, &page);
    if (r == 0)
        r = keep(flight, page);
    else if (r == -ENOENT && flight->fetch.table)
        forget_table(flight);
    land(flight, r, r == 0 ? page : NULL);
    if (r == 0)
        *ret_page = TAKE_PTR(page);
    return r;
}

/* Waits once for a change of the flight. *pages: how many pages the caller has noticed so far.
 * True: more have arrived. */
static bool watch(struct flight *flight, uint64_t *pages, enum state *ret_state)
{
    struct fetcher *fetcher = flight->fetcher;
    LOCKED(&fetcher->lock);
    if (flight->state == FLYING)
        condition_wait(&flight->changed, &fetcher->lock);
    bool has_more = flight->pages > *pages;
    *pages = flight->pages;
    *ret_state = flight->state;
    return has_more;
}

#define TRY_AGAIN 1 /* the flight has no leader any more */

static int join(struct flight *flight, struct caller *caller, struct page **ret_page)
{
    const struct clock *clock = flight->fetcher->source.clock;
    uint64_t pages = 0;
    enum state state;
    do {
        if (watch(flight, &pages, &state))
            caller_made_progress(caller, clock);
        int r = state == LANDED ? 0 : call_check(&caller->call, clock, "no answer in time");
        if (r < 0)
            return r;
    } while (state == FLYING);
    if (state == GIVEN_UP)
        return TRY_AGAIN;
    caller->call.failure = flight->failure;
    if (flight->page)
        *ret_page = page_ref(flight->page);
    return flight->result;
}

/* Will the flight read the fetch's first position? It starts there. Or it continues over it, and
 * belongs to another thread of the same process, or both read ahead by name: these continue in key
 * order. */
static bool will_reach(const struct flight *flight, const struct caller *caller,
                       const struct fetch *fetch)
{
    const struct fetch *own = &flight->fetch;
    bool is_of_process = caller->process != 0 && flight->leader->process == caller->process;
    return bytes_equal(own->range.lo, fetch->range.lo) ||
           (own->top > 1 && range_holds(own->range, fetch->range.lo) &&
            (is_of_process || (own->is_ahead && fetch->is_ahead)));
}

static bool serves(const struct flight *flight, const struct caller *caller,
                   const struct fetch *fetch, struct stamp since)
{
    const struct fetch *own = &flight->fetch;
    return is_same_table(own->table, fetch->table) && will_reach(flight, caller, fetch) &&
           (!own->keys_only || fetch->keys_only) && stamp_satisfies(flight->stamp, since);
}

static struct flight *find_locked(struct fetcher *fetcher, const struct caller *caller,
                                  const struct fetch *fetch, struct stamp since)
{
    struct flight *flight = LIST_FIRST(&fetcher->flights);
    while (flight && !serves(flight, caller, fetch, since))
        flight = LIST_NEXT(flight, entry);
    return flight;
}

/* Stamped under the lock: of two flights the one with the later order was requested later. */
static struct flight *begin_locked(struct fetcher *fetcher, struct caller *leader,
                                   const struct fetch *fetch)
{
    struct flight *flight = calloc(1, sizeof(*flight));
    if (!flight)
        return NULL;
    condition_init(&flight->changed);
    flight->fetcher = fetcher;
    flight->fetch = *fetch;
    flight->leader = leader;
    flight->stamp = stamp_take(fetcher->source.orders, clock_now_ms(fetcher->source.clock));
    flight->state = FLYING;
    LIST_INSERT_HEAD(&fetcher->flights, flight, entry);
    return flight;
}

/* Joins a flight, or begins one: then the caller is its leader. NULL: no memory. */
static struct flight *join_or_begin(struct fetcher *fetcher, struct caller *caller,
                                    const struct fetch *fetch, struct stamp since)
{
    LOCKED(&fetcher->lock);
    struct flight *flight = fetch->is_alone ? NULL : find_locked(fetcher, caller, fetch, since);
    if (flight) {
        fetcher->stats.joined++;
    } else {
        flight = begin_locked(fetcher, caller, fetch);
        fetcher->stats.flights += flight != NULL;
    }
    if (flight)
        flight->users++;
    return flight;
}

static void leave(struct flight *flight)
{
    struct fetcher *fetcher = flight->fetcher;
    (void)pthread_mutex_lock(&fetcher->lock);
    bool is_last = --flight->users == 0;
    (void)pthread_mutex_unlock(&fetcher->lock);
    if (!is_last)
        return;
    page_unref(flight->page);
    (void)pthread_cond_destroy(&flight->changed);
    free(flight);
}

int fetcher_fetch(struct fetcher *fetcher, struct caller *caller, const struct fetch *fetch,
                  struct stamp since, struct page **ret_page, bool *ret_is_own)
{
    struct fetch sent = fetch_to_send(fetch);
    int r = TRY_AGAIN;
    while (r == TRY_AGAIN) {
        struct flight *flight = join_or_begin(fetcher, caller, &sent, since);
        if (!flight)
            return call_fail(&caller->call, -ENOMEM, "out of memory");
        bool is_own = flight->leader == caller;
        r = is_own ? lead(flight, ret_page) : join(flight, caller, ret_page);
        if (r == 0)
            *ret_is_own = is_own;
        leave(flight);
    }
    return fetcher_explain(fetcher, fetch->table, caller, r);
}

/* Is the token too old: did it, or the last row before it, arrive over half a ttl ago? Another
 * client may have stored a row since, between that row and the one that the token names. No page
 * would have it, and the range cache would show it as absent. With half a ttl the page is as young
 * as any answer (freshness_requested_ms). ret: what a query without the token requests instead. */
static bool is_token_old(const struct fetcher *fetcher, const struct query *query,
                         struct position *end, struct range *ret)
{
    int64_t ttl_ms = fetcher->source.ttl_ms;
    if (!query->after || query->filter || query->select || ttl_ms == 0)
        return false;
    int64_t arrived_ms = continuation_origin(query->after).arrived_ms;
    struct range rest = {continuation_position(query->after), query->range.hi};
    *ret = range_expressible_part(rest, end);
    return clock_now_ms(fetcher->source.clock) - arrived_ms > ttl_ms / 2 && !range_is_empty(*ret);
}

int fetcher_query(struct fetcher *fetcher, struct caller *caller, const struct query *query,
                  bool is_kept, struct answer *ret)
{
    struct query own = *query;
    struct position end;
    struct range rest;
    bool begins_anew = is_kept && is_token_old(fetcher, query, &end, &rest);
    *ret = (struct answer){0};
    if (begins_anew) {
        own.range = rest;
        own.after = NULL;
    }
    struct flight flight = {
        .fetcher = fetcher,
        .fetch = {.table = own.table,
                  .range = own.range,
                  .top = own.top,
                  .keys_only = own.keys_only},
        .leader = caller,
        .is_passing = !is_kept,
        .token = continuation_origin(own.after),
        .stamp = stamp_take(fetcher->source.orders, clock_now_ms(fetcher->source.clock))};
    (void)pthread_mutex_lock(&fetcher->lock);
    fetcher->stats.flights++;
    (void)pthread_mutex_unlock(&fetcher->lock);
    observe(&flight);
    int r = begins_anew ? request_rows(&flight, &ret->page) : request_page(&flight, &own, ret);
    stop_observing(&flight);
    const struct token_origin origin = {clock_now_ms(fetcher->source.clock), flight.stamp.order};
    if (r == 0 && ret->next)
        continuation_set_origin(ret->next,
                                page_rows(ret->page) > 0 || !own.after ? origin : flight.token);
    if (r == 0)
        r = keep(&flight, ret->page);
    else if (r == -ENOENT)
        forget_table(&flight);
    if (r < 0)
        answer_finish(ret);
    return fetcher_explain(fetcher, query->table, caller, r);
}

int fetcher_explain(struct fetcher *fetcher, const char *table, struct caller *caller, int r)
{
    return delays_explain(fetcher->delays, table, &caller->call, r);
}

void fetcher_stats(struct fetcher *fetcher, struct fetcher_stats *ret)
{
    LOCKED(&fetcher->lock);
    *ret = fetcher->stats;
}
