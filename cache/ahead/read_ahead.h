/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_READ_AHEAD_H
#define CACHE_AHEAD_READ_AHEAD_H
/* The only place that decides what is read before it is asked for. Lookups, listings and levels
 * pass their questions through it. What the range cache knows is answered at once; for a miss it
 * turns the access pattern of the process into "fetch this much" or "take it from that prefetcher":
 *
 * | the process...                    | a miss is brought by                                     |
 * | opens entities by name            | one fetch, sized by the table's pattern (by_name.h)       |
 * | traverses a table (has listed a   | for directories and listings its traversal: a prefetcher  |
 * |   larger directory, 30 s)         |   in table order, across their borders (traversals.h)     |
 * | lists one directory               | the listing itself at first, then a prefetcher of its own |
 * | lists the partitions of a range   | rows first, where they tell the names in as few requests, |
 * |                                   |   then a scan of names (scan_level)                       |
 *
 * It also says what a process has passed, so that this is evicted first.
 *
 * Any thread; blocks for the requests that it sends or waits for. */
#include "cache/ahead/prefetcher.h"
#include "cache/known/freshness.h"
#include "client/filter/filter.h"

struct read_ahead;

struct read_ahead_source { /* outlives it */
    struct range_cache *cache;
    struct fetcher *fetcher;
    struct overlay *overlay;
    struct freshness *freshness;
    const struct clock *clock;
    int64_t ttl_ms;
    size_t cache_bytes;
    int parallelism; /* requests of prefetchers at once, of one table; of all four times as many */
    int fanout;      /* of levels; 0: by their first rows (fanout.h) */
};
int read_ahead_create(const struct read_ahead_source *source, struct read_ahead **ret);
/* Takes NULL. No call is under way; what prefetchers of open listings have in flight is cancelled.
 */
void read_ahead_destroy(struct read_ahead *read_ahead);

/* The answers of the next three are those of overlay_next. */

/* One entity: question->range is that of its position alone. is_in_order: the process has passed
 * what lies before it in the partition. */
int read_ahead_entity(struct read_ahead *read_ahead, struct caller *caller,
                      const struct question *question, bool is_in_order, struct seen *ret);
/* The first row of a directory, as a sign that the directory is there; table NULL: a table. */
int read_ahead_directory(struct read_ahead *read_ahead, struct caller *caller,
                         enum directory_kind kind, const struct question *question,
                         struct seen *ret);

struct read_cursor { /* of one listing; in its owner's memory, one thread at a time; private */
    struct prefetcher *prefetcher; /* NULL: none runs */
    enum read_kind kind;           /* of the prefetcher */
    int64_t used_ms;               /* the prefetcher */
    int misses;
    int top;             /* rows that a request of the listing itself asks for */
    size_t listed_bytes; /* of the rows that the listing has shown */
};
struct read_step { /* what a listing of rows wants next */
    const struct directory *directory;
    struct question question; /* what follows the last row */
    uint64_t listed;          /* entries so far */
    uint64_t unopened;        /* of them, not opened by the process since */
};
void read_cursor_init(struct read_cursor *cursor);
void read_cursor_reset(struct read_cursor *cursor); /* the listing begins anew, or is closed */
/* The next rows of a listing. */
int read_ahead_rows(struct read_ahead *read_ahead, struct caller *caller,
                    struct read_cursor *cursor, const struct read_step *step, struct seen *ret);
/* The listing has made `entries` entries of these rows. */
void read_cursor_took(struct read_cursor *cursor, const struct directory *directory, size_t entries,
                      const struct seen *seen);

/* A prefetcher of the names that the directory shows (DIRECTORY_AUTO), as of `since`. */
int read_ahead_names(struct read_ahead *read_ahead, struct caller *caller,
                     const struct directory *directory, struct stamp since,
                     struct prefetcher **ret);

/* A prefetcher of rows apart from the range cache: it requests all of them, so that no answer is
 * older than this call; and it takes no place there, because what it brings is read once. */
struct read_ahead_apart {
    const char *table;
    struct range range;
    bool keys_only;              /* keys and ETags */
    const struct filter *filter; /* rows that match, in the part of the range that it bounds */
    const char *select;          /* as of struct query: pages of entities that are not whole */
    bool is_kept;                /* of a filter: the rows go into the range cache nevertheless */
};
int read_ahead_apart(struct read_ahead *read_ahead, struct caller *caller,
                     const struct read_ahead_apart *apart, struct prefetcher **ret);

/* The caller's process reads a listing of the directory which began with `began`: what it has
 * passed is evicted first, and its traversal goes on. */
void read_ahead_listed(struct read_ahead *read_ahead, const struct caller *caller,
                       const struct directory *directory, struct stamp began);
/* A listing begins somewhere: traversals that are quiet for long end. */
void read_ahead_tidy(struct read_ahead *read_ahead);

struct read_ahead_stats {
    uint64_t hits, misses; /* lookups and steps of listings; not what scans ask for */
    struct request_window_stats window;
};
void read_ahead_stats(struct read_ahead *read_ahead, struct read_ahead_stats *ret);

DEFINE_CLEANUP(struct read_ahead *, read_ahead_destroy);

#endif
