#ifndef CACHE_VIEW_H
#define CACHE_VIEW_H
/* What an account and its listings share: the parts that answer questions, and how fresh an answer
 * must be. Filled by account, read-only afterwards but for the counters; any thread. */
#include "cache/caller.h"
#include "cache/read/overlay.h"
#include "cache/read/process_history.h"

struct view {
    struct range_cache *cache;
    struct reader *reader;
    struct overlay *overlay;
    struct process_history *history;
    const struct clock *clock;
    int64_t ttl_ms;
    size_t names_only_bytes;  /* a listing that has read so much goes on without texts */
    _Atomic uint64_t orders;  /* of stamps */
    _Atomic uint64_t numbers; /* the next inode number; 1 is the root's */
};

/* What the caller's question about a position (of a row, or where a directory begins) wants. */
struct stamp view_since(struct view *view, const struct caller *caller, const char *table,
                        struct bytes position);
/* What a listing of the directory wants that the caller begins now; and later: as old as what it
 * began with, but never older than 30 s. */
struct stamp view_listing_begins(struct view *view, const struct caller *caller,
                                 const struct directory *directory);
struct stamp view_listing_since(const struct view *view, struct stamp began);
/* Sets how long the kernel may keep what was asked at asked_ms. */
void view_set_valid(const struct view *view, struct caller *caller, int64_t asked_ms);

#endif
