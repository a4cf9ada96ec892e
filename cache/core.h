/* SPDX-License-Identifier: MIT */
#ifndef CACHE_CORE_H
#define CACHE_CORE_H
/* What account.c and the rooms that change the account share: the services of an account, and the
 * steps that several kinds of change have in common. Private to cache/. */
#include "cache/account.h"
#include "cache/ahead/read_ahead.h"
#include "cache/queue/write_side.h"
#include "client/entity/entity_input.h"

#include <stdatomic.h>

#define REPORTED_KEYS 64

struct account {
    struct table_store *store;
    struct failure_log *failures;
    struct account_options options;
    struct read_ahead_source read; /* what reading needs; the account's */
    struct read_ahead *read_ahead;
    struct forms *forms;
    struct listing_source listings;
    struct write_side write;
    _Atomic uint64_t orders; /* of stamps */
    /* Processes that were told that a key in a text does not count, and 1 more. */
    _Atomic uint64_t reported_keys[REPORTED_KEYS];
};

/* The first question of every change: 0, or -EROFS with the reason. */
static inline int account_may_change(const struct account *account, struct caller *caller)
{
    return account->options.is_read_only
               ? call_fail(&caller->call, -EROFS, "mounted with the option ro")
               : 0;
}

/* The canonical text of the entity at `position`, of what a user or the service wrote. 0 or -errno.
 */
int account_make_text(struct caller *caller, struct bytes position, struct bytes text,
                      enum entity_input_kind kind, struct buffer *ret);
/* The same over what is there, and what it has that does not count, as lines; empty: nothing. */
#define TEXT_NOTE_SIZE (ENTITY_INPUT_MAX_LINE + 1)
struct text_notes {
    char annotation[TEXT_NOTE_SIZE], key[TEXT_NOTE_SIZE];
};
int account_make_text_over(struct caller *caller, const struct entity_input_over *over,
                           struct buffer *ret, struct text_notes *ret_notes);
/* The same of an edit, over what is known to be there. Sends nothing. */
int account_make_edit_text(struct account *account, struct caller *caller, const struct edit *edit,
                           struct buffer *ret, struct text_notes *ret_notes);
/* Adds the notes of a text that was stored to the failure log: of keys once for each process. */
void account_report_notes(struct account *account, const struct caller *caller,
                          struct address address, const struct text_notes *notes);
static inline enum entity_input_kind account_input_kind(enum edit_begin begin)
{
    return begin == EDIT_APPENDED ? INPUT_MERGE : INPUT_WHOLE;
}
/* The same of a stored entity, to be stored again at `position`. */
int account_make_stored_text(struct caller *caller, struct bytes position,
                             const struct entity *stored, struct buffer *ret);
/* The refusal as a failure of the call. Returns its error. */
int account_refuse_text(struct call *call, int error, const struct entity_input_refusal *refusal);
/* ETags of an entity that a store depends on; empty: none. */
struct known_versions {
    struct etag read;   /* which the process has read */
    struct etag masked; /* which this mount masks */
    bool has_read_lost; /* it has read a queued text, in whose place is another client's version */
};
/* The position is claimed. */
void account_known(struct account *account, const struct caller *caller, struct address address,
                   struct known_versions *ret);
/* 0; -ESTALE: has_read_lost, and it counts. */
int account_check_read(struct account *account, struct caller *caller, struct address address,
                       const struct known_versions *known);
/* Sends one write, as committer_write. */
int account_send(struct account *account, struct caller *caller, const char *table,
                 const struct write *write, struct entity *ret_now);
/* The write of a text, by write_rule.h. The position is claimed. It is a view of the edit, the text
 * and what is known. Without a mask the edit is none that appends. */
struct write account_choose_write(const struct account *account, const struct edit *edit,
                                  struct bytes text, const struct known_versions *known);
/* What was last known of the entity, however long ago. Sends nothing. enum knowledge, or -ENOMEM;
 * of KNOWN_ROWS the caller finishes ret. */
int account_recall(struct account *account, struct address address, struct entity *ret);
/* The same of what this mount masks. No page in ret: there is no mask, or the version that it masks
 * is not known. */
void account_recall_masked(struct account *account, struct address address, struct entity *ret);
/* What the failure of such a write means. Where another client was faster: -ESTALE. A Replace of an
 * entity that is gone is -ESTALE, too: -ENOENT from a write would not tell the user why. Afterwards
 * the process counts as one that has not read the entity, so that its next store succeeds. */
int account_lose(struct account *account, struct caller *caller, struct address address, int error,
                 enum write_kind kind);
/* account_lose of an edit over a text that was queued: it may have been refused for any reason, or
 * its version is not known because memory was missing. -ESTALE. */
int account_lose_queued(struct account *account, struct caller *caller, struct address address,
                        const char *reason);
/* Makes `write` one over the version in `found`. A WRITE_REPLACE stores the text of that version
 * again, which is put into `text`. */
int account_aim_at(struct caller *caller, const struct entity *found, struct write *write,
                   struct buffer *text);
/* Sends a write with If-Match. Where another client was faster, sends it again for the version that
 * is there then; a WRITE_REPLACE stores that version's own text, if it may be stored
 * (account_make_stored_text). The position is claimed. ret: as of committer_write. 0; 1: done to
 * another version than the first; -errno. -ESTALE: it changed, and could not be read again. */
int account_write_over(struct account *account, struct caller *caller, const char *table,
                       struct write write, struct entity *ret);

/* May changes be queued now? Not while the service does not answer: a change that is sent at once
 * tells its caller. */
bool account_may_queue(struct account *account);
/* How many bytes the write takes of a batch: all of them, if it does not go with others. */
size_t account_request_bytes(struct account *account, const char *table, const struct write *write);
/* Queues the change. The position is claimed, and after 0 it is not the caller's any more. */
int account_queue_delete(struct account *account, struct caller *caller, struct address address,
                         struct bytes etag, bool is_held);
/* ret: the entity as readers see it from now on; the caller finishes it. */
int account_queue_text(struct account *account, struct caller *caller, const char *table,
                       const struct write *write, struct entity *ret);
/* As account_sync, but tells no failure of a change: it is kept for the next account_sync. */
int account_drain(struct account *account, struct caller *caller, const char *table,
                  struct range range);
/* Has a delete in the directory failed that was not told? Then the reason is in caller->call, and
 * it is told. Nothing is sent. */
bool account_report_delete(struct account *account, struct caller *caller,
                           const struct directory *directory);
/* For batch_committer.h; the context is the account. */
void account_note_stored(void *context, struct address address, const struct batched *change,
                         const struct entity *now);
void account_note_failed(void *context, struct address address, const struct batched *change);

/* The directories of the path become local, from steps[first] on; not the table's, which is there
 * without. 0 or -ENOMEM with the reason. */
int account_keep_path(struct account *account, struct caller *caller,
                      const struct directory_path *path, size_t first);
/* -ENOTEMPTY with the reason: a local directory is in it. */
int account_fail_not_empty(struct caller *caller);
/* Is a local directory in it? 0: no; -ENOTEMPTY, -ENOMEM. */
int account_check_no_local(struct account *account, struct caller *caller,
                           const struct directory *directory);
/* What is queued below the directory is sent. 0, also where a change there failed, which is not
 * told. -EBUSY: it takes longer than the call may, and goes on. */
int account_drain_below(struct account *account, struct caller *caller,
                        const struct directory *directory);
/* -ENOTEMPTY: a delete in the directory has failed and was not reported yet; it is now, as the
 * reason. 0: none has. */
int account_check_deletes(struct account *account, struct caller *caller,
                          const struct directory *directory);
/* Answers r. -ENOTEMPTY gets the reason of account_check_deletes, if there is one. With any other
 * answer a failure stays kept, as a lost text does: fsync or the end of the mount reports it. */
int account_explain_not_empty(struct account *account, struct caller *caller,
                              const struct directory *directory, int r);
/* rmdir of a table: as account_remove_directory. */
int account_remove_table(struct account *account, struct caller *caller,
                         const struct directory *directory);
/* Before the delete of an entity in the directory: 0, or -EBUSY with the reason: the process has
 * used the directory's partition by another path, too. */
int account_check_path(struct account *account, struct caller *caller,
                       const struct directory_path *path);
/* The process has stored this version. One that cannot be seen is not remembered by that: its own
 * text is no other client's change. */
static inline void account_wrote(struct account *account, const struct caller *caller,
                                 struct address address, const struct entity *now)
{
    if (caller->process != 0)
        account_opened(account, caller, address, now);
}
/* The process has made `now` of the version `before`. If it knew that one, it knows this one. */
void account_note_replaced(struct account *account, const struct caller *caller,
                           struct address address, struct bytes before, const struct entity *now);
/* Merges `over` into the entity, whatever other clients do to it meanwhile; if there is none,
 * `over` is stored alone. The position is claimed; `over` is as the user wrote it. As
 * account_store. */
int account_append_claimed(struct account *account, struct caller *caller, struct address address,
                           struct bytes over, struct entity *ret);

/* As account_unlink, of a masked entity: the version that is masked is not deleted. The position is
 * claimed. */
int account_delete_beside_mask(struct account *account, struct caller *caller,
                               struct address address, struct bytes masked);

/* Does an entity lie in the directory? As account_find_directory, without local directories. */
int account_find_rows(struct account *account, struct caller *caller,
                      const struct directory *directory);
/* Is an entity known to lie in the directory, by any answer, however old? Sends nothing. enum
 * knowledge, or -ENOMEM. */
int account_recall_rows(struct account *account, const struct caller *caller,
                        const struct directory *directory);

#endif
