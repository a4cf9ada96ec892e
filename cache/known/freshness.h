/* SPDX-License-Identifier: MIT */
#ifndef CACHE_KNOWN_FRESHNESS_H
#define CACHE_KNOWN_FRESHNESS_H
/* How old an answer may be, and how long the kernel may keep it.
 *
 * Normally an answer is at most ttl old. But tools list a directory first and open its files later.
 * So what a process got by listing a directory serves that process for FRESHNESS_KEPT_MS. Example:
 * ttl is 5 s. `grep -r` lists a directory and opens its last file 20 s later: it gets the file as
 * it was listed, without a request. Another process gets an answer of at most 5 s.
 *
 * For this the module remembers, for each process, which directories it listed, when, and which
 * position in them it has reached. This also shows whether a process traverses a table.
 *
 * Any thread, never blocks; one leaf mutex. Process 0 (not known) is never remembered. If memory
 * runs out, records are lost; this costs requests and nothing else.
 *
 * Bounded: the last FRESHNESS_PROCESSES processes, and for each the last 8 directories that it
 * listed and the last 8 names that it looked up. A record takes about 5 KiB with keys of ordinary
 * length, all records 5 MiB. */
#include "cache/address.h"
#include "cache/known/owned_range.h"
#include "cache/known/stamp.h"
#include "client/base/clock.h"

#define FRESHNESS_PROCESSES 1024
#define FRESHNESS_KEPT_MS   30000 /* a listing's answers serve its process for this time */
#define FRESHNESS_REPEAT_MS 100   /* a repeated lookup or listing within this time is no new one */

struct freshness;
/* The clock and the counter of stamps' orders outlive it. */
int freshness_create(int64_t ttl_ms, const struct clock *clock, _Atomic uint64_t *orders,
                     struct freshness **ret);
void freshness_destroy(struct freshness *freshness); /* takes NULL */

/* The process looks up `position`: a row, or the start of a directory (its range.lo); with table
 * NULL a table's name. Returns the limit of age: the oldest time of request of an answer that may
 * be used. It is now - ttl; with ttl 0 only answers that are requested from now on may be used.
 *
 * A listing of the process allows older answers if its directory holds the position, and one of
 * these is true:
 * - the process read the listing less than FRESHNESS_KEPT_MS ago
 * - it traverses the directory in key order, advanced less than FRESHNESS_KEPT_MS ago, and now
 *   looks up a greater position than before, or a directory on the path to the last one
 * The limit is then min(now - ttl, max(oldest answer in the listing, now - FRESHNESS_KEPT_MS)). A
 * process that listed a part of a table has also seen that the table exists.
 *
 * A listing allows no older answer for a name that the process looks up again and again, as a shell
 * does that waits in a loop for a file. Such a lookup is FRESHNESS_REPEAT_MS or more after the
 * first one of that name, with fewer than 8 other names in between. Lookups of directories on the
 * path to the last name do not count. (Other tools open a file within microseconds after its
 * lookup.)
 *
 * ret: what the listings of the process allow for the position. */
struct served {
    bool is_served;   /* a listing allows an older answer than ttl does */
    bool is_in_order; /* also, the position is greater than all that the process has looked up in
                         that directory: it reads in key order, and has passed what lies before */
};
struct stamp freshness_oldest(struct freshness *freshness, uint64_t process, const char *table,
                              struct bytes position, struct served *ret);

/* The process begins to list the directory. Returns the limit of age of the answers that the
 * listing may show: now - ttl. If the process traverses a larger directory around this one, the
 * limit is as old as the listing of the larger one, but at most FRESHNESS_KEPT_MS. It is now - ttl
 * again if the process lists the same directory FRESHNESS_REPEAT_MS or more after it first listed
 * it: a traversal lists each directory once (rm and grep open it twice within that time). */
struct stamp freshness_begin_listing(struct freshness *freshness, uint64_t process,
                                     const struct directory *directory);
/* The same for a later step of a listing. `began`: what freshness_begin_listing returned for it.
 * Returns `began`, but not older than max(FRESHNESS_KEPT_MS, ttl). */
struct stamp freshness_of_listing(const struct freshness *freshness, struct stamp began);

/* Notes that the process reads a listing of the directory. `began`: what freshness_begin_listing
 * returned for it; another `began` than before is a new listing, which replaces the one before.
 * True: the process has left the directory that it listed before, because that one does not hold
 * this one. Then the range of the former is put into ret_left (initialized). */
bool freshness_listed(struct freshness *freshness, uint64_t process,
                      const struct directory *directory, struct stamp began,
                      struct owned_range *ret_left);

/* Has the process listed the account, however long ago? This is known as long as the process has a
 * record: the account is never replaced by another directory among the last 8. */
bool freshness_has_listed_account(struct freshness *freshness, uint64_t process);

/* Is this directory one of the last 8 that the process listed? A directory with a filter is another
 * one than the directory without; which filter does not matter. */
bool freshness_has_listed(struct freshness *freshness, uint64_t process,
                          const struct directory *directory);

/* Does the process traverse this range? It does if it listed a directory with a larger range around
 * it, without a filter, and has read that listing or something below it within FRESHNESS_KEPT_MS.
 * The largest such range is put into ret_whole (initialized). */
bool freshness_traverses(struct freshness *freshness, uint64_t process, const char *table,
                         struct range range, struct owned_range *ret_whole);

/* The greatest position that the process looked up in the directory since it began to list it;
 * empty: none. */
void freshness_read_to(struct freshness *freshness, uint64_t process,
                       const struct directory *directory, struct position *ret);

/* How long the kernel may keep an answer that was requested at requested_ms. */
int64_t freshness_valid_ms(const struct freshness *freshness, int64_t requested_ms);
/* The same for entries that a listing has just shown, and for the directories on the path to them:
 * valid_ms, but at least min(FRESHNESS_REPEAT_MS, ttl), however old the answers are. Tools open the
 * entries within that time, and the kernel looks up the whole path for each of them. */
int64_t freshness_hold_ms(const struct freshness *freshness, int64_t valid_ms);

/* The time from which the age of an answer counts: when it was requested, but at most half a ttl
 * before it arrived. Else the answers of a service slower than ttl would be too old on arrival, and
 * each step of each path would be requested again. Pure. */
static inline int64_t freshness_requested_ms(int64_t requested_ms, int64_t arrived_ms,
                                             int64_t ttl_ms)
{
    return MAX(requested_ms, arrived_ms - ttl_ms / 2);
}

#endif
