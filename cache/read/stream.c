#include "cache/read/stream.h"
#include "cache/read/pace.h"
#include "client/condition.h"

#include <pthread.h>
#include <stdatomic.h>

#define NEAR_FETCHES 3 /* a position that takes more is somebody else's way */

struct stream {
    struct stream_source source;
    char *table;
    struct stamp since;
    bool is_of_keys, is_eager;
    char command[STREAM_COMMAND_SIZE];
    int64_t patience_ms;
    atomic_size_t references; /* the reader's, and one a request in flight */
    atomic_bool is_left;      /* by its reader: what is in flight is cancelled */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* guarded by lock */
    struct scan *scan;
    size_t in_flight, answered; /* requests; answers, which are progress */
    size_t fetched;             /* answers that were not known already */
    size_t jobs;                /* that may send more */
    struct pace pace;           /* of the reader */
    int64_t asked_ms;           /* of the oldest answer */
    bool is_awaited;            /* the reader has seen all answers, and waits */
    bool is_paused;             /* until the reader looks again; then it is not live */
    bool is_cautious;           /* something failed ahead: nothing is read ahead now */
    struct failure failure;     /* of what the reader waits for; error 0: none */
    /* the reader's */
    struct buffer frontier; /* everything before it was taken */
};

struct job { /* one request on its way */
    struct worker_task task;
    struct stream *stream;
    struct scan_request request;
    bool is_waited_for;          /* by the reader: it is the first, or the only one */
    const struct caller *reader; /* performs it by himself; NULL: a worker does */
};

int stream_open(const struct stream_source *source, const struct stream_options *options,
                const struct caller *opener, struct stream **ret)
{
    struct stream *stream = calloc(1, sizeof(*stream));
    char *table = strdup(options->table);
    if (!stream || !table || condition_init(&stream->changed) < 0) {
        free(stream);
        free(table);
        scan_destroy(options->scan);
        return -ENOMEM;
    }
    (void)pthread_mutex_init(&stream->lock, NULL);
    atomic_init(&stream->references, 1);
    stream->source = *source;
    stream->table = table;
    stream->since = options->since;
    stream->is_of_keys = options->is_of_keys;
    stream->is_eager = options->is_eager;
    stream->patience_ms = opener->patience_ms;
    stream->scan = options->scan;
    stream->asked_ms = INT64_MAX;
    if (opener->call.command)
        (void)snprintf(stream->command, sizeof(stream->command), "%s", opener->call.command);
    buffer_init(&stream->frontier, POSITION_MAX_BYTES);
    pace_init(&stream->pace);
    atomic_fetch_add(stream->source.live, 1);
    *ret = stream;
    return 0;
}

size_t stream_window_bytes(const struct stream_source *source)
{
    return MAX(source->window_bytes / (atomic_load(source->live) + 1), 1);
}

static void release(struct stream *stream)
{
    if (atomic_fetch_sub(&stream->references, 1) > 1)
        return;
    if (!stream->is_paused)
        atomic_fetch_sub(stream->source.live, 1);
    scan_destroy(stream->scan);
    buffer_finish(&stream->frontier);
    pace_finish(&stream->pace);
    (void)pthread_cond_destroy(&stream->changed);
    (void)pthread_mutex_destroy(&stream->lock);
    free(stream->table);
    free(stream);
}

void stream_unref(struct stream *stream)
{
    if (!stream)
        return;
    atomic_store(&stream->is_left, true);
    release(stream);
}

static bool is_left(const struct stream *stream)
{
    return atomic_load(&stream->is_left) || atomic_load(stream->source.is_closing);
}

/* Of a job: its stream is left; or the reader, who performs it by himself, is interrupted. */
static bool is_given_up(void *context)
{
    const struct job *job = context;
    return is_left(job->stream) || (job->reader && call_is_cancelled(&job->reader->call));
}

static void resume_locked(struct stream *stream)
{
    stream->is_paused = false;
    scan_set_window(stream->scan, stream_window_bytes(&stream->source));
    atomic_fetch_add(stream->source.live, 1);
}

/* Of keys: empty. */
static struct bytes end_of_rows(const struct scan_item *item)
{
    return item->kind == SCAN_ROWS ? page_position(item->rows.page, item->rows.end - 1)
                                   : (struct bytes){0};
}

/* What the scan has, as scan_take. */
static enum scan_state take_locked(struct stream *stream, struct scan_item *ret)
{
    enum scan_state state = scan_take(stream->scan, ret);
    if (stream->is_paused)
        resume_locked(stream);
    int64_t now_ms = clock_now_ms(stream->source.clock);
    if (state == SCAN_ITEM)
        pace_take(&stream->pace, ret->pages, end_of_rows(ret), now_ms);
    else
        pace_look(&stream->pace, now_ms);
    return state;
}

static double ahead_locked(const struct stream *stream)
{
    return scan_waiting(stream->scan) + (double)stream->in_flight;
}

static bool is_wanted_locked(struct stream *stream)
{
    int64_t now_ms = clock_now_ms(stream->source.clock);
    if (stream->is_paused || stream->is_cautious || !pace_goes_on(&stream->pace, now_ms))
        return false;
    return stream->is_eager || ahead_locked(stream) < pace_most_ahead(&stream->pace, now_ms);
}

/* What the scan asks next; what is only guessed is not, where something is in flight, and there is
 * no room for guesses or enough ahead. */
static bool ask_locked(struct stream *stream, int room, struct scan_request *ret)
{
    if (ahead_locked(stream) >= pace_wanted(&stream->pace))
        room = 0;
    if (!scan_ask(stream->scan, MAX(room, stream->in_flight == 0), ret))
        return false;
    if (ret->is_speculative && room == 0) {
        scan_give_back(stream->scan, ret->id);
        return false;
    }
    return true;
}

/* One whose reader waits has one request in flight at least, also where the window has no room: so
 * no stream starves another. */
static bool may_send_locked(struct stream *stream, bool has_room)
{
    if (is_left(stream) || stream->failure.error < 0)
        return false;
    return (stream->is_awaited && stream->in_flight == 0) || (has_room && is_wanted_locked(stream));
}

/* The next request, if one is to be sent. NULL: nothing now. */
static struct job *next_job(struct stream *stream)
{
    struct request_window *window = stream->source.window;
    int room = request_window_idle(window, true);
    bool has_room = request_window_enter(window), is_got;
    struct job *job = calloc(1, sizeof(*job));
    (void)pthread_mutex_lock(&stream->lock);
    is_got = job && may_send_locked(stream, has_room) && ask_locked(stream, room, &job->request);
    if (is_got) {
        bool is_only = stream->is_awaited && stream->in_flight == 0;
        job->is_waited_for = job->request.is_head || is_only;
        stream->in_flight++;
        stream->jobs++;
        job->stream = stream;
        atomic_fetch_add(&stream->references, 1);
    }
    (void)pthread_mutex_unlock(&stream->lock);
    if (is_got && !has_room)
        request_window_enter_anyway(window);
    if (is_got)
        return job;
    if (has_room)
        request_window_leave(window, REQUEST_OTHER, 0, 0);
    free(job);
    return NULL;
}

static void note_failure_locked(struct stream *stream, const struct failure *failure, int r,
                                bool is_waited_for)
{
    stream->is_cautious = true;
    if (!is_waited_for || stream->failure.error < 0)
        return;
    stream->failure = *failure;
    stream->failure.error = r;
}

/* Takes the answer, or the failure when r < 0. */
static void tell(struct stream *stream, const struct job *job, int r, struct answer *answer,
                 const struct seen *seen, struct call *call)
{
    (void)pthread_mutex_lock(&stream->lock);
    stream->asked_ms = MIN(stream->asked_ms, seen->asked_ms);
    stream->fetched += seen->was_fetched;
    bool is_waited_for = job->is_waited_for;
    if (r < 0) {
        scan_give_back(stream->scan, job->request.id);
    } else if ((r = scan_tell(stream->scan, job->request.id, answer)) < 0) {
        (void)call_fail(call, r, "no memory for an answer");
        is_waited_for = true; /* wherever it is */
    }
    if (r < 0)
        note_failure_locked(stream, &call->failure, r, is_waited_for);
    else
        stream->is_cautious = false;
    stream->in_flight--;
    stream->answered += r >= 0;
    stream->is_awaited = false; /* until the reader has looked again */
    (void)pthread_cond_broadcast(&stream->changed);
    (void)pthread_mutex_unlock(&stream->lock);
}

/* What is taken at once does not grow older while it waits for its reader. */
static struct question question_of(const struct job *job, bool keys_suffice)
{
    const struct stream *stream = job->stream;
    int64_t kept_ms = stream->is_eager ? stream->source.kept_ms : stream->source.kept_ms / 2;
    int64_t oldest_ms = clock_now_ms(stream->source.clock) - kept_ms;
    struct question question = {.table = stream->table,
                                .range = job->request.range,
                                .since = stream->since,
                                .keys_suffice = keys_suffice};
    question.since.asked_ms = MAX(question.since.asked_ms, oldest_ms);
    return question;
}

/* Where another scan was before, or a listing, the first page may be there. */
static int ask_rows(struct job *job, struct caller *caller, struct answer *ret,
                    struct seen *ret_seen)
{
    const struct stream *stream = job->stream;
    const struct scan_request *request = &job->request;
    struct question question = question_of(job, request->keys_only);
    struct query query = {.table = stream->table,
                          .range = request->range,
                          .after = request->after,
                          .top = request->top,
                          .keys_only = request->keys_only};
    ret->page = request->after ? NULL : overlay_known_page(stream->source.overlay, &question);
    ret_seen->was_fetched = !ret->page;
    return ret->page ? 0 : reader_query(stream->source.reader, caller, &query, ret);
}

static int ask_keys(struct job *job, struct caller *caller, struct answer *ret,
                    struct seen *ret_seen)
{
    const struct scan_request *request = &job->request;
    struct question question = question_of(job, true);
    struct ahead ahead = {.top = request->top, .keys_only = true};
    if (request->after)
        question.range.lo = continuation_position(request->after);
    return overlay_keys(job->stream->source.overlay, caller, &question, &ahead, ret, ret_seen);
}

static enum request_end judge(const struct caller *caller, int r, const struct answer *answer,
                              bool is_asked)
{
    if (caller->call.repeats > 0 || (r < 0 && caller->call.failure.is_retryable))
        return REQUEST_THROTTLED;
    return r == 0 && is_asked && page_rows(answer->page) > 0 ? REQUEST_GOOD : REQUEST_OTHER;
}

static void perform(struct job *job)
{
    struct stream *stream = job->stream;
    int64_t began_ms = clock_now_ms(stream->source.clock);
    int64_t deadline_ms =
        job->reader ? job->reader->call.deadline_ms : began_ms + stream->patience_ms;
    struct caller caller = {.call = {.deadline_ms = deadline_ms,
                                     .is_cancelled = is_given_up,
                                     .context = job,
                                     .command = stream->command},
                            .patience_ms = stream->patience_ms};
    _cleanup_(answer_finish) struct answer answer = {0};
    struct seen seen = {.asked_ms = began_ms};
    int r = stream->is_of_keys ? ask_keys(job, &caller, &answer, &seen)
                               : ask_rows(job, &caller, &answer, &seen);
    enum request_end end = judge(&caller, r, &answer, seen.was_fetched);
    tell(stream, job, r, &answer, &seen, &caller.call);
    request_window_leave(stream->source.window, end, caller_asked_ms(&caller, began_ms),
                         clock_now_ms(stream->source.clock));
}

static bool pump(struct stream *stream, const struct caller *reader);

/* Its end is told only when it has sent what it could: who waits may rely on what is in flight. */
static void finish(struct job *job)
{
    struct stream *stream = job->stream;
    (void)pthread_mutex_lock(&stream->lock);
    stream->jobs--;
    (void)pthread_cond_broadcast(&stream->changed);
    (void)pthread_mutex_unlock(&stream->lock);
    free(job);
    release(stream);
}

static void run(struct worker_task *task)
{
    struct job *job = (struct job *)task;
    perform(job);
    (void)pump(job->stream, NULL);
    finish(job);
}

/* Not sent. */
static void give_back(struct job *job)
{
    struct stream *stream = job->stream;
    (void)pthread_mutex_lock(&stream->lock);
    scan_give_back(stream->scan, job->request.id);
    stream->in_flight--;
    (void)pthread_mutex_unlock(&stream->lock);
    request_window_leave(stream->source.window, REQUEST_OTHER, 0, 0);
}

/* A reader who waits performs it by himself, on his own terms; nobody else is held up by it. */
static bool do_without_thread(struct job *job, const struct caller *reader)
{
    job->reader = reader;
    if (reader)
        perform(job);
    else
        give_back(job);
    finish(job);
    return reader;
}

/* Sends what may be sent now. `reader`: waits, or NULL. False: nothing was sent. */
static bool pump(struct stream *stream, const struct caller *reader)
{
    bool is_sent = false;
    struct job *job;
    while ((job = next_job(stream)) != NULL) {
        job->task.run = run;
        if (worker_pool_submit(stream->source.workers, &job->task) < 0)
            return do_without_thread(job, reader) || is_sent;
        is_sent = true;
    }
    return is_sent;
}

enum look { LOOK_ITEM, LOOK_END, LOOK_FAILED, LOOK_WAIT, LOOK_STUCK };

static enum look look(struct stream *stream, bool may_wait, struct scan_item *ret,
                      struct failure *ret_failure)
{
    enum look look;
    (void)pthread_mutex_lock(&stream->lock);
    enum scan_state state = take_locked(stream, ret);
    if (state == SCAN_ITEM) {
        look = LOOK_ITEM;
    } else if (state == SCAN_END) {
        look = LOOK_END;
    } else if (stream->jobs > 0) {
        look = LOOK_WAIT;
    } else {
        look = stream->failure.error < 0 ? LOOK_FAILED : LOOK_STUCK;
        *ret_failure = stream->failure;
        stream->failure.error = 0;
    }
    stream->is_awaited = may_wait && (look == LOOK_WAIT || look == LOOK_STUCK);
    (void)pthread_mutex_unlock(&stream->lock);
    return look;
}

/* One of the stream's counters. */
static size_t count(struct stream *stream, const size_t *counter)
{
    (void)pthread_mutex_lock(&stream->lock);
    size_t n = *counter;
    (void)pthread_mutex_unlock(&stream->lock);
    return n;
}

/* More answers than the reader knows of put its deadline off. */
static void note_progress(struct stream *stream, struct caller *caller, size_t *answered)
{
    size_t before = *answered;
    *answered = count(stream, &stream->answered);
    if (*answered > before)
        caller_made_progress(caller, stream->source.clock);
}

/* For a moment, or until there are such. */
static int wait_for_answer(struct stream *stream, struct caller *caller, size_t *answered)
{
    (void)pthread_mutex_lock(&stream->lock);
    if (stream->jobs > 0 && stream->answered == *answered)
        condition_wait(&stream->changed, &stream->lock);
    (void)pthread_mutex_unlock(&stream->lock);
    note_progress(stream, caller, answered);
    return call_check(&caller->call, stream->source.clock, "no answer in time");
}

static int fail_stuck(const struct stream *stream, struct caller *caller)
{
    return atomic_load(stream->source.is_closing)
               ? call_fail(&caller->call, -EINTR, "the account is closed")
               : call_fail(&caller->call, -ENOMEM, "no memory for a request");
}

static void stop_waiting(struct stream *stream)
{
    (void)pthread_mutex_lock(&stream->lock);
    stream->is_awaited = false;
    (void)pthread_mutex_unlock(&stream->lock);
}

int stream_next(struct stream *stream, struct caller *caller, bool may_wait, struct scan_item *ret)
{
    struct failure failure;
    size_t answered = count(stream, &stream->answered);
    int r = 0;
    while (r == 0) {
        enum look seen = look(stream, may_wait, ret, &failure);
        bool is_lacking = seen == LOOK_WAIT || seen == LOOK_STUCK;
        bool is_sent = seen != LOOK_FAILED && pump(stream, is_lacking && may_wait ? caller : NULL);
        if (is_lacking && !may_wait)
            return -EAGAIN;
        switch (seen) {
        case LOOK_ITEM:
            return 1;
        case LOOK_END:
            return 0;
        case LOOK_FAILED:
            caller->call.failure = failure;
            return failure.error;
        case LOOK_STUCK: /* now it was asked, or even answered */
            note_progress(stream, caller, &answered);
            r = is_sent ? 0 : fail_stuck(stream, caller);
            break;
        case LOOK_WAIT:
            r = wait_for_answer(stream, caller, &answered);
            break;
        }
    }
    stop_waiting(stream);
    return r;
}

void stream_want(struct stream *stream, size_t pages)
{
    (void)pthread_mutex_lock(&stream->lock);
    pace_want(&stream->pace, pages);
    (void)pthread_mutex_unlock(&stream->lock);
}

int64_t stream_asked_ms(struct stream *stream)
{
    int64_t now_ms = clock_now_ms(stream->source.clock);
    (void)pthread_mutex_lock(&stream->lock);
    int64_t asked_ms = MIN(stream->asked_ms, now_ms);
    (void)pthread_mutex_unlock(&stream->lock);
    return asked_ms;
}

/* To what is behind the item; NULL: the end. */
static int move_frontier(struct stream *stream, const struct scan_item *item)
{
    struct bytes last = BYTES_LITERAL("");
    if (item)
        last = item->kind == SCAN_ROWS ? page_position(item->rows.page, item->rows.end - 1)
                                       : item->key;
    buffer_clear(&stream->frontier);
    (void)buffer_append(&stream->frontier, last);
    return buffer_append_string(&stream->frontier, item ? POSITION_AFTER : POSITION_END);
}

/* Its page takes the place of the one before. 0, or -errno. */
static int pass_item(struct stream *stream, struct caller *caller, struct page **page)
{
    struct scan_item item = {0};
    int r = stream_next(stream, caller, true, &item);
    if (r < 0)
        return r;
    page_unref(*page);
    *page = item.rows.page;
    r = move_frontier(stream, r > 0 ? &item : NULL);
    return r < 0 ? call_fail(&caller->call, r, "out of memory") : 0;
}

static bool is_behind(const struct stream *stream, struct bytes position)
{
    return bytes_compare(position, buffer_bytes(&stream->frontier)) < 0;
}

int stream_reach(struct stream *stream, struct caller *caller, struct bytes position,
                 struct page **ret_page)
{
    _cleanup_(page_unrefp) struct page *page = NULL;
    int fetches = 0; /* items for which something came: what runs ahead meanwhile is no distance */
    if (is_behind(stream, position))
        return REACH_NOT;
    while (!is_behind(stream, position)) {
        size_t before = count(stream, &stream->fetched);
        if (fetches > NEAR_FETCHES)
            return REACH_NOT;
        int r = pass_item(stream, caller, &page);
        if (r < 0)
            return r;
        fetches += count(stream, &stream->fetched) > before;
    }
    *ret_page = TAKE_PTR(page);
    return REACH_IN_CACHE;
}

void stream_pause(struct stream *stream)
{
    (void)pthread_mutex_lock(&stream->lock);
    if (!stream->is_paused)
        atomic_fetch_sub(stream->source.live, 1);
    stream->is_paused = true;
    pace_pause(&stream->pace);
    (void)pthread_mutex_unlock(&stream->lock);
}

void stream_follow(struct stream *stream, struct bytes position)
{
    bool is_item = true;
    (void)pthread_mutex_lock(&stream->lock);
    pace_come(&stream->pace, position, clock_now_ms(stream->source.clock));
    (void)pthread_mutex_unlock(&stream->lock);
    while (is_item && !is_behind(stream, position)) {
        struct scan_item item = {0};
        (void)pthread_mutex_lock(&stream->lock);
        is_item = take_locked(stream, &item) == SCAN_ITEM;
        (void)pthread_mutex_unlock(&stream->lock);
        is_item = is_item && move_frontier(stream, &item) == 0;
        run_finish(&item.rows);
    }
    (void)pump(stream, NULL);
}
