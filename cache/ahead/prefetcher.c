/* SPDX-License-Identifier: MIT */
#include "cache/ahead/prefetcher.h"
#include "cache/ahead/scan_answer.h"
#include "client/base/monitor.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>

#define AHEAD_FIRST 2 /* pages ahead, plus one for each that was taken */

/* Parts of the prefetcher's share of the cache: the most that waits to be taken or is in flight;
 * and the least that may do so, however much is held. A prefetcher apart from the cache uses all of
 * its share. */
#define AHEAD_PART       2
#define AHEAD_LEAST_PART 8
#define NAMES_PART       4  /* the same of partitions: their pages wait in the cache */
#define ANSWERS_A_GUESS  16 /* of a traversal's names: most of them are known by the rows */
/* An older failure says nothing about the service now: the consumer's request is sent again. */
#define FAILURE_KEPT_MS 1000

/* | state    | sends                               | left by                                  |
 * | RUNS     | as far ahead as it may              | a failure of what is waited for: FAILED; |
 * |          |                                     | of another: CAUTIOUS                     |
 * | CAUTIOUS | only what the consumer waits for    | an answer: RUNS; a failure of it: FAILED |
 * | FAILED   | nothing                             | the consumer takes the failure, or reads |
 * |          |                                     | after FAILURE_KEPT_MS: CAUTIOUS          | */
enum state { RUNS, CAUTIOUS, FAILED };

struct prefetcher {
    struct prefetcher_source source;
    char *table, *filter, *select; /* filter, select: or NULL */
    struct stamp since;
    enum read_kind kind;
    bool is_apart, is_traversal;
    size_t ahead_bytes; /* guarded by monitor; 0: its share */
    char command[PREFETCHER_COMMAND_SIZE];
    int64_t patience_ms;
    atomic_size_t references; /* the consumer's, and one for each job */
    atomic_bool is_abandoned; /* by the consumer: requests in flight are cancelled */
    atomic_size_t answered;   /* answers, which are progress; they grow inside the monitor */
    atomic_size_t fetched;    /* of them, not known already */
    atomic_size_t held_bytes; /* of its share, what the consumer holds */
    struct monitor monitor;
    /* guarded by monitor */
    enum state state;
    struct failure failure; /* of FAILED */
    int64_t failed_ms;
    struct scan *scan;
    size_t in_flight;     /* requests */
    size_t jobs;          /* that may send more; in_flight at least */
    double taken, wanted; /* pages, since the start */
    int64_t requested_ms; /* of the oldest answer */
    bool is_awaited;      /* the consumer has seen all answers, and waits */
};

struct job { /* one request on its way */
    struct worker_task task;
    struct prefetcher *prefetcher;
    struct scan_request request;
    struct request_slot slot;
    size_t answered_before;        /* prefetcher.answered, when it began */
    bool is_waited_for;            /* by the consumer: it is the first, or the only one */
    bool is_for_consumer;          /* to perform: what is ahead may fill the pool's lane */
    const struct caller *consumer; /* performs it by itself; NULL: a worker does */
};

/* Inside the monitor, after each change. */
static void check_locked(const struct prefetcher *prefetcher)
{
    assert((prefetcher->state == FAILED) == (prefetcher->failure.error < 0));
    assert(prefetcher->jobs >= prefetcher->in_flight);
    assert(!(prefetcher->state == FAILED && prefetcher->is_awaited));
}

static void release(struct prefetcher *prefetcher)
{
    if (atomic_fetch_sub(&prefetcher->references, 1) > 1)
        return;
    scan_destroy(prefetcher->scan);
    monitor_finish(&prefetcher->monitor);
    free(prefetcher->table);
    free(prefetcher->filter);
    free(prefetcher->select);
    free(prefetcher);
}

/* The bytes that all prefetchers may read ahead are divided again when their number changes. */
static size_t share_bytes(const struct prefetcher_source *source)
{
    return MAX(source->ahead_bytes / MAX(atomic_load(source->live), 1), 1);
}

/* `text` may be NULL. */
static int copy(const char *text, char **ret)
{
    *ret = text ? strdup(text) : NULL;
    return text && !*ret ? -ENOMEM : 0;
}

static int create_scan(struct prefetcher *prefetcher, const struct prefetcher_options *options)
{
    const struct scan_limits limits = {.page_rows = TABLE_STORE_PAGE_ROWS,
                                       .fanout = options->fanout,
                                       .window_bytes =
                                           share_bytes(&prefetcher->source) / NAMES_PART,
                                       .keys_only = options->kind != READ_ROWS};
    int r = copy(options->table, &prefetcher->table);
    if (r == 0)
        r = copy(options->filter, &prefetcher->filter);
    if (r == 0)
        r = copy(options->select, &prefetcher->select);
    if (r < 0)
        return r;
    return options->filter ? scan_filtered_create(options->range, &limits, &prefetcher->scan)
                           : read_kind_create_scan(options->kind, options->range, &limits,
                                                   options->parts, &prefetcher->scan);
}

int prefetcher_create(const struct prefetcher_source *source,
                      const struct prefetcher_options *options, struct caller *opener,
                      struct prefetcher **ret)
{
    struct prefetcher *prefetcher = calloc(1, sizeof(*prefetcher));
    if (!prefetcher)
        return call_fail(&opener->call, -ENOMEM, "out of memory");
    monitor_init(&prefetcher->monitor);
    atomic_init(&prefetcher->references, 1);
    prefetcher->source = *source;
    prefetcher->kind = options->kind;
    prefetcher->since = options->since;
    prefetcher->is_apart = options->is_apart;
    prefetcher->is_traversal = options->is_traversal;
    prefetcher->ahead_bytes = options->ahead_bytes;
    prefetcher->patience_ms = opener->patience_ms;
    prefetcher->wanted = INFINITY;
    prefetcher->requested_ms = INT64_MAX;
    if (opener->call.command)
        (void)snprintf(prefetcher->command, sizeof(prefetcher->command), "%s",
                       opener->call.command);
    int r = create_scan(prefetcher, options);
    if (r < 0) {
        release(prefetcher);
        return call_fail(&opener->call, r, "out of memory");
    }
    atomic_fetch_add(source->live, prefetcher->kind != READ_LEVEL);
    *ret = prefetcher;
    return 0;
}

void prefetcher_leave(struct prefetcher *prefetcher)
{
    if (!prefetcher)
        return;
    atomic_store(&prefetcher->is_abandoned, true);
    atomic_fetch_sub(prefetcher->source.live, prefetcher->kind != READ_LEVEL);
    release(prefetcher);
}

static bool is_abandoned(const struct prefetcher *prefetcher)
{
    return atomic_load(&prefetcher->is_abandoned) || atomic_load(prefetcher->source.is_closing);
}

/* Checked again and again by a job: has the consumer left, or does it perform the job and is
 * interrupted? */
static bool is_given_up(void *context)
{
    const struct job *job = context;
    return is_abandoned(job->prefetcher) ||
           (job->consumer && call_is_cancelled(&job->consumer->call));
}

/* The next item, as scan_take. */
static enum scan_state take_locked(struct prefetcher *prefetcher, struct scan_item *ret)
{
    enum scan_state state = scan_take(prefetcher->scan, ret);
    if (state == SCAN_ITEM)
        prefetcher->taken += ret->pages;
    return state;
}

/* How many pages may be ahead of the consumer. None before it has taken its second page: many
 * consumers want only one. */
static double most_ahead_locked(const struct prefetcher *prefetcher)
{
    double wanted = prefetcher->wanted - prefetcher->taken;
    return prefetcher->taken > 1 ? MIN(AHEAD_FIRST + prefetcher->taken, wanted) : 0;
}

static double ahead_locked(const struct prefetcher *prefetcher)
{
    return scan_waiting(prefetcher->scan) + (double)prefetcher->in_flight;
}

static bool may_run_ahead_locked(const struct prefetcher *prefetcher, bool has_room)
{
    bool sends_all = prefetcher->kind == READ_LEVEL || prefetcher->kind == READ_BORDERS ||
                     (prefetcher->filter && prefetcher->is_awaited);
    return has_room && prefetcher->state == RUNS &&
           (sends_all || ahead_locked(prefetcher) < most_ahead_locked(prefetcher));
}

static bool may_send_locked(const struct prefetcher *prefetcher, bool has_room)
{
    return !is_abandoned(prefetcher) && prefetcher->state != FAILED &&
           (prefetcher->is_awaited || may_run_ahead_locked(prefetcher, has_room));
}

/* The bytes that may wait to be taken or be in flight: the room that held pages leave. */
static size_t window_bytes_locked(const struct prefetcher *prefetcher)
{
    size_t share = share_bytes(&prefetcher->source), limit = prefetcher->ahead_bytes;
    size_t free = share - MIN(share, atomic_load(&prefetcher->held_bytes));
    size_t most = prefetcher->is_apart ? share : share / AHEAD_PART;
    size_t ahead = MAX(MIN(free, most), share / AHEAD_LEAST_PART);
    return MAX(limit > 0 ? MIN(limit, ahead) : ahead, 1);
}

/* The scan's next request. One that is only guessed is not sent where something is in flight, and
 * there is no room for guesses or enough ahead. What a consumer waits for is sent at once, also
 * where the request window has no room: so no prefetcher starves another, and guesses that are
 * throttled or hang do not hold up what lies before them. */
static bool take_request_locked(struct prefetcher *prefetcher, bool has_room, int room,
                                struct scan_request *ret)
{
    bool may_run_ahead = may_run_ahead_locked(prefetcher, has_room);
    if (ahead_locked(prefetcher) >= prefetcher->wanted - prefetcher->taken)
        room = 0;
    if (prefetcher->kind == READ_LEVEL && prefetcher->is_traversal)
        room = MIN(room, (int)(prefetcher->answered / ANSWERS_A_GUESS));
    scan_set_window(prefetcher->scan, window_bytes_locked(prefetcher));
    bool is_only = prefetcher->in_flight == 0;
    int idle = is_only ? MAX(room, 1) : may_run_ahead ? room : 0; /* 0: nothing is split */
    if (!scan_next_request(prefetcher->scan, idle, ret))
        return false;
    bool is_ahead = !ret->is_head && !is_only;
    if ((ret->is_speculative && room == 0) || (is_ahead && !may_run_ahead)) {
        scan_give_back(prefetcher->scan, ret->id);
        return false;
    }
    return true;
}

/* The next request, if one is to be sent. NULL: nothing now. */
static struct job *next_job(struct prefetcher *prefetcher, const struct caller *consumer)
{
    struct request_window *window = prefetcher->source.window;
    unsigned lane = lane_of_table(prefetcher->table);
    int room = request_window_idle(window, lane);
    bool has_room = request_window_enter(window, lane), has_request;
    struct job *job = calloc(1, sizeof(*job));
    monitor_enter(&prefetcher->monitor);
    has_request = job && may_send_locked(prefetcher, has_room) &&
                  take_request_locked(prefetcher, has_room, room, &job->request);
    if (has_request) {
        bool is_only = prefetcher->is_awaited && prefetcher->in_flight == 0;
        job->is_waited_for = job->request.is_head || is_only;
        job->is_for_consumer =
            consumer && !has_room && job->request.is_head && prefetcher->in_flight > 0;
        prefetcher->in_flight++;
        prefetcher->jobs++;
        job->answered_before = prefetcher->answered;
        job->prefetcher = prefetcher;
        job->task.lane = lane;
        job->slot = (struct request_slot){.window = window, .lane = lane};
        atomic_fetch_add(&prefetcher->references, 1);
    }
    monitor_leave(&prefetcher->monitor);
    if (has_request && !has_room)
        request_window_enter_anyway(window, lane);
    if (has_request)
        return job;
    if (has_room)
        request_window_give_back(window, lane);
    free(job);
    return NULL;
}

static void note_failure_locked(struct prefetcher *prefetcher, const struct failure *failure, int r,
                                bool is_waited_for)
{
    if (prefetcher->state == FAILED)
        return;
    prefetcher->state = is_waited_for ? FAILED : CAUTIOUS;
    if (!is_waited_for)
        return;
    prefetcher->failure = *failure;
    prefetcher->failure.error = r;
    prefetcher->failed_ms = clock_now_ms(prefetcher->source.clock);
}

static void forget_failure_locked(struct prefetcher *prefetcher)
{
    prefetcher->failure.error = 0;
    prefetcher->state = CAUTIOUS;
}

/* The request was throttled until its deadline, and others were answered meanwhile. Then the
 * consumer does not get the failure, and the request is sent again. The consumer's own deadline
 * passes when nothing is answered any more. */
static bool is_overtaken_locked(const struct prefetcher *prefetcher, const struct job *job,
                                const struct failure *failure)
{
    return failure_is_throttled(failure) && prefetcher->answered > job->answered_before;
}

/* Passes the answer to the scan. r < 0: gives the request back to it, and notes the failure. */
static void add_answer(struct prefetcher *prefetcher, const struct job *job, int r,
                       struct answer *answer, const struct seen *seen, struct call *call)
{
    bool is_progress = r == 0 && answer_is_progress(answer);
    INSIDE(&prefetcher->monitor);
    prefetcher->requested_ms = MIN(prefetcher->requested_ms, seen->requested_ms);
    prefetcher->fetched += seen->was_fetched;
    prefetcher->is_awaited = false; /* until the consumer has checked again */
    if (r < 0) {
        scan_give_back(prefetcher->scan, job->request.id);
    } else if ((r = scan_add_answer(prefetcher->scan, job->request.id, answer)) < 0) {
        (void)call_fail(call, r, "no memory for an answer");
    }
    if (r < 0)
        note_failure_locked(prefetcher, &call->failure, r,
                            job->is_waited_for &&
                                !is_overtaken_locked(prefetcher, job, &call->failure));
    else if (prefetcher->state == CAUTIOUS)
        prefetcher->state = RUNS;
    prefetcher->in_flight--;
    prefetcher->answered += r >= 0 && is_progress;
    check_locked(prefetcher);
    monitor_notify(&prefetcher->monitor);
}

/* With a filter the latency is the time that the service takes to find rows. */
static bool is_filtered(const struct job *job)
{
    return job->prefetcher->filter && !job->request.is_of_names;
}

static void perform(struct job *job)
{
    struct prefetcher *prefetcher = job->prefetcher;
    const struct prefetcher_source *source = &prefetcher->source;
    int64_t began_ms = clock_now_ms(source->clock);
    int64_t deadline_ms =
        job->consumer ? job->consumer->call.deadline_ms : began_ms + prefetcher->patience_ms;
    struct caller caller = {.call = {.deadline_ms = deadline_ms,
                                     .is_cancelled = is_given_up,
                                     .context = job,
                                     .command = prefetcher->command},
                            .patience_ms = prefetcher->patience_ms,
                            .end_ms = job->consumer ? job->consumer->end_ms : 0};
    /* An answer that may wait for the consumer must be younger, as it grows older meanwhile. */
    int64_t kept_ms = prefetcher->kind == READ_LEVEL ? source->kept_ms : source->kept_ms / 2;
    struct stamp since = prefetcher->since;
    since.requested_ms = MAX(since.requested_ms, began_ms - kept_ms);
    const struct scan_query query = {.kind = prefetcher->kind,
                                     .table = prefetcher->table,
                                     .since = since,
                                     .is_apart = prefetcher->is_apart,
                                     .filter = prefetcher->filter,
                                     .select = prefetcher->select,
                                     .request = &job->request};
    _cleanup_(answer_finish) struct answer answer = {0};
    struct seen seen = {.requested_ms = began_ms};
    request_slot_begin(&job->slot, &caller.call, source->clock);
    int r = scan_answer(source->overlay, source->fetcher, &caller, &query, &answer, &seen);
    bool is_good = r == 0 && seen.was_fetched && page_rows(answer.page) > 0;
    enum request_end end = r == 0 && is_filtered(job) ? REQUEST_UNTIMED
                           : is_good                  ? REQUEST_GOOD
                                                      : REQUEST_OTHER;
    add_answer(prefetcher, job, r, &answer, &seen, &caller.call);
    request_slot_end(&job->slot, &caller.call, r, end);
}

static bool pump(struct prefetcher *prefetcher, const struct caller *consumer);

/* A job ends only when it has sent what may be sent: a consumer that waits relies on that. */
static void finish(struct job *job)
{
    struct prefetcher *prefetcher = job->prefetcher;
    monitor_enter(&prefetcher->monitor);
    prefetcher->jobs--;
    check_locked(prefetcher);
    monitor_notify(&prefetcher->monitor);
    monitor_leave(&prefetcher->monitor);
    free(job);
    release(prefetcher);
}

static void run(struct worker_task *task)
{
    struct job *job = (struct job *)task;
    perform(job);
    (void)pump(job->prefetcher, NULL);
    finish(job);
}

/* The job's request was not sent, so the scan will return it again. */
static void give_back(struct job *job)
{
    struct prefetcher *prefetcher = job->prefetcher;
    monitor_enter(&prefetcher->monitor);
    scan_give_back(prefetcher->scan, job->request.id);
    prefetcher->in_flight--;
    monitor_leave(&prefetcher->monitor);
    request_window_give_back(prefetcher->source.window, job->slot.lane);
}

/* A consumer that waits performs the job by itself, with its own deadline. */
static bool do_without_worker(struct job *job, const struct caller *consumer)
{
    job->consumer = consumer;
    if (consumer)
        perform(job);
    else
        give_back(job);
    finish(job);
    return consumer;
}

/* Sends what may be sent now. `consumer`: it waits; or NULL. False: nothing was sent. */
static bool pump(struct prefetcher *prefetcher, const struct caller *consumer)
{
    bool is_sent = false;
    struct job *job;
    while ((job = next_job(prefetcher, consumer)) != NULL) {
        job->task.run = run;
        if (job->is_for_consumer || worker_pool_submit(prefetcher->source.workers, &job->task) < 0)
            return do_without_worker(job, consumer) || is_sent;
        is_sent = true;
    }
    return is_sent;
}

static void forget_old_failure(struct prefetcher *prefetcher)
{
    int64_t now_ms = clock_now_ms(prefetcher->source.clock);
    INSIDE(&prefetcher->monitor);
    if (prefetcher->state == FAILED && now_ms - prefetcher->failed_ms > FAILURE_KEPT_MS)
        forget_failure_locked(prefetcher);
    check_locked(prefetcher);
}

enum next { NEXT_ITEM, NEXT_END, NEXT_FAILED, NEXT_WAIT, NEXT_STUCK };

static enum next find_next(struct prefetcher *prefetcher, bool may_wait, struct scan_item *ret,
                           struct failure *ret_failure)
{
    enum next next;
    INSIDE(&prefetcher->monitor);
    enum scan_state state = take_locked(prefetcher, ret);
    if (state == SCAN_ITEM) {
        next = NEXT_ITEM;
    } else if (state == SCAN_END) {
        next = NEXT_END;
    } else if (prefetcher->state == FAILED) {
        next = NEXT_FAILED;
        *ret_failure = prefetcher->failure;
        forget_failure_locked(prefetcher);
    } else if (prefetcher->jobs > 0) {
        next = NEXT_WAIT;
    } else {
        next = NEXT_STUCK;
    }
    prefetcher->is_awaited =
        may_wait && prefetcher->state != FAILED && (next == NEXT_WAIT || next == NEXT_STUCK);
    check_locked(prefetcher);
    return next;
}

/* Answers since the last call of this are progress: they put the consumer's deadline off. */
static void note_progress(struct prefetcher *prefetcher, struct caller *caller, size_t *answered)
{
    size_t before = *answered;
    *answered = prefetcher->answered;
    if (*answered > before)
        caller_made_progress(caller, prefetcher->source.clock);
}

/* Waits until there are more answers than *answered, but not longer than monitor_wait does. */
static int wait_for_answer(struct prefetcher *prefetcher, struct caller *caller, size_t *answered)
{
    monitor_enter(&prefetcher->monitor);
    if (prefetcher->jobs > 0 && prefetcher->answered == *answered)
        monitor_wait(&prefetcher->monitor);
    monitor_leave(&prefetcher->monitor);
    note_progress(prefetcher, caller, answered);
    return call_check(&caller->call, prefetcher->source.clock, "no answer in time");
}

static int fail_stuck(const struct prefetcher *prefetcher, struct caller *caller)
{
    return atomic_load(prefetcher->source.is_closing)
               ? call_fail(&caller->call, -EINTR, "the account is closed")
               : call_fail(&caller->call, -ENOMEM, "no memory for a request");
}

int prefetcher_next(struct prefetcher *prefetcher, struct caller *caller, bool may_wait,
                    struct scan_item *ret)
{
    struct failure failure;
    size_t answered = prefetcher->answered;
    int r = 0;
    forget_old_failure(prefetcher);
    while (r == 0) {
        enum next next = find_next(prefetcher, may_wait, ret, &failure);
        bool is_lacking = next == NEXT_WAIT || next == NEXT_STUCK;
        bool is_sent =
            next != NEXT_FAILED && pump(prefetcher, is_lacking && may_wait ? caller : NULL);
        if (is_lacking && !may_wait)
            return -EAGAIN;
        switch (next) {
        case NEXT_ITEM:
            return 1;
        case NEXT_END:
            return 0;
        case NEXT_FAILED:
            caller->call.failure = failure;
            return failure.error;
        case NEXT_STUCK: /* now it was requested, or even answered */
            note_progress(prefetcher, caller, &answered);
            r = is_sent ? 0 : fail_stuck(prefetcher, caller);
            break;
        case NEXT_WAIT:
            r = wait_for_answer(prefetcher, caller, &answered);
            break;
        }
    }
    monitor_enter(&prefetcher->monitor);
    prefetcher->is_awaited = false;
    monitor_leave(&prefetcher->monitor);
    return fetcher_explain(prefetcher->source.fetcher, prefetcher->table, caller, r);
}

void prefetcher_want(struct prefetcher *prefetcher, size_t pages)
{
    INSIDE(&prefetcher->monitor);
    prefetcher->wanted = prefetcher->taken + (double)pages;
}

int64_t prefetcher_requested_ms(struct prefetcher *prefetcher)
{
    int64_t now_ms = clock_now_ms(prefetcher->source.clock);
    INSIDE(&prefetcher->monitor);
    return MIN(prefetcher->requested_ms, now_ms);
}

bool prefetcher_take(struct prefetcher *prefetcher, struct scan_item *ret)
{
    INSIDE(&prefetcher->monitor);
    return take_locked(prefetcher, ret) == SCAN_ITEM;
}

void prefetcher_run_ahead(struct prefetcher *prefetcher)
{
    (void)pump(prefetcher, NULL);
}

size_t prefetcher_fetched(const struct prefetcher *prefetcher)
{
    return atomic_load(&prefetcher->fetched);
}

size_t prefetcher_share_bytes(const struct prefetcher *prefetcher)
{
    return share_bytes(&prefetcher->source);
}

void prefetcher_set_held(struct prefetcher *prefetcher, size_t bytes)
{
    atomic_store(&prefetcher->held_bytes, bytes);
}
