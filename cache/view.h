#ifndef CACHE_VIEW_H
#define CACHE_VIEW_H
/* What an account and its listings share: the parts that answer questions, and how fresh an answer
 * must be. Read-only once it is made, but for the counters; any thread. */
#include "cache/caller.h"
#include "cache/level_shelf.h"
#include "cache/read/process_history.h"
#include "cache/read/walk.h"

struct view {
    struct range_cache *cache;
    struct reader *reader;
    struct overlay *overlay;
    struct process_history *history;
    struct request_window *window;
    struct worker_pool *workers;
    struct walks *walks;
    struct level_shelf *shelf;
    struct stream_source streams;
    const struct clock *clock;
    int64_t ttl_ms;
    int fanout, parallelism;
    size_t cache_bytes;
    _Atomic bool is_closing;
    _Atomic size_t live_streams;
    _Atomic uint64_t hits, misses; /* questions of callers */
    _Atomic uint64_t orders;       /* of stamps */
    _Atomic uint64_t numbers;      /* the next inode number; 1 is the root's */
};

struct account_options;

/* The store outlives it. On failure as much as there is stays, for view_finish. */
int view_init(struct view *view, struct table_store *store, const struct clock *clock,
              const struct account_options *options);
void view_finish(
    struct view *view); /* nobody is inside; listings that are open send nothing more */

/* A listing goes on without texts once it has shown so much that was not opened since. */
size_t view_names_only_bytes(const struct view *view);

/* What the caller's question about a position (of a row, or where a directory begins) wants.
 * ret_is_served (or NULL): a listing of its process decides, not the ttl alone. */
struct stamp view_since(struct view *view, const struct caller *caller, const char *table,
                        struct bytes position, bool *ret_is_served);
/* What a listing of the directory wants that the caller begins now; and later: as old as what it
 * began with, but never older than 30 s. */
struct stamp view_listing_begins(struct view *view, const struct caller *caller,
                                 const struct directory *directory);
struct stamp view_listing_since(const struct view *view, struct stamp began);
/* Sets how long the kernel may keep what was asked at asked_ms. */
void view_set_valid(const struct view *view, struct caller *caller, int64_t asked_ms);
/* What a listing shows its process, and the directories that lead there, hold for everybody at
 * least as long as asking again is part of the first time (or ttl, where that is less), however old
 * they are: a tool comes to what it has listed within that, and asks for all that is on its path
 * with each file. `valid_ms`, or that. */
int64_t view_hold_for_tools(const struct view *view, int64_t valid_ms);

/* The largest range that the caller's process is walking through at the directory, if it is: into
 * ret_whole (initialized). */
bool view_find_walk(struct view *view, const struct caller *caller, const char *table,
                    struct range directory, struct region *ret_whole);
/* What a process that walks through a table misses in the directory, at `position`, is brought by
 * its walk: enum reach. */
int view_walk_to(struct view *view, struct caller *caller, struct range directory,
                 const struct question *question, struct bytes position, struct page **ret_page);
/* The same where the question misses something; REACH_NOT also where it does not. */
int view_walk(struct view *view, struct caller *caller, struct range directory,
              const struct question *question, struct page **ret_page);
/* Counts a caller's lookup, or step of a listing, once, however often it looked at the cache: a hit
 * if nothing had to be asked for it. What scans ask, also for the names of a level, is not counted.
 * `reached`: enum reach, or -errno; r and seen are overlay_next's, seen cleared before. */
void view_count(struct view *view, int reached, int r, const struct seen *seen);
/* The caller's process has come to the directory: what a walk has left behind goes first. */
void view_walk_comes_to(struct view *view, const struct caller *caller,
                        const struct directory *directory);

#endif
