/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_PREFETCHER_H
#define CACHE_AHEAD_PREFETCHER_H
/* A scan that runs ahead of its consumer. Workers send its requests; the consumer takes the items
 * in key order, or waits for them. Pages of rows go into the range cache as they arrive, and what
 * is known there is not requested; but not those of a scan that is apart from the cache.
 *
 * How far it runs ahead: none before the consumer took its second page; then, like TCP's slow
 * start, 2 pages and one more for each page that was taken, so that a consumer that stops has at
 * most doubled its pages; never more than one and a half times what the consumer has asked for, and
 * never more bytes than half of the share of the cache that all prefetchers of rows divide (apart
 * from the cache: than that share). Fewer pages would not do: a scan splits a large partition into
 * pieces as large as the bytes allow, and the pages of the later pieces wait while the first one is
 * read. The request window (request_window.h) limits what all of a table have in flight, but for
 * what a consumer waits for.
 *
 * With a filter it asks for all that the bytes allow while its consumer waits: pages have few rows
 * then, or none, and the rows that are waited for may be many requests away.
 *
 * A traversal holds what its consumer has taken and not passed (held_pages.h). So what it lists is
 * still there when it comes to visit it; and it runs ahead only as far as there is room beside it.
 *
 * A failure is returned when everything before it was taken; the next call tries again from there.
 * One that is older than a second is not returned: its request is sent again.
 * A failure farther ahead (of a throttled partition, say) is not returned: it ends reading ahead
 * until the next answer, and its request is sent again when the consumer needs it.
 *
 * Without memory for a thread the consumer sends the request that it needs by itself, and nothing
 * is read ahead. It does so, too, where its own requests ahead leave no room.
 *
 * Any thread, but one consumer at a time; one leaf mutex, under it only scan code runs. Counted by
 * references: the consumer's, and one for each request in flight. */
#include "cache/ahead/read_kind.h"
#include "cache/ahead/request_slot.h"
#include "cache/ahead/worker_pool.h"
#include "cache/queue/overlay.h"
#include "cache/scan/scan.h"

#define PREFETCHER_COMMAND_SIZE 16

struct prefetcher;

struct prefetcher_source { /* outlives its prefetchers */
    struct fetcher *fetcher;
    struct overlay *overlay;
    struct worker_pool *workers;
    struct request_window *window;
    const struct clock *clock;
    int64_t kept_ms;      /* an answer serves for this time; half of it where it may have to wait
                             for the consumer */
    size_t ahead_bytes;   /* of one prefetcher alone: what it holds, and what is ahead; each of two
                             has half of it */
    _Atomic size_t *live; /* how many prefetchers there are, beside those of names */
    const _Atomic bool *is_closing; /* then nothing is sent any more, what is in flight ends */
};

struct prefetcher_options {
    enum read_kind kind;
    const char *table;
    struct range range; /* of READ_LEVEL: that of all keys that start with the prefix range.lo */
    struct stamp since; /* the oldest answer that may be used where it is known already */
    int fanout;         /* of READ_LEVEL: of more partitions it reads the prefixes */
    size_t ahead_bytes; /* it may run ahead so far, where its share is larger; 0: its share */
    bool is_apart;      /* of rows: everything is requested, and nothing goes into the cache */
    /* Of rows, as of struct query, copied; select: of rows apart. With a filter the scan is
     * scan_filtered, and everything is requested. */
    const char *filter, *select;
    bool is_traversal; /* of rows: they are listed first and visited later, so what was taken is
                          held; of names: rows tell most of them, so little is guessed */
};

/* Sends nothing. Its requests count for the opener's command and have the opener's patience each.
 * 0, or -errno with the reason in opener->call. */
int prefetcher_create(const struct prefetcher_source *source,
                      const struct prefetcher_options *options, struct caller *opener,
                      struct prefetcher **ret);
/* The consumer leaves: what is in flight is cancelled. Takes NULL. */
void prefetcher_leave(struct prefetcher *prefetcher);
/* How many more pages the consumer expects to take. It may take fewer or more. */
void prefetcher_want(struct prefetcher *prefetcher, size_t pages);

/* When the oldest answer so far was asked for, at the latest now. */
int64_t prefetcher_requested_ms(struct prefetcher *prefetcher);
/* 1: the next item (its rows are the caller's to finish; its key is valid until the next call).
 * 0: the end. -EAGAIN: it is not there yet, and may_wait is false; it was requested as far as the
 * prefetcher may run ahead (before the second page only an eager one does). Else -errno, the reason
 * in caller->call. */
int prefetcher_next(struct prefetcher *prefetcher, struct caller *caller, bool may_wait,
                    struct scan_item *ret);

/* NOT: the caller has to ask for the position by itself. IN_CACHE: it has arrived; look again, as
 * long as ret_page is held (NULL: another thread took it, and it may be evicted already). FULL: it
 * does not fit beside what is held. */
enum reach { REACH_NOT, REACH_IN_CACHE, REACH_FULL };
/* Of rows: takes items until the one at `position` was taken. must_fit: none that does not fit
 * beside what is held; else the first pages that are held are given up. REACH_NOT: the position was
 * passed already, or is too far ahead. enum reach, or -errno with the reason in caller->call. */
int prefetcher_reach(struct prefetcher *prefetcher, struct caller *caller, struct bytes position,
                     bool must_fit, struct page **ret_page);
/* The consumer has come to `position` by what the cache knew: takes what has arrived before it, no
 * longer holds what lies before it, and sends what may be sent then. Never blocks. */
void prefetcher_follow(struct prefetcher *prefetcher, struct bytes position);

DEFINE_CLEANUP(struct prefetcher *, prefetcher_leave);

#endif
