#ifndef CACHE_ACCOUNT_H
#define CACHE_ACCOUNT_H
/* The account as the mount sees it. fs/ uses cache/ through this header and the headers that it
 * includes. It works with keys and pages; it knows no file names, no nodes and no FUSE.
 *
 * Any thread. A function with a caller may block for requests, up to caller->call.deadline_ms. It
 * answers 0 or -errno, and the reason of a failure is in caller->call.failure. */
#include "cache/failure_log.h"
#include "cache/listing.h"
#include "cache/write/write_rule.h"

struct account;
struct table_store;
struct clock;

struct account_options {
    int64_t ttl_ms;            /* the maximum age of an answer */
    size_t cache_bytes;        /* the maximum of the cache */
    int parallelism;           /* the maximum of scan requests in flight */
    int fanout;                /* a level with more partitions shows their prefixes */
    bool is_read_only;         /* every change is -EROFS before anything else */
    bool overwrites_conflicts; /* a store never has a precondition: the last writer wins */
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
 * range holds a row, or if it is local (account_make_directory). 0 or -ENOENT; sets
 * caller->valid_ms for both. */
int account_find_directory(struct account *account, struct caller *caller,
                           const struct directory *directory);
/* The st_ino of an entity: the number that a listing shows for it. It stays the same as long as the
 * cache holds the entity's page. */
uint64_t account_number(struct account *account, const struct entity *entity);
/* Creates a listing of the directory. Sends nothing. The caller closes it. 0 or -errno. */
int account_list(struct account *account, const struct directory *directory, struct listing **ret);

/* Changes. Each blocks up to the call's deadline, or longer for the answer to what was sent: a
 * change is not cancelled once it is sent. Afterwards account_find and listings that begin then
 * know it without a request, for ttl, as every answer. If its answer is lost for good (-ETIMEDOUT
 * and others, with call.failure.is_ambiguous), the change may have been made or not; then they ask
 * the service. */

struct edit { /* a text to be stored whole */
    struct address address;
    enum edit_begin begin;    /* EDIT_NEW, EDIT_EXCLUSIVE or EDIT_OVER */
    struct bytes text;        /* as the user wrote it: one JSON object */
    struct bytes last_stored; /* ETag of the version that this edit stored before; empty: none */
    /* The answer to an earlier store of this very text was lost for good. So if there is another
     * version now than expected, but with this text, it is that store's, and counts as stored. */
    bool may_be_stored;
};
/* Stores the text with the precondition of write_rule.h. ret: the entity as it is afterwards, with
 * its canonical text; the caller finishes it. The process counts as one that has read this version.
 *
 * -EINVAL, -EFBIG, -ENAMETOOLONG: the service would refuse the text, and nothing was sent; the
 * reason has line, column, name and limit. -ESTALE: another client has changed or deleted the
 * entity since the process read it, or since last_stored; the next store of the process overwrites.
 * -EEXIST: of EDIT_EXCLUSIVE. -ENOENT: no such table. */
int account_store(struct account *account, struct caller *caller, const struct edit *edit,
                  struct entity *ret);
/* The process opens this version for reading: a text that it stores over it later replaces this
 * version alone. */
void account_opened(struct account *account, const struct caller *caller, struct address address,
                    const struct entity *entity);

/* Deletes the entity; at once, its result is the answer. etag: of the version that was shown, not
 * empty. If another version is there, that one is read and deleted. If none is, that is done, too:
 * 0. -EBUSY: it changed, and could not be read again.
 *
 * `partition` is the directory of the entity's partition, and becomes a local directory, so that it
 * is still there when it was the last entity. `parent`: the directory that contains `partition`, by
 * the path that was used. */
int account_unlink(struct account *account, struct caller *caller, struct address address,
                   struct bytes etag, const struct directory *partition,
                   const struct directory *parent);

/* A table is created: -EEXIST; -EINVAL: the name is against the rule, which the reason tells;
 * -EBUSY: the service still deletes a table of that name, which is not waited for, because it takes
 * longer than a directory may be locked.
 *
 * A partition or a prefix of partitions becomes a local directory: it is there in this mount alone
 * until it is removed (cache/write/local_directories.h). -EEXIST; -EINVAL, -ENAMETOOLONG: no key
 * begins so; -ENOENT: no such table. It sends nothing for what a lookup has just told. `parent`:
 * the directory that contains it, by the path that was used. */
int account_make_directory(struct account *account, struct caller *caller,
                           const struct directory *directory, const struct directory *parent);
/* -ENOTEMPTY: an entity, or a local directory, is in it.
 *
 * A table is dropped. Whether it is empty is asked of the service now, and no change of this mount
 * begins in it meanwhile; an entity that another client stores after that is dropped with it. The
 * table is not seen any more until it is created again: the service may list it for a while.
 *
 * A partition or prefix is no local directory any more. It sends nothing for what a lookup has just
 * told. `parent` then becomes one,
 * so that it can be removed next. `grandparent`: the directory that contains `parent`, by the path
 * that was used; NULL where `parent` is a table, which stays by itself. */
int account_remove_directory(struct account *account, struct caller *caller,
                             const struct directory *directory, const struct directory *parent,
                             const struct directory *grandparent);

struct failure_log *account_failures(struct account *account);

/* Appends the counters of the cache and its requests in Prometheus's text format. 0 or -errno. */
int account_append_metrics(struct account *account, struct buffer *ret);

DEFINE_CLEANUP(struct account *, account_destroy);

#endif
