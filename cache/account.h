/* SPDX-License-Identifier: MIT */
#ifndef CACHE_ACCOUNT_H
#define CACHE_ACCOUNT_H
/* The account as the mount sees it. fs/ uses cache/ through this header and the headers that it
 * includes. It works with keys and pages; it knows no file names, no nodes and no FUSE.
 *
 * Any thread. A function with a caller may block for requests, up to caller->call.deadline_ms,
 * which each answered page puts off, up to caller->end_ms. It answers 0 or -errno, and the reason
 * of a failure is in caller->call.failure. */
#include "cache/bulk/import.h"
#include "cache/bulk/judge.h"
#include "cache/bulk/row_stream.h"
#include "cache/bulk/sync.h"
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
    bool is_abandoned; /* at the end: it is still queued, and may have been sent */
    struct bytes text; /* canonical; of a delete: empty */
    const struct failure *failure;
};
/* Called by a thread of the queue, outside every lock, before a drain tells the failure. */
typedef void lost_change_sink(void *context, const struct lost_change *lost);

/* The queue has no room to hold more deletes of the table (pending_hold.h). Called once for each
 * hold that ends so, by any thread. */
typedef void no_room_sink(void *context, const char *table);

struct account_options {
    int64_t ttl_ms;            /* the maximum age of an answer */
    size_t cache_bytes;        /* the maximum of the cache */
    int parallelism;           /* the maximum of scan requests in flight */
    int fanout;                /* a level with more partitions shows their prefixes; 0: by the
                                  level's first rows (cache/ahead/fanout.h) */
    bool is_read_only;         /* every change is -EROFS before anything else */
    bool overwrites_conflicts; /* a store never has a precondition: the last writer wins */
    bool is_write_back;        /* texts are queued, too: account_store */
    size_t pending_bytes;      /* the maximum of what is queued, and of account_reserve */
    int64_t timeout_ms;        /* of a request of the queue, with its repetitions */
    bool never_drops_rows;     /* a table is removed only when it is empty */
    lost_change_sink *lost;    /* may be NULL */
    void *lost_context;
    no_room_sink *no_room; /* may be NULL */
    void *no_room_context;
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
/* Can the entity be read, or is it a bad row (page.h)? 0; -EIO with the reason; -ENOMEM. Sends
 * nothing. */
int account_check_readable(struct caller *caller, const struct entity *entity);
/* Is the entity known to be there? Sends nothing. 1, 0, -ENOMEM. */
int account_knows(struct account *account, struct address address);
/* Does the directory exist? A table exists even without a row. Any other directory exists if its
 * range holds a row or a local directory, or if it is local itself (account_make_directory). 0 or
 * -ENOENT; sets caller->valid_ms for both. */
int account_find_directory(struct account *account, struct caller *caller,
                           const struct directory *directory);
/* Before a listing with a filter begins: the service compares what it has, so texts that are queued
 * in the directory are sent. 0, also where one failed; -errno: they are not sent yet. */
int account_send_texts(struct account *account, struct caller *caller,
                       const struct directory *directory);
/* Creates a listing of the directory. Sends nothing. The caller closes it. 0 or -errno. */
int account_list(struct account *account, const struct directory *directory, struct listing **ret);

/* Room in memory for the text of a file that is open for writing, within pending_bytes:
 * cache/queue/pending_room.h. A text of `own` bytes gets `more`: 0; or -ENOSPC, -EINTR, -ETIMEDOUT
 * and others with the reason. It waits as a change that is queued does. */
int account_reserve(struct account *account, struct caller *caller, size_t own, size_t more);
/* It needs `after` bytes in place of `before`. Never waits. */
void account_set_reserved(struct account *account, size_t before, size_t after);

/* Changes. Each blocks up to the call's deadline, or longer for the answer to what was sent: a
 * change is not cancelled once it is sent. Afterwards account_find and listings that begin then
 * know it without a request, for ttl, as every answer. (An entity that was deleted beside others
 * may be asked for earlier: range_cache_put_gone.) If its answer is lost for good (-ETIMEDOUT
 * and others, with call.failure.is_ambiguous), the change may have been made or not; then they ask
 * the service. */

struct edit { /* a text to be stored */
    struct address address;
    enum edit_begin begin;
    struct bytes text;        /* as the user wrote it: one JSON object; appended: one or several */
    struct bytes snapshot;    /* ETag of the version that was opened; counts for EDIT_CHANGED */
    struct bytes last_stored; /* ETag of the version that this edit stored before; empty: none */
    /* The same of a text that was queued, by this edit or before it was opened; NULL: none.
     * -ESTALE: it was refused. */
    const struct later_etag *queued;
    /* Of an earlier store of this edit whose answer was lost for good; data NULL: none. It may be
     * what is there now. Then it is this edit's own version: the same text counts as stored, and
     * another one replaces it. The same text by another client cannot be told apart. */
    struct bytes doubtful;
    /* The text is {} because a new file was never written. If the entity is masked, it is not
     * replaced by that: it is shown again, and counts as stored. */
    bool is_blank;
    /* The edit's own text was read. If not, and if neither the process has read an older version
     * nor begin is EDIT_CHANGED, the edit replaces also what this mount stored after last_stored.
     */
    bool was_read;
};
/* Stores the text with the precondition of write_rule.h. ret: the entity as it is afterwards, with
 * its canonical text; the caller finishes it. A process that had read the entity counts as one that
 * has read this version; of one that only writes, the last text wins again.
 *
 * EDIT_APPENDED: the text is merged into what is stored, and again if another client was faster: it
 * never overwrites, and is never refused for that. Properties that it does not name stay. -EIO:
 * what is stored cannot be read; -EINVAL: it has a value that would be refused, and stays.
 *
 * -EINVAL, -EFBIG, -ENAMETOOLONG: the service would refuse the text, and nothing was sent; the
 * reason has line, column, name and limit. -ESTALE: another client has changed or deleted the
 * entity since the process read it, or since last_stored or snapshot; the next store of a process
 * that has read it overwrites.
 * -EEXIST: of EDIT_EXCLUSIVE. -ENOENT: no such table.
 *
 * With write-back the text is checked and queued, and sent in a batch within a second or so: 0, and
 * ret has no ETag. It is seen as if it were stored. What fails later is told to the sink, and after
 * -ESTALE the next store of the process overwrites, too. These are stored at once: what is
 * appended, an entity that is masked, {} of a blank file, and an edit that has stored before
 * (last_stored, queued, doubtful). So the caller of a text that was queued hands over what learns
 * its ETag (page_later_etag) the next time. */
int account_store(struct account *account, struct caller *caller, const struct edit *edit,
                  struct entity *ret);
/* Moves the Timestamp of the service and nothing else: the text is stored again, or that of the
 * version which is there by then. ret: the entity as it is afterwards; the caller finishes it.
 * `known`: the ETag of the version that the caller knows, or `queued` learns it; neither: any. If
 * another version was touched, ret has no page, because a store over it must not count as one over
 * the known version. -ENOENT: there is no entity. -EINVAL and others: its text would be refused if
 * it were written; -EIO: it cannot be read. Then nothing was sent. */
int account_touch(struct account *account, struct caller *caller, struct address address,
                  struct bytes known, const struct later_etag *queued, struct entity *ret);
/* The process opens this version for reading: a text that it stores over it later replaces this
 * version alone. */
void account_opened(struct account *account, const struct caller *caller, struct address address,
                    const struct entity *entity);

/* The process uses a directory by this path: looks it or a name in it up, makes it, lists it, opens
 * or creates a file in it. Sends nothing; what is no partition's is not noted. Afterwards a delete
 * by this process in the same partition, but by another path, is -EBUSY
 * (cache/who/path_aliases.h): account_unlink, and account_rename to another partition. */
void account_use_path(struct account *account, const struct caller *caller,
                      const struct directory_path *path);

/* Deletes the entity; etag: of the version that was shown. Either at once, and its result is the
 * answer: if another version is there, that one is read and deleted; if none is, that is done, too:
 * 0. -EBUSY: it changed, and could not be read again; or as account_use_path says. With an empty
 * etag the entity was not stored when it was shown: the version that is there by now is deleted at
 * once; -ENOENT: there is none.
 *
 * Through a filter (path->filter) the version that was shown is deleted, or none: -EBUSY if another
 * one is there. For a process that has listed the directory through the filter, or that cannot be
 * seen, -EBUSY as well if the version does not match the filter.
 *
 * Or the delete is queued (delete_policy.h), and sent in a batch later: 0. Then another version
 * that is there stays, because no user saw it; but what this mount stored before counts as shown.
 * What fails is told to the sink, the next drain tells it, and the entity is seen again.
 *
 * The directories of `path`, by which it was reached, become local directories below their table:
 * so they are still there when it was the last entity in them. */
int account_unlink(struct account *account, struct caller *caller, struct address address,
                   struct bytes etag, const struct directory_path *path);

/* Sends what is queued in the range, and waits: 0; the errno and reason of a change there that
 * failed and was not told by then; -EINTR, -ETIMEDOUT; or why the service does not answer: then it
 * stays queued. table NULL: everything. */
int account_sync(struct account *account, struct caller *caller, const char *table,
                 struct range range);
int account_sync_entity(struct account *account, struct caller *caller, struct address address);
/* The end, when no other change is made any more, in this order:
 *
 *   account_send_queued      sends what is queued, up to the deadline, or until the service is seen
 *                            not to answer. Is nothing left? Any number of times
 *   account_next_queued      goes along the texts that are left (pending_texts.h); also between the
 *                            two below
 *   account_end_changes     sends what is queued, up to the deadline. Answers how many are left
 *   account_abandon_changes  what is left has failed: the sink is told each
 *
 * Before account_destroy. */
bool account_send_queued(struct account *account, int64_t deadline_ms);
int account_next_queued(struct account *account, struct queued_text *at);
size_t account_queued(struct account *account); /* how many changes are queued */
size_t account_end_changes(struct account *account, int64_t deadline_ms);
void account_abandon_changes(struct account *account);
/* How many queued changes have failed, and neither an rmdir nor account_sync has told it. Asked
 * after account_end_changes: while that sends, more may fail. What it has given up does not count.
 */
size_t account_unreported_failures(struct account *account);

/* An editor's backup. account_mask hides the entity from this mount; the service still has it, and
 * other clients see it all the time. The mask ends in one of these ways:
 *
 *   account_store, account_rename   a new version takes its place: one Replace with its ETag
 *   account_unmask                  it is shown again
 *   account_delete_masked           it is deleted
 *
 * ret: the version that is masked; the caller finishes it, and hands its ETag to the functions
 * below, which change nothing if this mask has ended. The directories of `path` become local, as
 * after account_unlink. -ENOENT: there is no entity. -ESTALE: another client has changed it since
 * the process read it. -EIO: it cannot be read, and a backup would be none. */
int account_mask(struct account *account, struct caller *caller, struct address address,
                 const struct directory_path *path, struct entity *ret);
/* Was it still masked? */
bool account_unmask(struct account *account, struct address address, struct bytes etag);
/* -EBUSY: another client has changed the entity since: it is shown again, and not deleted. */
int account_delete_masked(struct account *account, struct caller *caller, struct address address,
                          struct bytes etag);

struct rename {
    struct address from, to;
    enum edit_begin begin; /* of a store at `to`: EDIT_NEW, EDIT_EXCLUSIVE or EDIT_OVER */
    const struct directory_path *path; /* by which `from` was reached */
};
struct renamed {
    struct entity before, after; /* under the old name and under the new one */
};
void renamed_finish(struct renamed *renamed);
/* Gives the entity another key: the version that is there, whichever the process has read. The
 * caller finishes ret. What is at `to` is replaced, with the precondition of write_rule.h.
 *
 *   - within one partition: one entity group transaction. No client ever sees both or neither
 *   - else it is stored at `to`, and then deleted at `from`, with the ETag of what was copied. If
 *     another client changes it meanwhile, it is copied again. Other clients see both for a moment.
 *     An interrupt does not count between the two. If the second request fails, both exist, and
 *     the reason says so, as it does of the names if the answer to the first was lost
 *   - `from` and `to` are two spellings of one name: 0 without entities; of EDIT_EXCLUSIVE -EEXIST.
 *     Nothing is sent
 *
 * After a lost answer what is there is compared: a rename that was made is 0.
 *
 * -ENOENT: nothing is at `from`. Across partitions also: another client has deleted or renamed it
 * when it was copied; the copy stays, and the reason says so. -EEXIST: of EDIT_EXCLUSIVE. -ESTALE:
 * another client has changed `to` since the process read it; nothing has changed. -EINVAL and
 * others: the text cannot be stored there; -EIO: it cannot be read; nothing was sent.
 *
 * The directories of `path` become local, as after account_unlink. */
int account_rename(struct account *account, struct caller *caller, const struct rename *rename,
                   struct renamed *ret);

/* A table is created: -EEXIST; -EINVAL: the name is against the rule, which the reason tells;
 * -EBUSY: the service still deletes a table of that name, which is not waited for, because it takes
 * longer than a directory may be locked. It is known to be empty.
 *
 * A partition or a prefix of partitions becomes a local directory, and so do those of the path that
 * contain it: it is there in this mount alone until it is removed
 * (cache/known/local_directories.h). -EEXIST; -EINVAL, -ENAMETOOLONG: no key begins so; -ENOENT:
 * no such table. What a lookup has just found is not requested again.
 *
 * The process counts as one that has listed the new directory: for 30 s no name in it is requested
 * for the process. */
int account_make_directory(struct account *account, struct caller *caller,
                           const struct directory_path *path);
/* account_make_directory can make a partition of an unsettled key (client/base/position.h), too.
 * The service is not asked about it: it is empty, and nothing can be stored in it before it is
 * settled.
 *
 * Settles it: the local directory is that of the key from then on, if that is not local already. */
int account_settle(struct account *account, const struct settlement *settlement); /* 0, -ENOMEM */
/* Is it a local directory? Sends nothing. */
bool account_has_local(struct account *account, const struct directory *directory);
/* Reads the keys that a text names, in CESU-8; empty: it names none. Both are cleared first.
 * `begin`: how the text is to be stored. As account_store, if it is not one object (appended:
 * several). */
int account_read_keys(struct caller *caller, struct bytes text, enum edit_begin begin,
                      struct buffer *ret_partition_key, struct buffer *ret_row_key);
/* -ENOTEMPTY: an entity, or a local directory, is in it. -EBUSY: what is queued takes longer to
 * send than the call may; it goes on.
 *
 * Before that, the function sends what is queued below the directory. If a delete there failed, its
 * reason is that of -ENOTEMPTY. A process that has listed the parent directory is an exception: the
 * function sends nothing, because `rm -r` removes the parent directory next, and that call sends
 * everything below it. So `rm -r` deletes many small partitions in parallel.
 *
 * A table is dropped by one Delete Table. A process that has listed the account drops none: -EPERM.
 * So `rm -rf` of the mountpoint leaves the tables.
 *
 * What is queued in the table is not sent first. The function looks at the table: it asks the
 * service for all keys and ETags. The table is dropped if a delete of each row, in that very
 * version, is queued. So `rm -r TABLE` is one Delete Table. For that, the queued deletes of a
 * process that has listed the table's directory, and may drop the table, are held in the queue: up
 * to 5 s after the last of them, a minute in all, and as far as the queue has room
 * (pending_hold.h).
 *
 *   the look finds                        then
 *   a delete of each row                  the table is dropped
 *   another row                           -ENOTEMPTY at once, and what is held is sent afterwards
 *   that, but a change has begun, or a    the table is looked at once more; after that what is
 *     delete has ended, meanwhile         queued is sent, and it is looked at again
 *   too many rows for its time            -EBUSY, and what is held is sent
 *   that the service does not answer      -ETIMEDOUT, and what is held is sent
 *
 * A change of this mount that begins during the look keeps the table from being dropped. An entity
 * that another client stores during or after the look is dropped with the table.
 *
 * The service may list a dropped table for a while. This mount shows it no more until this mount
 * creates it again, or until its rows can be read again because another client has created it
 * (overlay.h).
 *
 * A partition or prefix is no local directory any more. What a lookup has just found is not
 * requested again. The directories of the path that contain it become local, so that they can be
 * removed next. */
int account_remove_directory(struct account *account, struct caller *caller,
                             const struct directory_path *path);
/* rmdir of a directory that shows what matches a filter, or of one in it: no directory is removed,
 * no table dropped. The function sends what is queued below. 0; -ENOTEMPTY with the reason: a
 * delete there failed; others as above. It sends nothing for a process that has listed the
 * directory that contains this one (`above`) through the filter: that one is removed next. above
 * NULL: `.filter`.
 */
int account_remove_filtered(struct account *account, struct caller *caller,
                            const struct directory *directory, const struct directory *above);
/* Drops the table with all that is in it by one Delete Table, whatever the process has listed. What
 * is queued in the table ends as made, texts too: it goes with the table. 0 or -errno. */
int account_drop_table(struct account *account, struct caller *caller, const char *table);
/* Is there such a table? A "no" is the service's answer to this call, however young the mount's own
 * is. 0, -ENOENT or -errno. */
int account_find_table_now(struct account *account, struct caller *caller, const char *table);

/* Whole tables. The rows of the directory, or of a part of it that begins at any row, go to the
 * sink in key order, the bad ones too: all of them, or those of the choice. Everything is requested
 * after the call has begun, and nothing goes through the cache: the memory that is used does not
 * depend on the number of rows. Rows of different moments may follow each other. What is queued in
 * this account is not shown.
 *
 * The sink ends the export by an answer other than 0, which is the result. A sink that takes its
 * time costs the caller no deadline. A directory without rows is 0 as well. -ENOENT: no such
 * table. */
typedef int rows_sink(void *context, const struct run *rows);
int account_export(struct account *account, struct caller *caller,
                   const struct directory *directory, const struct row_choice *choice,
                   rows_sink *sink, void *context);
/* The same rows for a caller that takes the pages by itself. Sends nothing; the caller closes ret
 * before the account is destroyed. 0 or -errno. */
int account_stream_rows(struct account *account, struct caller *caller,
                        const struct directory *directory, const struct row_choice *choice,
                        struct row_stream **ret);

/* Begins an import into the table. Sends nothing. `refused` is called by import_step, on its
 * thread. The caller destroys it before the account. 0 or -ENOMEM. */
int account_import(struct account *account, const char *table, import_refused *refused,
                   void *context, struct import **ret);

struct failure_log *account_failures(struct account *account);

/* Appends the counters of the cache and its requests in Prometheus's text format. 0 or -errno. */
int account_append_metrics(struct account *account, struct buffer *ret);

DEFINE_CLEANUP(struct account *, account_destroy);

#endif
