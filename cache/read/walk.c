#include "cache/read/walk.h"
#include "client/condition.h"

#include <pthread.h>

#define STRAYS_MAX 2 /* misses in a row that it could not serve: its process goes elsewhere */

struct walk {
    uint64_t process; /* 0: none */
    struct region where;
    struct stream *stream;
    int64_t last_ms;
    int strays;
    uint64_t turns; /* of its threads that reached something */
    bool is_busy;   /* a thread of the process is in it */
};

struct walks {
    struct stream_source source;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* one is busy no more */
    /* guarded by lock; the stream of a busy one is its thread's */
    struct walk walks[WALKS_MAX];
};

int walks_create(const struct stream_source *source, struct walks **ret)
{
    struct walks *walks = calloc(1, sizeof(*walks));
    if (!walks || condition_init(&walks->changed) < 0) {
        free(walks);
        return -ENOMEM;
    }
    (void)pthread_mutex_init(&walks->lock, NULL);
    walks->source = *source;
    for (size_t i = 0; i < WALKS_MAX; i++)
        region_init(&walks->walks[i].where);
    *ret = walks;
    return 0;
}

/* Its stream is handed out, to be let go without the lock. */
static struct stream *end_locked(struct walk *walk)
{
    region_finish(&walk->where);
    walk->process = 0;
    walk->last_ms = 0; /* its place is taken first */
    walk->turns = 0;
    return TAKE_PTR(walk->stream);
}

void walks_destroy(struct walks *walks)
{
    if (!walks)
        return;
    for (size_t i = 0; i < WALKS_MAX; i++)
        stream_unref(end_locked(&walks->walks[i]));
    (void)pthread_cond_destroy(&walks->changed);
    (void)pthread_mutex_destroy(&walks->lock);
    free(walks);
}

/* One that has gone quiet, if any. */
static struct stream *end_quiet(struct walks *walks, int64_t now_ms)
{
    struct stream *stream = NULL;
    (void)pthread_mutex_lock(&walks->lock);
    for (size_t i = 0; !stream && i < WALKS_MAX; i++) {
        struct walk *walk = &walks->walks[i];
        if (walk->process != 0 && !walk->is_busy && now_ms - walk->last_ms > STREAM_KEPT_MS)
            stream = end_locked(walk);
    }
    (void)pthread_mutex_unlock(&walks->lock);
    return stream;
}

void walks_end_quiet(struct walks *walks)
{
    int64_t now_ms = clock_now_ms(walks->source.clock);
    struct stream *stream;
    while ((stream = end_quiet(walks, now_ms)) != NULL)
        stream_unref(stream);
}

/* NULL: the process walks through no such table. */
static struct walk *find_locked(struct walks *walks, uint64_t process, const char *table)
{
    for (size_t i = 0; i < WALKS_MAX; i++) {
        struct walk *walk = &walks->walks[i];
        if (walk->process == process && walk->where.table && strcmp(walk->where.table, table) == 0)
            return walk;
    }
    return NULL;
}

/* A free place, else of one that is quiet, the longest first; NULL: none is. */
static struct walk *find_place_locked(struct walks *walks)
{
    struct walk *found = NULL;
    int64_t quiet_ms = clock_now_ms(walks->source.clock) - WALK_QUIET_MS;
    for (size_t i = 0; i < WALKS_MAX; i++) {
        struct walk *walk = &walks->walks[i];
        bool is_to_have = !walk->is_busy && (walk->process == 0 || walk->last_ms <= quiet_ms);
        if (is_to_have && (!found || walk->last_ms < found->last_ms))
            found = walk;
    }
    return found;
}

static bool goes_on_at(const struct walk *walk, struct bytes position)
{
    return walk->stream && walk->strays < STRAYS_MAX && range_holds(walk->where.range, position);
}

/* The process's walk when no other thread is in it. */
static int await_locked(struct walks *walks, struct caller *caller, const char *table,
                        struct walk **ret, bool *ret_has_waited)
{
    struct walk *walk;
    int r = 0;
    *ret_has_waited = false;
    while ((walk = find_locked(walks, caller->process, table)) && walk->is_busy && r == 0) {
        uint64_t turns = walk->turns;
        *ret_has_waited = true;
        condition_wait(&walks->changed, &walks->lock);
        if (walk->turns > turns)
            caller_made_progress(caller, walks->source.clock);
        r = call_check(&caller->call, walks->source.clock, "no answer in time");
    }
    *ret = walk;
    return r;
}

/* The process's walk, busy; its stream is NULL where it has to begin at the position. NULL: there
 * is no place for one. */
static int enter(struct walks *walks, struct caller *caller, const struct region *whole,
                 struct bytes position, struct walk **ret, bool *ret_has_waited)
{
    struct stream *left = NULL;
    struct walk *walk;
    (void)pthread_mutex_lock(&walks->lock);
    int r = await_locked(walks, caller, whole->table, &walk, ret_has_waited);
    if (r == 0 && !(walk && goes_on_at(walk, position))) {
        walk = walk ? walk : find_place_locked(walks);
        left = walk ? end_locked(walk) : NULL;
        if (walk &&
            !region_set(&walk->where, whole->table, (struct range){position, whole->range.hi}))
            walk = NULL;
    }
    if (r == 0 && walk) {
        walk->process = caller->process;
        walk->is_busy = true;
        walk->strays = walk->stream ? walk->strays : 0;
    }
    (void)pthread_mutex_unlock(&walks->lock);
    stream_unref(left);
    *ret = walk;
    return r;
}

/* r: enum reach; a failure ends it. `strays`: those up to now. */
static void leave(struct walks *walks, struct walk *walk, int r, int strays)
{
    struct stream *stream = NULL;
    (void)pthread_mutex_lock(&walks->lock);
    walk->turns += r == REACH_IN_CACHE;
    walk->is_busy = false;
    walk->last_ms = clock_now_ms(walks->source.clock);
    walk->strays = strays;
    if (r < 0)
        stream = end_locked(walk);
    (void)pthread_cond_broadcast(&walks->changed);
    (void)pthread_mutex_unlock(&walks->lock);
    stream_unref(stream);
}

static int begin(struct walks *walks, struct walk *walk, const struct caller *caller,
                 struct stamp since)
{
    struct scan_limits limits = {.page_rows = TABLE_STORE_PAGE_ROWS,
                                 .window_bytes = stream_window_bytes(&walks->source)};
    struct stream_options options = {.table = walk->where.table, .since = since};
    int r = scan_rows_create(walk->where.range, &limits, &options.scan);
    return r < 0 ? r : stream_open(&walks->source, &options, caller, &walk->stream);
}

int walks_reach(struct walks *walks, struct caller *caller, const struct region *whole,
                struct bytes position, struct stamp since, struct page **ret_page)
{
    struct walk *walk;
    bool has_waited;
    walks_end_quiet(walks);
    int r = enter(walks, caller, whole, position, &walk, &has_waited);
    if (r < 0 || !walk)
        return r < 0 ? r : REACH_NOT;
    r = walk->stream ? 0 : begin(walks, walk, caller, since);
    if (r < 0)
        (void)call_fail(&caller->call, r, "out of memory");
    else
        r = stream_reach(walk->stream, caller, position, ret_page);
    if (r == REACH_NOT && has_waited) /* another thread has passed it: no stray */
        r = REACH_IN_CACHE;
    leave(walks, walk, r, r == REACH_NOT ? walk->strays + 1 : 0);
    return caller_forgive(caller, r);
}

/* Its place is anybody's until the process comes: most that list a directory go no farther. */
static void settle_locked(struct walks *walks, struct walk *walk, uint64_t process,
                          struct region *rest, struct stream *stream)
{
    int64_t now_ms = clock_now_ms(walks->source.clock);
    *walk = (struct walk){
        .process = process, .where = *rest, .stream = stream, .last_ms = now_ms - WALK_QUIET_MS};
    region_init(rest);
}

void walks_adopt(struct walks *walks, uint64_t process, struct region *rest, struct stream *stream)
{
    struct stream *left = stream;
    stream_pause(stream);
    (void)pthread_mutex_lock(&walks->lock);
    struct walk *walk = find_locked(walks, process, rest->table);
    walk = walk ? walk : find_place_locked(walks);
    if (walk && !walk->is_busy && (walk->process == 0 || walk->process == process)) {
        left = end_locked(walk);
        settle_locked(walks, walk, process, rest, stream);
    }
    (void)pthread_mutex_unlock(&walks->lock);
    region_finish(rest);
    stream_unref(left);
}

/* The process's walk, busy, if it goes that way. */
static struct walk *enter_known(struct walks *walks, uint64_t process, const char *table,
                                struct bytes position)
{
    (void)pthread_mutex_lock(&walks->lock);
    struct walk *walk = process != 0 ? find_locked(walks, process, table) : NULL;
    if (walk && (walk->is_busy || !goes_on_at(walk, position)))
        walk = NULL;
    if (walk)
        walk->is_busy = true;
    (void)pthread_mutex_unlock(&walks->lock);
    return walk;
}

void walks_follow(struct walks *walks, uint64_t process, const char *table, struct bytes position)
{
    struct walk *walk = enter_known(walks, process, table, position);
    if (!walk)
        return;
    stream_follow(walk->stream, position);
    leave(walks, walk, REACH_IN_CACHE, walk->strays);
}
