/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_READ_AHEAD_H
#define CACHE_AHEAD_READ_AHEAD_H
/* The only module that decides what is read ahead. Lookups, listings and levels read through it. It
 * answers from the range cache what is known there. What it does on a cache miss depends on what
 * the process does:
 *
 * | the process...                       | a miss is read by                                      |
 * | opens entities by name               | one query, sized by the table's pattern (by_name.h)    |
 * | traverses a table (listed a larger   | in listings and lookups of directories: its traversal, |
 * |   directory within the last 30 s)    |   a prefetcher across directories (traversals.h)       |
 * | lists one directory                  | a query at the first miss, then the listing's own      |
 * |                                      |   prefetcher                                           |
 * | lists partitions or prefixes         | a query of rows, if rows show the names in as few      |
 * |                                      |   requests, then a scan of names (scan_level)          |
 *
 * It also marks what a process has passed, which the range cache evicts first.
 *
 * Any thread; blocks for the requests that it sends or waits for. */
#include "cache/ahead/row_reader.h"
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
    int parallelism; /* prefetchers' requests in flight for one table; for all: 4 times that */
    int fanout;      /* of levels; 0: chosen by their first rows (fanout.h) */
};
int read_ahead_create(const struct read_ahead_source *source, struct read_ahead **ret);
/* Takes NULL. No call is in progress. Cancels the requests of prefetchers that are still open. */
void read_ahead_destroy(struct read_ahead *read_ahead);

/* read_ahead_entity, read_ahead_directory and read_ahead_rows return what overlay_next returns. */

/* Looks up one entity: question->range holds only its position. is_in_order: the process reads the
 * partition in key order and has passed what lies before. */
int read_ahead_entity(struct read_ahead *read_ahead, struct caller *caller,
                      const struct question *question, bool is_in_order, struct seen *ret);
/* Looks up the first row of a directory, which shows that the directory exists; table NULL: a table
 * in the list of tables. */
int read_ahead_directory(struct read_ahead *read_ahead, struct caller *caller,
                         enum directory_kind kind, const struct question *question,
                         struct seen *ret);

struct read_cursor { /* of one listing; embedded, or on the stack, one thread at a time; private */
    struct row_reader *reader; /* NULL: none */
    enum read_kind kind;       /* of the reader */
    int64_t used_ms;           /* when the reader was used last */
    int misses;
    int top;             /* rows that the listing's own query requests */
    size_t listed_bytes; /* size of the rows that the listing has shown */
};
struct read_step { /* the next step of a listing of rows */
    const struct directory *directory;
    struct question question; /* which rows follow the last one? */
    uint64_t listed;          /* number of entries so far */
    uint64_t unopened;        /* entries of them that the process has not opened since */
};
void read_cursor_init(struct read_cursor *cursor);
void read_cursor_reset(struct read_cursor *cursor); /* the listing is rewound or closed */
/* Reads the next rows of a listing. */
int read_ahead_rows(struct read_ahead *read_ahead, struct caller *caller,
                    struct read_cursor *cursor, const struct read_step *step, struct seen *ret);
/* Notes that the listing has shown these rows as `entries` entries (partitions have many rows). */
void read_cursor_took(struct read_cursor *cursor, const struct directory *directory, size_t entries,
                      const struct seen *seen);

/* Creates a prefetcher of the names that the directory (DIRECTORY_AUTO) shows. `since`: the oldest
 * answer that it may use. */
int read_ahead_names(struct read_ahead *read_ahead, struct caller *caller,
                     const struct directory *directory, struct stamp since,
                     struct prefetcher **ret);

/* Creates a prefetcher of rows apart from the range cache. It requests all rows, so that no answer
 * is older than this call. It does not put them into the cache, because they are read once. */
struct read_ahead_apart {
    const char *table;
    struct range range;
    bool keys_only;              /* keys and ETags */
    const struct filter *filter; /* only rows that match; NULL: all */
    const char *select;          /* as in struct query: entities lack the other properties */
    bool is_kept;                /* only with a filter: rows go into the range cache nevertheless */
};
int read_ahead_apart(struct read_ahead *read_ahead, struct caller *caller,
                     const struct read_ahead_apart *apart, struct prefetcher **ret);

/* A prefetcher of the borders between `parts` parts of the range: SCAN_BORDER. Nothing of it goes
 * into the range cache either. */
int read_ahead_borders(struct read_ahead *read_ahead, struct caller *caller, const char *table,
                       struct range range, size_t parts, struct prefetcher **ret);

/* The caller's process reads a listing of the directory; `began`: as in freshness_listed. Marks
 * what the process has passed as the first to be evicted, and lets its traversal run ahead. */
void read_ahead_listed(struct read_ahead *read_ahead, const struct caller *caller,
                       const struct directory *directory, struct stamp began);
/* Ends traversals that were not used for long. Called when a listing begins. */
void read_ahead_tidy(struct read_ahead *read_ahead);

struct read_ahead_stats {
    uint64_t hits, misses; /* of lookups and steps of listings; not of scans' requests */
    struct request_window_stats window;
};
void read_ahead_stats(struct read_ahead *read_ahead, struct read_ahead_stats *ret);

DEFINE_CLEANUP(struct read_ahead *, read_ahead_destroy);

#endif
