#ifndef CACHE_ACCOUNT_H
#define CACHE_ACCOUNT_H
/* The account as this mount sees it: all of cache/ that fs/ knows. Keys and pages; no names, no
 * nodes, no FUSE. Any thread; functions block up to caller->call.deadline_ms. 0 or -errno, the
 * reason in caller->call.failure. */
#include "cache/failure_log.h"
#include "cache/listing.h"

struct account;
struct table_store;
struct clock;

struct account_options {
    int64_t ttl_ms;     /* how old an answer may be */
    size_t cache_bytes; /* of what was read */
    int parallelism;    /* requests of scans at once */
    int fanout; /* a directory with so many partitions lists them, with more their prefixes */
};

/* Takes the store, on failure, too. The sink is told each failure that failure_log_add is told. */
int account_create(struct table_store *store, const struct clock *clock,
                   const struct account_options *options, failure_sink *sink, void *sink_context,
                   struct account **ret);
/* Takes NULL; nobody is inside. A listing that is open afterwards may only leak. */
void account_destroy(struct account *account);

/* Says in caller->valid_ms how long its answer holds, that of -ENOENT too. */
int account_find(struct account *account, struct caller *caller, struct address address,
                 struct entity *ret);
/* Is there such a table, a partition with a row in `range`? 0 or -ENOENT; the same of valid_ms. */
int account_find_directory(struct account *account, struct caller *caller,
                           const struct directory *directory);
/* st_ino: that of its listing, as long as its page is kept */
uint64_t account_number(struct account *account, const struct entity *entity);
int account_list(struct account *account, const struct directory *directory, struct listing **ret);
struct failure_log *account_failures(struct account *account);

/* Counters of what was read, in Prometheus's text format. */
int account_append_metrics(struct account *account, struct buffer *ret);

DEFINE_CLEANUP(struct account *, account_destroy);

#endif
