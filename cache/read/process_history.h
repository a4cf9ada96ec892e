#ifndef CACHE_READ_PROCESS_HISTORY_H
#define CACHE_READ_PROCESS_HISTORY_H
/* What each process did here: what it listed, so that a tool that lists first and opens later is
 * served from what its listing brought; and whether it reads in key order, so that a miss asks for
 * what comes next. Any thread, never blocks; one leaf mutex. Process 0 is never remembered; nor is
 * what there is no memory for, which costs requests and nothing else.
 *
 * Bounded: the last PROCESS_HISTORY_SIZE processes, for each the last 8 directories that it listed
 * and how far it came in them, the last 4 partitions and 4 tables that it reads in, and its last
 * question. Each of the 33 is a position or two, 16 KiB at most; with keys of ordinary length some
 * 100 bytes: 5 KiB a process, 5 MiB in all. */
#include "cache/address.h"
#include "cache/read/passages.h"
#include "client/page.h"

#define PROCESS_HISTORY_SIZE      1024
#define PROCESS_HISTORY_KEPT_MS   30000 /* what a listing brought serves its process so long */
#define PROCESS_HISTORY_REPEAT_MS 100   /* asking again within that is part of the first time */

struct process_history;
/* max_bytes: what reading ahead may ask for at once. */
int process_history_create(int64_t ttl_ms, size_t max_bytes, struct process_history **ret);
void process_history_destroy(struct process_history *history); /* takes NULL */

/* The process reads a listing of the directory that it began at began_ms (its first READDIR); one
 * of the same directory that began at another time is forgotten. True when the process listed
 * another directory last, which does not hold this one: that is left behind, and is put into
 * ret_left (initialized). */
bool process_history_listed(struct process_history *history, uint64_t process,
                            const struct directory *directory, int64_t began_ms, int64_t now_ms,
                            struct region *ret_left);

/* As of when what a listing shows will do that the process begins now: now - ttl; in the midst of a
 * walk, where the listing of what holds the directory would serve it, as old as that. But now - ttl
 * for a directory that it lists again, PROCESS_HISTORY_REPEAT_MS or more after it began to: a walk
 * comes to each once (rm and grep open it twice, at once). ret_is_served: a listing decides, not
 * the time alone: what it asked for in this very millisecond will do, too. */
int64_t process_history_listing_not_before(struct process_history *history, uint64_t process,
                                           const struct directory *directory, int64_t now_ms,
                                           bool *ret_is_served);

/* Does the process walk here: has it listed a larger range that holds this one, and read there or
 * below within the last 30 s? The largest such is put into ret_whole (initialized). */
bool process_history_walks(struct process_history *history, uint64_t process, const char *table,
                           struct range range, int64_t now_ms, struct region *ret_whole);

/* As of when an answer about `position` (of a row, or where a directory begins; with table NULL a
 * table's name) will do for this process: now - ttl; where the process has listed what holds it,
 * and was reading that listing less than 30 s ago, or walks through it in key order and comes
 * there: min(now - ttl, max(began - ttl, now - 30 s)), of several listings the least. Whoever has
 * listed something of a table has seen that table.
 *
 * But now - ttl for a name that it asks for again and again (a shell in a loop waits for some
 * files): PROCESS_HISTORY_REPEAT_MS after it asked first and later, while it asks for fewer than 8
 * others in between, not counting the table and the directories that lead to the last of them, or
 * to what it has listed since. Tools open what they have just looked at within microseconds, and go
 * on to the next. ret_is_served: as above. */
int64_t process_history_not_before(struct process_history *history, uint64_t process,
                                   const char *table, struct bytes position, int64_t now_ms,
                                   bool *ret_is_served);

struct reading { /* how a process reads a partition */
    int rows; /* to ask for on a miss: 1 of a random open, growing where it goes in key order, some
                 where it has come from partition to partition so */
    bool is_in_order; /* it has passed what lies before */
};
/* The process asks for a row. Asking for the same again changes nothing. Processes that have no
 * order of their own may have one together: a program that is started for each file. */
struct reading process_history_ask(struct process_history *history, uint64_t process,
                                   const char *table, struct bytes position);
/* The process comes to a partition, which begins there: so many rows a miss asks for, of this and
 * the next ones, where it, or newcomers like it, reads in one after the other in key order. 0: not
 * so. */
int process_history_ahead(struct process_history *history, uint64_t process, const char *table,
                          struct bytes position);
/* Where in the range the process last asked for a row, if it does so in key order: into ret
 * (cleared first). False: nowhere. */
bool process_history_reads_at(struct process_history *history, uint64_t process, const char *table,
                              struct range range, struct buffer *ret_position);
/* That was a miss, and so much was read for it: a range of which nothing is asked for afterwards
 * was for nothing, and reading is taken as random again. */
void process_history_missed(struct process_history *history, uint64_t process, enum way way,
                            const char *table, struct bytes position, size_t rows, size_t bytes);

DEFINE_CLEANUP(struct process_history *, process_history_destroy);

#endif
