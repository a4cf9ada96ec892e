/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_TRAVERSALS_H
#define CACHE_AHEAD_TRAVERSALS_H
/* The prefetchers of processes that traverse a table, as `find`, `grep -r` and `tar` do: for each
 * (process, table) one that scans in table order, across the borders of directories. It begins
 * where the process first misses something. It ends when the process goes elsewhere, or when it is
 * quiet and its place is needed.
 *
 * | state of a place | process     | prefetcher                                    |
 * | FREE             | none        | none                                          |
 * | IDLE             | traverses   | its; any thread may enter, follow or end it   |
 * | BUSY             | traverses   | its; the thread that entered has it alone     |
 *
 * Several threads of one process wait for each other. Any thread; one leaf mutex; blocks for the
 * pages that it waits for. */
#include "cache/ahead/prefetcher.h"
#include "cache/known/owned_range.h"

#define TRAVERSALS_MAX      8    /* at once; the one that is quiet for longest makes room */
#define TRAVERSALS_QUIET_MS 1000 /* one that was used since keeps its place */

struct traversals;

/* The source outlives the traversals. end_ms: one that was not used for this time is ended. */
int traversals_create(const struct prefetcher_source *source, int64_t end_ms,
                      struct traversals **ret);
void traversals_destroy(struct traversals *traversals); /* takes NULL */

struct traversal_step { /* of a process that traverses `whole` */
    const struct owned_range *whole;
    struct bytes begin;    /* of the directory that it has come to */
    struct bytes position; /* what it misses there */
    struct stamp since;
    bool must_fit; /* as prefetcher_reach */
};
/* Takes the step. enum reach, or -errno with the reason in caller->call. */
int traversals_reach(struct traversals *traversals, struct caller *caller,
                     const struct traversal_step *step, struct page **ret_page);
/* The process has come to the position by what the cache knew. As prefetcher_follow. */
void traversals_follow(struct traversals *traversals, uint64_t process, const char *table,
                       struct bytes position);
/* Ends those that were not used for end_ms: they hold pages. */
void traversals_end_quiet(struct traversals *traversals);

#endif
