/* SPDX-License-Identifier: MIT */
#ifndef CACHE_AHEAD_PREFETCHER_H
#define CACHE_AHEAD_PREFETCHER_H
/* A scan that runs ahead of its consumer. Worker threads send its requests; the consumer takes the
 * items in key order, and waits if the next one has not arrived. Pages of rows go into the range
 * cache as they arrive, and pages that the cache has already are not requested. A scan apart from
 * the cache (is_apart) does neither.
 *
 * How far it runs ahead of the consumer:
 * - Not at all before the consumer has taken its second page. Then, like TCP's slow start, 2 pages
 *   and one more for each page taken: if the consumer stops, about half of the pages were in vain.
 * - At most the pages of prefetcher_want.
 * - At most half of its share of the cache, in bytes (apart from the cache: the whole share). All
 *   prefetchers of rows have equal shares. The limit must be this large: a scan splits a large
 *   partition into pieces, and pages of later pieces wait until the first piece is taken.
 * - The request window (request_window.h) limits the requests in flight of all prefetchers of a
 *   table. It does not delay a request that a consumer waits for.
 * - With a filter, pages have few rows or none, and the next row may be many requests away. So
 *   while the consumer waits, only the limit of bytes and the window apply.
 *
 * Failures. If the request for the next item fails, prefetcher_next returns the failure once
 * everything before it was taken; its next call sends the request again. A failure older than a
 * second is not returned: the request is sent again at once. If a request farther ahead fails, for
 * example because its partition is throttled, the consumer does not get the failure: the prefetcher
 * does not run ahead until its next answer, and sends that request again when the consumer needs
 * it. The same happens if the request for the next item is throttled (HTTP 503 or 429) until its
 * deadline while others are answered: the consumer fails when its patience_ms have passed without
 * any answer.
 *
 * The consumer's thread sends the request that it needs itself if no worker thread can be created
 * (then nothing is read ahead), or if requests ahead leave no room in the window.
 *
 * Any thread, but one consumer at a time; one leaf mutex, under which only scan code runs.
 * Reference-counted: the consumer has a reference, and so has each request in flight. */
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
    int64_t kept_ms;      /* maximum age of a known answer that is used instead of a request; half
                             of it, except for READ_LEVEL, since it may wait for the consumer */
    size_t ahead_bytes;   /* that all prefetchers of rows share: held pages and pages ahead */
    _Atomic size_t *live; /* the number of prefetchers that share it: all but those of READ_LEVEL */
    const _Atomic bool *is_closing; /* true: nothing is sent, requests in flight are cancelled */
};

struct prefetcher_options {
    enum read_kind kind;
    const char *table;
    struct range range; /* READ_LEVEL: of all keys that start with the prefix range.lo */
    struct stamp since; /* the oldest known answer that may be used instead of a request */
    int fanout;         /* READ_LEVEL: if there are more partitions, it reads their prefixes */
    size_t parts;       /* READ_BORDERS */
    size_t ahead_bytes; /* limit of the bytes ahead, if below what its share allows; 0: none */
    bool is_apart;      /* requests everything, puts nothing into the cache; not for READ_LEVEL and
                           READ_PARTITIONS */
    /* READ_ROWS, READ_KEYS: as in struct query, copied; select: only if is_apart. With a filter the
     * scan is scan_filtered, and everything is requested. */
    const char *filter, *select;
    bool is_traversal; /* READ_ROWS: row_reader.h; READ_LEVEL: rows show most of the names, so few
                          guesses are sent */
};

/* Sends nothing. Its requests are counted for the opener's command, and each may take the opener's
 * patience_ms. 0, or -errno with the reason in opener->call. */
int prefetcher_create(const struct prefetcher_source *source,
                      const struct prefetcher_options *options, struct caller *opener,
                      struct prefetcher **ret);
/* The consumer's reference ends: requests in flight are cancelled. Takes NULL. */
void prefetcher_leave(struct prefetcher *prefetcher);
/* How many more pages the consumer expects to take. It may take fewer or more. */
void prefetcher_want(struct prefetcher *prefetcher, size_t pages);

/* When the oldest answer so far was requested; now if there is none. */
int64_t prefetcher_requested_ms(struct prefetcher *prefetcher);
/* 1: the next item (the caller finishes its rows; its key is valid until the next call). 0: the
 * end. -EAGAIN: it has not arrived, and may_wait is false; requests were sent as far as the
 * prefetcher may run ahead (before the second page only READ_LEVEL sends any). Else -errno with the
 * reason in caller->call. */
int prefetcher_next(struct prefetcher *prefetcher, struct caller *caller, bool may_wait,
                    struct scan_item *ret);

/* The next item, if it has arrived; the caller finishes it as above. Sends nothing. */
bool prefetcher_take(struct prefetcher *prefetcher, struct scan_item *ret);
/* Sends what may be sent now. */
void prefetcher_run_ahead(struct prefetcher *prefetcher);
/* How many requests were answered so far, without those that known pages answered. */
size_t prefetcher_fetched(const struct prefetcher *prefetcher);

/* The prefetcher's share of the cache now. It runs ahead only in the room left by the taken pages
 * that the consumer holds, in bytes. */
size_t prefetcher_share_bytes(const struct prefetcher *prefetcher);
void prefetcher_set_held(struct prefetcher *prefetcher, size_t bytes);

DEFINE_CLEANUP(struct prefetcher *, prefetcher_leave);

#endif
