/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_TRAVERSALS_H
#define CACHE_AHEAD_TRAVERSALS_H
/* The readers of processes that traverse a table, as `find`, `grep -r` and `tar` do: for each
 * (process, table) one that scans in key order, across the borders of directories. It begins at the
 * directory of the process's first cache miss. It ends when the process reads elsewhere, when it
 * was not used for end_ms, or when it was not used for TRAVERSALS_QUIET_MS and its slot is needed.
 *
 * | state of a slot | process | reader                                               |
 * | FREE            | none    | none                                                 |
 * | IDLE            | one     | that of the process; any thread may use or end it    |
 * | BUSY            | one     | that of the process; one thread uses it exclusively  |
 *
 * A thread waits while another thread of its process uses the slot. Any thread; one leaf mutex;
 * blocks for the pages that it waits for. */
#include "cache/ahead/row_reader.h"
#include "cache/known/owned_range.h"

#define TRAVERSALS_MAX      8    /* slots; the one that was not used for longest is reused */
#define TRAVERSALS_QUIET_MS 1000 /* a slot that was used within this time is not reused */

struct traversals;

/* The source outlives the traversals. end_ms: a traversal that was not used for this time ends. */
int traversals_create(const struct prefetcher_source *source, int64_t end_ms,
                      struct traversals **ret);
void traversals_destroy(struct traversals *traversals); /* takes NULL */

struct traversal_step { /* a cache miss of a process that traverses `whole` */
    const struct owned_range *whole;
    struct bytes begin;    /* range.lo of the directory that the process reads */
    struct bytes position; /* the miss in it */
    struct stamp since;    /* the oldest answer that may be used */
    bool must_fit;         /* as in row_reader_reach */
};
/* Reads up to the miss, as row_reader_reach. A new reader begins at step->begin. enum reach, or
 * -errno with the reason in caller->call. */
int traversals_reach(struct traversals *traversals, struct caller *caller,
                     const struct traversal_step *step, struct page **ret_page);
/* The process has reached the position with rows from the range cache: as row_reader_follow. */
void traversals_follow(struct traversals *traversals, uint64_t process, const char *table,
                       struct bytes position);
/* Ends the traversals that were not used for end_ms, because they hold pages. */
void traversals_end_quiet(struct traversals *traversals);

#endif
