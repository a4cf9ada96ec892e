#include "cache/read/walk.h"

#include <pthread.h>

#define STRAYS_MAX 2 /* misses in a row that it could not serve: its process goes elsewhere */

struct walk {
    uint64_t process; /* 0: none */
    struct region where;
    struct stream *stream;
    int64_t last_ms;
    int strays;
    bool is_busy; /* another thread of the process waits for it */
};

struct walks {
    struct stream_source source;
    pthread_mutex_t lock;
    /* guarded by lock; the stream of a busy one is its thread's */
    struct walk walks[WALKS_MAX];
};

int walks_create(const struct stream_source *source, struct walks **ret)
{
    struct walks *walks = calloc(1, sizeof(*walks));
    if (!walks || pthread_mutex_init(&walks->lock, NULL) != 0) {
        free(walks);
        return -ENOMEM;
    }
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
    return TAKE_PTR(walk->stream);
}

void walks_destroy(struct walks *walks)
{
    if (!walks)
        return;
    for (size_t i = 0; i < WALKS_MAX; i++)
        stream_unref(end_locked(&walks->walks[i]));
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

/* The process's, else a free one, else the one that was not used for longest; NULL: it is busy. */
static struct walk *find_locked(struct walks *walks, uint64_t process)
{
    struct walk *found = NULL;
    for (size_t i = 0; i < WALKS_MAX; i++) {
        struct walk *walk = &walks->walks[i];
        if (walk->process == process)
            return walk->is_busy ? NULL : walk;
        if (!walk->is_busy && (!found || walk->last_ms < found->last_ms))
            found = walk;
    }
    return found;
}

static bool goes_on_at(const struct walk *walk, const struct region *whole, struct bytes position)
{
    return walk->stream && walk->strays < STRAYS_MAX &&
           strcmp(walk->where.table, whole->table) == 0 && range_holds(walk->where.range, position);
}

/* The process's walk, busy; its stream is NULL where it has to begin at the position. */
static struct walk *enter(struct walks *walks, uint64_t process, const struct region *whole,
                          struct bytes position)
{
    struct stream *left = NULL;
    (void)pthread_mutex_lock(&walks->lock);
    struct walk *walk = find_locked(walks, process);
    if (walk && !(walk->process == process && goes_on_at(walk, whole, position))) {
        left = end_locked(walk);
        if (!region_set(&walk->where, whole->table, (struct range){position, whole->range.hi}))
            walk = NULL;
    }
    if (walk) {
        walk->process = process;
        walk->is_busy = true;
        walk->strays = walk->stream ? walk->strays : 0;
    }
    (void)pthread_mutex_unlock(&walks->lock);
    stream_unref(left);
    return walk;
}

static void leave(struct walks *walks, struct walk *walk, int r)
{
    struct stream *stream = NULL;
    (void)pthread_mutex_lock(&walks->lock);
    walk->is_busy = false;
    walk->last_ms = clock_now_ms(walks->source.clock);
    walk->strays = r == 0 ? walk->strays + 1 : 0;
    if (r < 0)
        stream = end_locked(walk);
    (void)pthread_mutex_unlock(&walks->lock);
    stream_unref(stream);
}

static int begin(struct walks *walks, struct walk *walk, const struct caller *caller,
                 struct stamp since)
{
    struct scan_limits limits = {.page_rows = TABLE_STORE_PAGE_ROWS,
                                 .window_bytes = stream_window_bytes(&walks->source)};
    _cleanup_(scan_destroyp) struct scan *scan = NULL;
    int r = scan_rows_create(walk->where.range, &limits, &scan);
    struct stream_options options = {.table = walk->where.table, .scan = scan, .since = since};
    if (r == 0)
        r = stream_open(&walks->source, &options, caller, &walk->stream);
    if (r == 0)
        TAKE_PTR(scan);
    return r;
}

int walks_reach(struct walks *walks, struct caller *caller, const struct region *whole,
                struct bytes position, struct stamp since, struct page **ret_page)
{
    walks_end_quiet(walks);
    struct walk *walk = enter(walks, caller->process, whole, position);
    if (!walk)
        return 0;
    int r = walk->stream ? 0 : begin(walks, walk, caller, since);
    if (r < 0)
        (void)call_fail(&caller->call, r, "out of memory");
    else
        r = stream_reach(walk->stream, caller, position, ret_page);
    leave(walks, walk, r);
    return stream_forgive(caller, r);
}

/* The process's walk, busy, if it goes that way. */
static struct walk *enter_known(struct walks *walks, uint64_t process, const char *table,
                                struct bytes position)
{
    struct region here = {.table = table};
    (void)pthread_mutex_lock(&walks->lock);
    struct walk *walk = process != 0 ? find_locked(walks, process) : NULL;
    if (walk && !(walk->process == process && goes_on_at(walk, &here, position)))
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
    leave(walks, walk, 1);
}
