/* SPDX-License-Identifier: MIT */
#ifndef CACHE_KNOWN_FRESHNESS_H
#define CACHE_KNOWN_FRESHNESS_H
/* How old an answer may be, and how long the kernel may keep it.
 *
 * An answer is at most ttl old. But a tool lists first and opens later, so what a process listed
 * serves that process for FRESHNESS_KEPT_MS. For this the module remembers which directories each
 * process listed, when, and how far the process came in them. The record also tells whether a
 * process traverses a table.
 *
 * Any thread, never blocks; one leaf mutex. Process 0 is never remembered. What there is no memory
 * for is forgotten, which costs requests and nothing else.
 *
 * Bounded: the last FRESHNESS_PROCESSES processes; of each the last 8 directories that it listed
 * and the last 8 names that it asked for. A process takes about 5 KiB with keys of ordinary
 * length, 5 MiB in all. */
#include "cache/address.h"
#include "cache/known/owned_range.h"
#include "cache/known/stamp.h"
#include "client/base/clock.h"

#define FRESHNESS_PROCESSES 1024
#define FRESHNESS_KEPT_MS   30000 /* what a listing brought serves its process for this time */
#define FRESHNESS_REPEAT_MS 100   /* asking again within this time is part of the first question */

struct freshness;
/* The clock and the counter of stamps' orders outlive it. */
int freshness_create(int64_t ttl_ms, const struct clock *clock, _Atomic uint64_t *orders,
                     struct freshness **ret);
void freshness_destroy(struct freshness *freshness); /* takes NULL */

/* The oldest answer about `position` (a row, or the begin of a directory; with table NULL a
 * table's name) that the process may get: now - ttl, with ttl 0 from now on.
 *
 * Older answers serve a process that has listed a directory which holds the position, and either
 * reads that listing since less than FRESHNESS_KEPT_MS, or traverses it in key order and comes to
 * the position now. Then it is min(now - ttl, max(oldest of the listing, now - FRESHNESS_KEPT_MS)).
 * A process that has listed something of a table has also seen that table.
 *
 * But now - ttl holds for a name that the process asks for again and again, such as a shell that
 * waits in a loop for a file: it asks FRESHNESS_REPEAT_MS or more after its first question, and
 * asks for fewer than 8 other names in between. Directories on the path to the last name do not
 * count. Tools open what they have just looked at within microseconds and go on to the next.
 *
 * ret: what the listings of the process say of the position. */
struct served {
    bool is_served;   /* a listing of the process decides, not ttl alone */
    bool is_in_order; /* the process goes through that listing in key order, and has passed what
                         lies before the position */
};
struct stamp freshness_oldest(struct freshness *freshness, uint64_t process, const char *table,
                              struct bytes position, struct served *ret);

/* The process begins to list the directory: the oldest answer that the listing may show. now - ttl;
 * for a process that traverses here as old as the listing of the directory above. But now - ttl
 * for a directory that the process lists again FRESHNESS_REPEAT_MS or more after it began to: a
 * traversal comes to each directory once (rm and grep open it twice, at once). */
struct stamp freshness_begin_listing(struct freshness *freshness, uint64_t process,
                                     const struct directory *directory);
/* The same for a later step of a listing that began with `began`: as old as that, but never older
 * than FRESHNESS_KEPT_MS (or ttl, where that is more). */
struct stamp freshness_of_listing(const struct freshness *freshness, struct stamp began);

/* The process reads a listing of the directory which began with `began`. A listing of the same
 * directory that began with another stamp is forgotten. True where the process listed another
 * directory last, and that one does not hold this one: the process has left it, and its range is
 * put into ret_left (initialized). */
bool freshness_listed(struct freshness *freshness, uint64_t process,
                      const struct directory *directory, struct stamp began,
                      struct owned_range *ret_left);

/* Has the process listed the account, however long ago? It is known as long as the process is
 * remembered at all: no other directory takes the account's place. */
bool freshness_has_listed_account(struct freshness *freshness, uint64_t process);

/* Has the process listed this directory? Of the directories that it listed last. With a filter and
 * without one it is not the same; all filters of a directory are one. */
bool freshness_has_listed(struct freshness *freshness, uint64_t process,
                          const struct directory *directory);

/* Does the process traverse here? It does if it has listed a larger range that holds this one, not
 * through a filter, and has read there or below within FRESHNESS_KEPT_MS. The largest such range is
 * put into ret_whole (initialized). */
bool freshness_traverses(struct freshness *freshness, uint64_t process, const char *table,
                         struct range range, struct owned_range *ret_whole);

/* The greatest position that the process has asked for in the directory since it began to list it,
 * into ret (cleared first; empty: none). 0 or -ENOMEM. */
int freshness_read_to(struct freshness *freshness, uint64_t process,
                      const struct directory *directory, struct buffer *ret);

/* How long the kernel may keep an answer that was asked for at requested_ms. */
int64_t freshness_valid_ms(const struct freshness *freshness, int64_t requested_ms);
/* The same for what a listing has just shown, and for the directories on the path to it: at least
 * FRESHNESS_REPEAT_MS (or ttl, where that is less), however old they are. A tool comes to what it
 * has listed within that time, and asks for all that is on its path with each file. */
int64_t freshness_hold_ms(const struct freshness *freshness, int64_t valid_ms);

/* As of when an answer counts: since it was asked for. Where the service took longer than half a
 * ttl, since half a ttl before its arrival: else a service slower than ttl would be asked again for
 * every step of every path. Pure. */
static inline int64_t freshness_requested_ms(int64_t requested_ms, int64_t arrived_ms,
                                             int64_t ttl_ms)
{
    return MAX(requested_ms, arrived_ms - ttl_ms / 2);
}

#endif
