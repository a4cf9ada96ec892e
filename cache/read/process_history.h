#ifndef CACHE_READ_PROCESS_HISTORY_H
#define CACHE_READ_PROCESS_HISTORY_H
/* What each process did here: what it listed, so that a tool that lists first and opens later is
 * served from what its listing brought; and whether it reads in key order, so that a miss asks for
 * what comes next. Bounded: the last PROCESS_HISTORY_SIZE processes, for each the last few
 * directories. Any thread, never blocks; one leaf mutex. Process 0 is never remembered. */
#include "cache/address.h"
#include "client/page.h"

#define PROCESS_HISTORY_SIZE    1024
#define PROCESS_HISTORY_KEPT_MS 30000 /* what a listing brought serves its process so long */

struct process_history;
/* max_bytes: what reading ahead may ask for at once. */
int process_history_create(int64_t ttl_ms, size_t max_bytes, struct process_history **ret);
void process_history_destroy(struct process_history *history); /* takes NULL */

/* The process reads a listing of the directory that it began at began_ms (its first READDIR). True
 * when it came from another directory, which does not hold this one: that is left behind, and its
 * table and range are appended to ret_left: table NUL lo hi, lo_size and hi_size long. */
struct left {
    struct buffer text; /* table NUL lo hi */
    size_t table_size, lo_size;
    bool has_table; /* false: the account */
};
bool process_history_listed(struct process_history *history, uint64_t process,
                            const struct directory *directory, int64_t began_ms, int64_t now_ms,
                            struct left *ret_left);

/* As of when an answer about `position` (of a row, or where a directory begins) will do for this
 * process: now - ttl; where the process has listed a range that holds it, and was reading that
 * listing within the last 30 s: min(now - ttl, max(began - ttl, now - 30 s)). But now - ttl for one
 * name that it asks for again and again (a shell in a loop): for PROCESS_HISTORY_REPEAT_MS without
 * asking for another. Tools open what they have just looked at within microseconds. */
#define PROCESS_HISTORY_REPEAT_MS 100
int64_t process_history_not_before(struct process_history *history, uint64_t process,
                                   const char *table, struct bytes position, int64_t now_ms);

struct reading { /* how a process reads a partition */
    int rows;    /* to ask for on a miss: 1 of a random open, growing where it goes in key order */
    bool is_in_order; /* it has passed what lies before */
};
/* The process asks for a row. Asking for the same again changes nothing. */
struct reading process_history_ask(struct process_history *history, uint64_t process,
                                   const char *table, struct bytes position);
/* That was a miss, and so much was read for it: a range of which nothing is asked for afterwards
 * was for nothing, and reading is taken as random again. */
void process_history_missed(struct process_history *history, uint64_t process, const char *table,
                            struct bytes position, size_t rows, size_t bytes);

DEFINE_CLEANUP(struct process_history *, process_history_destroy);

#endif
