/* SPDX-License-Identifier: MIT */
#include "cache/list/level.h"
#include "cache/ahead/read_ahead.h"

#include <assert.h>

/* | state    | prefetcher                         | names          |
 * | BEGUN    | none: not created yet, or given up | those so far   |
 * | SCANS    | one                                | those so far   |
 * | COMPLETE | none                               | all            | */
enum state { BEGUN, SCANS, COMPLETE };

struct level {
    const struct listing_source *source;
    const struct directory *directory;
    struct stamp began;
    enum state state;
    struct prefetcher *prefetcher;
    int64_t used_ms; /* the prefetcher */
    int64_t requested_ms;
    bool has_prefixes;
    struct level_names names;
};

static void check(const struct level *level)
{
    assert((level->state == SCANS) == (level->prefetcher != NULL));
}

int level_create(const struct listing_source *source, const struct directory *directory,
                 struct level **ret)
{
    struct level *level = calloc(1, sizeof(*level));
    if (!level)
        return -ENOMEM;
    level->source = source;
    level->directory = directory;
    level->requested_ms = INT64_MAX;
    level_names_init(&level->names);
    *ret = level;
    return 0;
}

static void end_scan(struct level *level, enum state state)
{
    prefetcher_leave(TAKE_PTR(level->prefetcher));
    level->state = state;
    check(level);
}

void level_destroy(struct level *level)
{
    if (!level)
        return;
    end_scan(level, COMPLETE);
    level_names_finish(&level->names);
    free(level);
}

void level_begin_anew(struct level *level, struct stamp began)
{
    end_scan(level, BEGUN);
    level_names_clear(&level->names);
    level->began = began;
    level->has_prefixes = false;
    level->requested_ms = INT64_MAX;
}

/* The last name that is known; false: none is. */
static bool last_name(const struct level *level, struct level_name *ret)
{
    size_t count = level_names_count(&level->names);
    if (count > 0)
        *ret = level_names_at(&level->names, count - 1);
    return count > 0;
}

/* Has an earlier prefetcher returned the name? Then it is skipped. */
static bool is_reported(const struct level *level, const struct scan_item *item)
{
    struct level_name last;
    return last_name(level, &last) && (bytes_compare(item->key, last.key) <= 0 ||
                                       (last.is_prefix && bytes_start_with(item->key, last.key)));
}

/* An earlier prefetcher has returned names that start with this prefix, before the directory grew.
 * The prefix cannot be shown, because its directory has these names again, nor be left out. */
static bool is_torn(const struct level *level, const struct scan_item *item)
{
    struct level_name last;
    if (item->kind != SCAN_PREFIX || !last_name(level, &last))
        return false;
    bool is_same = last.is_prefix && bytes_equal(item->key, last.key);
    return !is_same && bytes_start_with(last.key, item->key);
}

static int keep(struct level *level, struct caller *caller, const struct scan_item *item)
{
    struct level_name name = {item->kind == SCAN_PREFIX, item->key};
    if (is_torn(level, item))
        return call_fail(&caller->call, -ESTALE, "the directory has changed while it was listed");
    if (!is_reported(level, item) && level_names_append(&level->names, name) < 0)
        return call_fail(&caller->call, -ENOMEM, "no memory for names");
    level->has_prefixes |= name.is_prefix;
    return 1;
}

static int begin_scan(struct level *level, struct caller *caller)
{
    const struct listing_source *source = level->source;
    struct stamp since = freshness_of_listing(source->read->freshness, level->began);
    int r =
        read_ahead_names(source->read_ahead, caller, level->directory, since, &level->prefetcher);
    if (r < 0)
        return r;
    level->state = SCANS;
    level->used_ms = clock_now_ms(source->read->clock);
    check(level);
    return 0;
}

/* Takes one more name: 1. 0: no name is left. If the name cannot be stored, the scan starts again
 * and returns it again. */
static int take(struct level *level, struct caller *caller, bool may_wait)
{
    const struct clock *clock = level->source->read->clock;
    if (level->state == SCANS && clock_now_ms(clock) - level->used_ms > FRESHNESS_KEPT_MS)
        end_scan(level, BEGUN); /* the reader is slow */
    if (level->state == BEGUN && !may_wait)
        return -EAGAIN;
    int r = level->state == BEGUN ? begin_scan(level, caller) : 0;
    if (r < 0)
        return r;
    struct scan_item item;
    r = prefetcher_next(level->prefetcher, caller, may_wait, &item);
    if (r == -EAGAIN)
        return r;
    level->requested_ms = MIN(level->requested_ms, prefetcher_requested_ms(level->prefetcher));
    level->used_ms = clock_now_ms(clock); /* however long it took */
    if (r == 0)
        end_scan(level, COMPLETE);
    if (r != 1)
        return r; /* the prefetcher repeats only the request that failed */
    r = keep(level, caller, &item);
    if (r < 0)
        end_scan(level, BEGUN);
    return r;
}

int level_name(struct level *level, struct caller *caller, uint64_t index, bool may_wait,
               struct level_name *ret)
{
    while (index >= level_names_count(&level->names)) {
        int r = level->state == COMPLETE ? 0 : take(level, caller, may_wait);
        if (r <= 0)
            return r;
    }
    *ret = level_names_at(&level->names, index);
    return 1;
}

/* A partition and a prefix may have the same key. */
enum level_shows level_shows(const struct level *level, struct bytes key, bool is_prefix)
{
    const struct level_names *names = &level->names;
    size_t i = level_names_seek(names, key), count = level_names_count(names);
    bool is_around = false;
    if (is_prefix && i < count && bytes_start_with(level_names_at(names, i).key, key))
        return LEVEL_SHOWS_NAME;
    for (; i < count && bytes_equal(level_names_at(names, i).key, key); i++) {
        if (!level_names_at(names, i).is_prefix)
            return LEVEL_SHOWS_NAME;
        is_around = true;
    }
    if (!is_around && i > 0) {
        struct level_name before = level_names_at(names, i - 1);
        is_around = before.is_prefix && bytes_start_with(key, before.key);
    }
    return is_around ? LEVEL_SHOWS_PREFIX : LEVEL_SHOWS_NOTHING;
}

bool level_has_prefixes(const struct level *level)
{
    return level->has_prefixes;
}

int64_t level_requested_ms(const struct level *level)
{
    return level->requested_ms;
}
