/* SPDX-License-Identifier: MIT */
#ifndef CACHE_ACCOUNT_H
#define CACHE_ACCOUNT_H
/* The account as the mount sees it. fs/ uses cache/ through this header and the headers that it
 * includes. It works with keys and pages; it knows no file names, no nodes and no FUSE.
 *
 * Any thread. A function with a caller may block for requests until caller->call.deadline_ms. Each
 * answered page moves that deadline later, to caller->end_ms at most. The function returns 0 or
 * -errno; the reason of a failure is in caller->call.failure. */
#include "cache/bulk/import.h"
#include "cache/bulk/judge.h"
#include "cache/bulk/row_stream.h"
#include "cache/bulk/sync.h"
#include "cache/bulk/table_map.h"
#include "cache/change/write_rule.h"
#include "cache/failure_log.h"
#include "cache/list/listing.h"
#include "cache/queue/pending_texts.h"

struct account;
struct table_store;
struct clock;

/* A queued change that failed, or that was not sent before the end. The strings are valid during
 * the call. */
struct lost_change {
    struct address address;
    bool is_delete;
    bool is_abandoned; /* given up at the end of the mount: the service may have it or not */
    struct bytes text; /* the canonical text to be stored; empty if is_delete */
    const struct failure *failure;
};
/* Called by a thread of the queue, without a lock, before any drain reports the failure. */
typedef void lost_change_sink(void *context, const struct lost_change *lost);

/* The hold of the table has ended because the queue has no room for more held deletes
 * (pending_hold.h). Called once for each such hold, by any thread. */
typedef void no_room_sink(void *context, const char *table);

struct account_options {
    int64_t ttl_ms;            /* the maximum age of an answer */
    size_t cache_bytes;        /* the maximum of the cache */
    int parallelism;           /* the maximum of scan requests in flight */
    int fanout;                /* a level with more partitions lists prefixes instead; 0: the
                                  level's first rows decide (cache/ahead/fanout.h) */
    bool is_read_only;         /* every change returns -EROFS and does nothing */
    bool overwrites_conflicts; /* a store never has a precondition: the last writer wins */
    bool is_write_back;        /* not only deletes are queued, but texts, too: account_store */
    size_t pending_bytes;      /* the maximum of queued changes and reserved texts together */
    int64_t timeout_ms;        /* of a request that the queue sends, with its retries */
    bool never_drops_rows;     /* a table is removed only when it is empty */
    lost_change_sink *lost;    /* may be NULL */
    void *lost_context;
    no_room_sink *no_room; /* may be NULL */
    void *no_room_context;
};

/* Takes ownership of the store, also on failure. The sink gets each failure that is added to the
 * failure log. */
int account_create(struct table_store *store, const struct clock *clock,
                   const struct account_options *options, failure_sink *sink, void *sink_context,
                   struct account **ret);
/* Takes NULL. No other call may be running. A listing that is still open must not be used or
 * closed afterwards; its memory leaks. */
void account_destroy(struct account *account);

/* Finds the entity. The caller finishes ret. -ENOENT: it does not exist. Sets caller->valid_ms also
 * for -ENOENT. */
int account_find(struct account *account, struct caller *caller, struct address address,
                 struct entity *ret);
/* Checks that the entity can be shown, that is, it is no bad row (page.h): 0; -EIO with the reason;
 * -ENOMEM. Sends nothing. */
int account_check_readable(struct caller *caller, const struct entity *entity);
/* Is the entity known to exist? Sends nothing. */
bool account_knows(struct account *account, struct address address);
/* Does the directory exist? A table exists even without a row. Any other directory exists if its
 * range holds a row or a local directory, or if it is local itself (account_make_directory). 0 or
 * -ENOENT; sets caller->valid_ms also for -ENOENT. */
int account_find_directory(struct account *account, struct caller *caller,
                           const struct directory *directory);
/* Sends the texts that are queued in the directory. Called before a listing with a filter begins:
 * the service evaluates the filter, so it must have the texts. 0, also if storing one of them
 * failed; -errno: they are not sent yet. */
int account_send_texts(struct account *account, struct caller *caller,
                       const struct directory *directory);
/* Creates a listing of the directory. Sends nothing. The caller closes it. 0 or -errno. */
int account_list(struct account *account, const struct directory *directory, struct listing **ret);

/* Reserves memory for the text of a file that is open for writing, within pending_bytes
 * (cache/queue/pending_room.h). The text has `own` bytes and needs `more`. 0; or -ENOSPC, -EINTR,
 * -ETIMEDOUT and others with the reason. Waits for room, as queueing a change does. */
int account_reserve(struct account *account, struct caller *caller, size_t own, size_t more);
/* The text needs `after` bytes in place of `before`. Never waits. */
void account_set_reserved(struct account *account, size_t before, size_t after);

/* Changes. Each blocks up to the call's deadline. Once its request is sent, a change is not
 * cancelled: it waits for the answer, perhaps beyond the deadline. Afterwards account_find and new
 * listings show its result without a request, for ttl, like that of any request. (For one of many
 * deleted entities a request may be sent earlier: range_cache_put_gone.) If the answer is lost for
 * good (-ETIMEDOUT and others, with call.failure.is_ambiguous), the change may have been made or
 * not; then account_find and listings query the service. */

struct edit { /* a text to be stored */
    struct address address;
    enum edit_begin begin;
    struct bytes text;        /* as the user wrote it: one JSON object; appended: one or several */
    struct bytes snapshot;    /* ETag of the version that was opened; used for EDIT_CHANGED only */
    struct bytes last_stored; /* ETag of the version that this edit stored before; empty: none */
    /* Learns the ETag of a text that this edit has queued, or that was queued when the file was
     * opened; NULL: no such text. If that text was refused, the store returns -ESTALE. */
    const struct later_etag *queued;
    /* The text is {} because a new file was never written. A masked entity is not replaced by such
     * a text: the mask ends, the entity is visible again, and the store has succeeded. */
    bool is_blank;
    /* The edit's own text was read through a handle. Else, unless the process has read an older
     * version or begin is EDIT_CHANGED, the edit also replaces what this mount stored after
     * last_stored. */
    bool was_read;
};
/* Stores the text with the precondition that write_rule.h chooses. ret: the entity as it is
 * afterwards, with its canonical text; the caller finishes it. If the process had read the entity,
 * it counts as having read this new version. If it only writes, its next text has no precondition
 * either: the last text wins.
 *
 * EDIT_APPENDED: the text is merged into the stored entity. If another client changes the entity
 * first, the merge is repeated with the new version: it overwrites no change, and is not refused
 * for one. Properties that the text does not name stay. -EIO: the stored entity cannot be read;
 * -EINVAL: the stored entity has a value that would be refused; it stays as it is.
 *
 * -EINVAL, -EFBIG, -ENAMETOOLONG: the service would refuse the text, and nothing was sent; the
 * reason has line, column, name and limit. -ESTALE: another client has changed or deleted the
 * entity since the process read it, or since last_stored or snapshot. After that error the next
 * store of a process that had read it overwrites. -EEXIST: of EDIT_EXCLUSIVE. -ENOENT: no such
 * table.
 *
 * With write-back the text is checked and queued: 0, and ret has no ETag. It is sent in a batch
 * within a second or so; readers see it as if it were stored. A later failure is reported to the
 * sink, and after -ESTALE the next store of the process overwrites, too. Some texts are stored at
 * once even so: an appended one, one over a masked entity, the {} of a blank file, and one of an
 * edit that has stored before (last_stored, queued). So after a text was queued, the
 * caller sets edit.queued for the next one, to what learns the first one's ETag (page_later_etag).
 */
int account_store(struct account *account, struct caller *caller, const struct edit *edit,
                  struct entity *ret);
/* Makes the service set a new Timestamp, and changes nothing else: it stores the entity's present
 * text again. ret: the entity as it is afterwards; the caller finishes it. The caller knows a
 * version of the entity by its ETag: `known`, or the one that `queued` learns; with neither, any
 * version is fine. If the service had another version, that one is touched, and ret has no page: so
 * a later store does not take it for the known version. -ENOENT: the entity does not exist. -EINVAL
 * and others: its text would be refused if it were written; -EIO: it cannot be read. In these two
 * cases nothing was sent. */
int account_touch(struct account *account, struct caller *caller, struct address address,
                  struct bytes known, const struct later_etag *queued, struct entity *ret);
/* The process opens this version for reading: a text that it stores later replaces this version
 * only, and no newer one. */
void account_opened(struct account *account, const struct caller *caller, struct address address,
                    const struct entity *entity);

/* Notes that the process uses a directory by this path: it looks up the directory or a name in it,
 * makes it, lists it, or opens or creates a file in it. Only directories of partitions are noted.
 * Afterwards, if this process deletes in the same partition by another path, account_unlink and
 * account_rename (to another partition) return -EBUSY (cache/who/path_aliases.h). Sends nothing. */
void account_use_path(struct account *account, const struct caller *caller,
                      const struct directory_path *path);

/* Deletes the entity, now or later (delete_policy.h). etag: the version that the user saw.
 *
 * Now: the delete is sent, and the function returns its result. If the service has another version,
 * that one is read and deleted. If the entity is already gone, that is success, too. -EBUSY: the
 * entity changed, and could not be read again; or as account_use_path says. An empty etag: the
 * entity was not stored yet when the user saw it. Then the version that exists now is deleted, and
 * -ENOENT: there is none.
 *
 * Later: the delete is queued, and sent in a batch: 0. If the service then has another version, the
 * entity stays, because no user saw that version; a version that this mount stored counts as seen.
 * A failure is reported to the sink and by the next drain, and the entity is visible again.
 *
 * Through a filter (path->filter) only the version that was shown is deleted: -EBUSY if the service
 * has another one. -EBUSY also if the version does not match the filter, for a process that has
 * listed the directory through the filter, or that is unknown.
 *
 * The directories of `path`, by which the entity was reached, become local directories, apart from
 * the table's: so they still exist after their last entity is deleted. */
int account_unlink(struct account *account, struct caller *caller, struct address address,
                   struct bytes etag, const struct directory_path *path);

/* Sends the queued changes of the range, and waits until they have ended. 0; the errno and reason
 * of a change there that failed and was not reported yet; -EINTR, -ETIMEDOUT; or why the service
 * does not answer: then the changes stay queued. table NULL: everything. */
int account_sync(struct account *account, struct caller *caller, const char *table,
                 struct range range);
int account_sync_entity(struct account *account, struct caller *caller, struct address address);
/* The end of the mount, when no other thread makes a change, in this order:
 *
 *   account_send_queued      sends what is queued, until the deadline, or until the service does
 *                            not answer. True: nothing is left. May be called repeatedly
 *   account_next_queued      visits the texts that are left (pending_texts.h); also between the two
 *                            functions below
 *   account_end_changes      sends what is queued, until the deadline. Returns how many are left
 *   account_abandon_changes  what is left has failed, and each is reported to the sink
 *
 * All before account_destroy. */
bool account_send_queued(struct account *account, int64_t deadline_ms);
bool account_next_queued(struct account *account, struct queued_text *at);
size_t account_queued(struct account *account); /* how many changes are queued */
size_t account_end_changes(struct account *account, int64_t deadline_ms);
void account_abandon_changes(struct account *account);
/* How many queued changes have failed without a report by an rmdir or account_sync. Called after
 * account_end_changes, because more may fail while that sends. Changes that account_abandon_changes
 * has given up do not count.
 */
size_t account_unreported_failures(struct account *account);

/* An editor's backup: vim renames f.json to f.json~ before it writes a new f.json. account_mask
 * hides the entity from this mount; the service still has it, and other clients still see it. The
 * mask ends in one of these ways:
 *
 *   account_store, account_rename   a new version takes its place: one Replace with its ETag
 *   account_unmask                  it is shown again
 *   account_delete_masked           it is deleted
 *
 * ret: the masked version; the caller finishes it. Its ETag identifies the mask in the functions
 * below: if this mask has ended, they change nothing. The directories of `path` become local, as
 * after account_unlink. -ENOENT: there is no entity. -ESTALE: another client has changed it since
 * the process read it. -EIO: its text cannot be read, so there would be no backup of it. */
int account_mask(struct account *account, struct caller *caller, struct address address,
                 const struct directory_path *path, struct entity *ret);
/* Returns whether the entity was still masked. */
bool account_unmask(struct account *account, struct address address, struct bytes etag);
/* -EBUSY: another client has changed the entity since: it is not deleted, and visible again. */
int account_delete_masked(struct account *account, struct caller *caller, struct address address,
                          struct bytes etag);

struct rename {
    struct address from, to;
    enum edit_begin begin; /* of a store at `to`: EDIT_NEW, EDIT_EXCLUSIVE or EDIT_OVER */
    const struct directory_path *path; /* by which the process reached `from` */
};
struct renamed {
    struct entity before, after; /* under the old name and under the new one */
};
void renamed_finish(struct renamed *renamed);
/* Gives the entity another key. It renames the version that exists, whichever the process has read.
 * An entity at `to` is replaced, with the precondition of write_rule.h. The caller finishes ret.
 *
 *   - within one partition: one entity group transaction. No client ever sees both or neither
 *   - else it is stored at `to`, and then deleted at `from`, with the ETag of what was copied. If
 *     another client changes it meanwhile, it is copied again. Other clients see both for a moment.
 *     The rename cannot be interrupted between the two requests. If the second fails, both entities
 *     exist, and the reason says so; likewise if the answer to the first was lost
 *   - if `from` and `to` are two spellings of one name: nothing is sent. 0 without entities in ret;
 *     with EDIT_EXCLUSIVE -EEXIST
 *
 * After a lost answer the entities are read and compared: 0 if the rename was made.
 *
 * -ENOENT: `from` does not exist; or, across partitions, another client deleted or renamed it after
 * it was copied: then the copy stays, and the reason says so. -EEXIST: of EDIT_EXCLUSIVE. -ESTALE:
 * another client has changed `to` since the process read it; nothing has changed. -EINVAL and
 * others: the text cannot be stored at `to`; -EIO: it cannot be read; nothing was sent.
 *
 * The directories of `path` become local, as after account_unlink. */
int account_rename(struct account *account, struct caller *caller, const struct rename *rename,
                   struct renamed *ret);

/* A table is created, and is known to be empty. -EEXIST; -EINVAL: the name breaks the service's
 * rule, which the reason quotes; -EBUSY: the service still deletes a table of that name. The
 * function does not wait for that: it takes longer than the kernel may lock a directory.
 *
 * A partition or a prefix of partitions becomes a local directory, and so do the directories of the
 * path that contain it. A local directory exists in this mount only, until it is removed
 * (cache/known/local_directories.h). -EEXIST; -EINVAL, -ENAMETOOLONG: no key can begin so; -ENOENT:
 * no such table. What a lookup has just found is not requested again.
 *
 * The process counts as having listed the new directory: for 30 s its lookups of names in it send
 * no request. */
int account_make_directory(struct account *account, struct caller *caller,
                           const struct directory_path *path);
/* account_make_directory can also make a partition whose key is unsettled
 * (client/base/position.h): no request is sent, the partition is empty, and nothing can be stored
 * in it before it is settled. account_settle settles it: the local directory is that of the known
 * key from then on, if that is not local already. */
int account_settle(struct account *account, const struct settlement *settlement); /* 0, -ENOMEM */
/* Is it a local directory? Sends nothing. */
bool account_has_local(struct account *account, const struct directory *directory);
/* Reads PartitionKey and RowKey from a text, in CESU-8; empty: the text does not have that
 * property. Both buffers are cleared first. `begin`: how the text is to be stored. Fails as
 * account_store does if the text is not one object (EDIT_APPENDED: one or several). */
int account_read_keys(struct caller *caller, struct bytes text, enum edit_begin begin,
                      struct buffer *ret_partition_key, struct buffer *ret_row_key);
/* Removes a directory. -ENOTEMPTY: an entity or a local directory is in it. -EBUSY: sending the
 * queued changes takes longer than the call's deadline; they are still being sent.
 *
 * First the function sends what is queued below the directory. If a delete there failed, its reason
 * becomes that of -ENOTEMPTY. Exception: for a process that has listed the parent directory the
 * function sends nothing, because `rm -r` removes the parent directory next, and that call sends
 * everything below it. So `rm -r` deletes many small partitions in parallel.
 *
 * A table is dropped by one Delete Table. A process that has listed the account's tables may drop
 * none: -EPERM. So `rm -rf` of the mountpoint leaves the tables.
 *
 * For a table, the queued changes are not sent first. The function scans all keys and ETags of the
 * table, and compares them with the queue. If a delete of each row is queued, in exactly the
 * version that the scan found, the table is dropped. So `rm -r TABLE` is one Delete Table. To make
 * that possible, the queue holds the deletes of a process that has listed the table's directory and
 * may drop the table: until 5 s after the last of them, a minute at most, and as long as the queue
 * has room (pending_hold.h).
 *
 *   the scan finds                        then
 *   only rows whose delete is queued      the table is dropped
 *   another row                           -ENOTEMPTY at once, and what is held is sent afterwards
 *   another row, but a change began, or   a second scan; if that is as unsure, what is queued is
 *     a delete ended, during the scan     sent, and a third scan follows
 *   more rows than there is time for      -EBUSY, and what is held is sent
 *   that the service does not answer      -ETIMEDOUT, and what is held is sent
 *
 * If this mount begins a change during the scan, the table is not dropped. An entity that another
 * client stores during or after the scan is dropped with the table.
 *
 * The service may list a dropped table for a while. This mount hides it until this mount creates it
 * again, or until its rows can be read because another client has created it (overlay.h).
 *
 * A partition or prefix stops being a local directory. What a lookup has just found is not
 * requested again. The directories of the path that contain it become local, so that they still
 * exist, and can be removed next. */
int account_remove_directory(struct account *account, struct caller *caller,
                             const struct directory_path *path);
/* rmdir of a directory that shows what matches a filter, or of one inside it. No directory is
 * removed, and no table dropped. The function sends what is queued below the directory. 0;
 * -ENOTEMPTY with the reason: a delete there failed; others as above. `above` is the directory that
 * contains this one; NULL: `.filter`. For a process that has listed `above` through the filter the
 * function sends nothing, because that process removes `above` next.
 */
int account_remove_filtered(struct account *account, struct caller *caller,
                            const struct directory *directory, const struct directory *above);
/* Drops the table with all its rows by one Delete Table, whatever the process has listed. All
 * changes that are queued in the table, also texts, end as if they had been made. 0 or -errno. */
int account_drop_table(struct account *account, struct caller *caller, const char *table);
/* Does the table exist? -ENOENT is always the service's answer to a request of this call, never a
 * cached one. 0, -ENOENT or -errno. */
int account_find_table_now(struct account *account, struct caller *caller, const char *table);

/* Whole tables. Passes the rows of the directory to the sink in key order, bad rows too: all of
 * them, or those of the choice. The directory's range may begin at any row. Everything is requested
 * after the call has begun, and nothing goes through the cache: the memory that is used does not
 * depend on the number of rows. It is no snapshot: neighbouring rows may have been read at
 * different times. Queued changes of this account are not shown.
 *
 * If the sink returns something else than 0, the export ends with that result. Time that the sink
 * takes does not count against the caller's deadline. A directory without rows is 0, too. -ENOENT:
 * no such table. */
typedef int rows_sink(void *context, const struct run *rows);
int account_export(struct account *account, struct caller *caller,
                   const struct directory *directory, const struct row_choice *choice,
                   rows_sink *sink, void *context);
/* The same rows as a stream, from which the caller takes one page after the other. Sends nothing;
 * the caller closes ret before the account is destroyed. 0 or -errno. */
int account_stream_rows(struct account *account, struct caller *caller,
                        const struct directory *directory, const struct row_choice *choice,
                        struct row_stream **ret);

/* Cuts the range of the directory into `parts` parts that have about as many rows each, and gives
 * them to the sink, in key order: ranges that follow each other without gap or overlap. With fewer
 * rows than parts, some are empty ranges. A part may have any rows later: what is written between
 * two borders belongs to it.
 *
 * With few requests (scan_split): at most 16 for each part, and 16,384. rows not NULL: all keys are
 * read and counted instead, and go to `rows`, as of account_export, with its context.
 *
 * A sink ends it by an answer other than 0, which is the result. -ENOENT: no such table. */
#define ACCOUNT_SPLIT_MAX 10000
struct split_choice {
    size_t parts;    /* 1 to ACCOUNT_SPLIT_MAX */
    rows_sink *rows; /* or NULL */
};
typedef int part_sink(void *context, struct range part);
int account_split(struct account *account, struct caller *caller, const struct directory *directory,
                  const struct split_choice *choice, part_sink *sink, void *context);

/* Begins an import into the table. Sends nothing. import_step calls `refused`, on the thread that
 * calls import_step. The caller destroys ret before the account. 0 or -ENOMEM. */
int account_import(struct account *account, const char *table, import_refused *refused,
                   void *context, struct import **ret);

struct failure_log *account_failures(struct account *account);

/* Appends the counters of the cache and its requests in Prometheus's text format. 0 or -errno. */
int account_append_metrics(struct account *account, struct buffer *ret);

DEFINE_CLEANUP(struct account *, account_destroy);

#endif
