#ifndef CACHE_ACCOUNT_H
#define CACHE_ACCOUNT_H
/* The account as the mount sees it. fs/ uses cache/ through this header and the headers that it
 * includes. It works with keys and pages; it knows no file names, no nodes and no FUSE.
 *
 * Any thread. A function with a caller may block for requests, up to caller->call.deadline_ms. It
 * answers 0 or -errno, and the reason of a failure is in caller->call.failure. */
#include "cache/failure_log.h"
#include "cache/listing.h"

struct account;
struct table_store;
struct clock;

struct account_options {
    int64_t ttl_ms;     /* the maximum age of an answer */
    size_t cache_bytes; /* the maximum of the cache */
    int parallelism;    /* the maximum of scan requests in flight */
    int fanout;         /* a level with more partitions shows their prefixes */
};

/* Takes the store, also on failure. The sink gets each failure that is added to the failure log. */
int account_create(struct table_store *store, const struct clock *clock,
                   const struct account_options *options, failure_sink *sink, void *sink_context,
                   struct account **ret);
/* Takes NULL. No other call may be running. A listing that is still open must not be used or closed
 * afterwards; its memory is lost. */
void account_destroy(struct account *account);

/* Finds the entity. The caller finishes ret. -ENOENT: there is none. Sets caller->valid_ms for both
 * answers. */
int account_find(struct account *account, struct caller *caller, struct address address,
                 struct entity *ret);
/* Does the directory exist? A table exists even without a row. Any other directory exists if its
 * range holds a row. 0 or -ENOENT; sets caller->valid_ms for both. */
int account_find_directory(struct account *account, struct caller *caller,
                           const struct directory *directory);
/* The st_ino of an entity: the number that a listing shows for it. It stays the same as long as the
 * cache holds the entity's page. */
uint64_t account_number(struct account *account, const struct entity *entity);
/* Creates a listing of the directory. Sends nothing. The caller closes it. 0 or -errno. */
int account_list(struct account *account, const struct directory *directory, struct listing **ret);
struct failure_log *account_failures(struct account *account);

/* Appends the counters of the cache and its requests in Prometheus's text format. 0 or -errno. */
int account_append_metrics(struct account *account, struct buffer *ret);

DEFINE_CLEANUP(struct account *, account_destroy);

#endif
