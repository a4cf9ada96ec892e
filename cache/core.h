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
    struct read_ahead_source read; /* the modules that reading needs; owned by the account */
    struct read_ahead *read_ahead;
    struct forms *forms;
    struct listing_source listings;
    struct write_side write;
    _Atomic uint64_t orders; /* the counter that orders stamps of the same time */
    /* The processes for which a note has reported ignored keys: each as its number + 1. */
    _Atomic uint64_t reported_keys[REPORTED_KEYS];
};

/* Every change checks this first: 0, or -EROFS with the reason. */
static inline int account_may_change(const struct account *account, struct caller *caller)
{
    return account->options.is_read_only
               ? call_fail(&caller->call, -EROFS, "mounted with the option ro")
               : 0;
}

/* Makes the canonical text of the entity at `position` from what a user or the service wrote. 0 or
 * -errno. */
int account_make_text(struct caller *caller, struct bytes position, struct bytes text,
                      enum entity_input_kind kind, struct buffer *ret);
/* The same for a text that replaces a known entity. ret_notes: lines about parts of the text that
 * are ignored, one about annotations and one about keys; "": none is. */
#define TEXT_NOTE_SIZE (ENTITY_INPUT_MAX_LINE + 1)
struct text_notes {
    char annotation[TEXT_NOTE_SIZE], key[TEXT_NOTE_SIZE];
};
int account_make_text_over(struct caller *caller, const struct entity_input_over *over,
                           struct buffer *ret, struct text_notes *ret_notes);
/* The same for an edit, with the entity that is known to exist there. Sends nothing. */
int account_make_edit_text(struct account *account, struct caller *caller, const struct edit *edit,
                           struct buffer *ret, struct text_notes *ret_notes);
/* Adds the notes of a text that was stored to the failure log; the note about keys once for each
 * process. */
void account_report_notes(struct account *account, const struct caller *caller,
                          struct address address, const struct text_notes *notes);
static inline enum entity_input_kind account_input_kind(enum edit_begin begin)
{
    return begin == EDIT_APPENDED ? INPUT_MERGE : INPUT_WHOLE;
}
/* Makes the canonical text of a stored entity that is to be stored again at `position`. */
int account_make_stored_text(struct caller *caller, struct bytes position,
                             const struct entity *stored, struct buffer *ret);
/* Makes the refusal the failure of the call. Returns the error. */
int account_refuse_text(struct call *call, int error, const struct entity_input_refusal *refusal);
/* ETags of an entity that a store depends on; empty: none. */
struct known_versions {
    struct etag read;   /* of the version that the process has read */
    struct etag masked; /* of the version that this mount masks */
    bool has_read_lost; /* the process has read a queued text that was refused, because another
                           client's version was there */
};
/* Finds them. The caller has claimed the position. */
void account_known(struct account *account, const struct caller *caller, struct address address,
                   struct known_versions *ret);
/* -ESTALE if has_read_lost is set and matters to this store; else 0. */
int account_check_read(struct account *account, struct caller *caller, struct address address,
                       const struct known_versions *known);
/* Sends one write, as committer_write. */
int account_send(struct account *account, struct caller *caller, const char *table,
                 const struct write *write, struct entity *ret_now);
/* Chooses the write of a text by write_rule.h. The caller has claimed the position. The write has
 * views into the edit, the text and `known`. EDIT_APPENDED is allowed only if the entity is masked.
 */
struct write account_choose_write(const struct account *account, const struct edit *edit,
                                  struct bytes text, const struct known_versions *known);
/* What was last known of the entity, however long ago. Sends nothing. With KNOWN_ROWS the caller
 * finishes ret. */
enum knowledge account_recall(struct account *account, struct address address, struct entity *ret);
/* The same for the version that this mount masks. No page in ret: there is no mask, or the masked
 * version is not known. */
void account_recall_masked(struct account *account, struct address address, struct entity *ret);
/* Translates the failure of a write with a precondition. -ESTALE if another client has changed the
 * entity first, also if it has deleted it: -ENOENT from a write would not explain it to the user.
 * Afterwards the process counts as not having read the entity, so that its next store succeeds. */
int account_lose(struct account *account, struct caller *caller, struct address address, int error,
                 enum write_kind kind);
/* account_lose for an edit that was to replace a queued text. That text may have been refused for
 * any reason, or its version is not known for lack of memory. -ESTALE. */
int account_lose_queued(struct account *account, struct caller *caller, struct address address,
                        const char *reason);
/* Makes the version in `found` the one that `write` applies to. A WRITE_REPLACE stores the text of
 * that version again; it is put into `text`. */
int account_aim_at(struct caller *caller, const struct entity *found, struct write *write,
                   struct buffer *text);
/* Sends a write with If-Match. If another client has changed the entity, sends it again for the new
 * version; a WRITE_REPLACE then stores that version's own text, if it may be stored
 * (account_make_stored_text). The caller has claimed the position. ret: as of committer_write. 0;
 * 1: another version than the first was written; -errno. -ESTALE: the entity changed, and could not
 * be read again. */
int account_write_over(struct account *account, struct caller *caller, const char *table,
                       struct write write, struct entity *ret);

/* May changes be queued now? No while the service does not answer: a change that is sent at once
 * reports that to its caller. */
bool account_may_queue(struct account *account);
/* How many bytes the write takes in a batch; if it cannot share a batch with others, all bytes of
 * one. */
size_t account_request_bytes(struct account *account, const char *table, const struct write *write);
/* Queues the delete. The caller has claimed the position; after 0 the queue owns the claim.
 * is_held: it joins the hold of its table (pending_hold.h). */
int account_queue_delete(struct account *account, struct caller *caller, struct address address,
                         struct bytes etag, bool is_held);
/* The same for a text. ret: the entity as readers see it from now on; the caller finishes it. */
int account_queue_text(struct account *account, struct caller *caller, const char *table,
                       const struct write *write, struct entity *ret);
/* As account_sync, but does not report the failure of a change: it is kept for the next
 * account_sync. */
int account_drain(struct account *account, struct caller *caller, const char *table,
                  struct range range);
/* Has a delete in the directory failed that was not reported yet? True: its reason is in
 * caller->call, and it counts as reported. Sends nothing. */
bool account_report_delete(struct account *account, struct caller *caller,
                           const struct directory *directory);
/* For batch_committer.h; the context is the account. */
void account_note_stored(void *context, struct address address, const struct batched *change,
                         const struct entity *now);
void account_note_failed(void *context, struct address address, const struct batched *change);

/* The directories of the path become local, from steps[first] on, except the table's, which exists
 * anyway. 0 or -ENOMEM with the reason. */
int account_keep_path(struct account *account, struct caller *caller,
                      const struct directory_path *path, size_t first);
/* Returns -ENOTEMPTY, with the reason that a local directory is in the directory. */
int account_fail_not_empty(struct caller *caller);
/* Is a local directory in the directory? 0: no; -ENOTEMPTY, -ENOMEM. */
int account_check_no_local(struct account *account, struct caller *caller,
                           const struct directory *directory);
/* Sends what is queued below the directory, and waits. 0, also if a change there failed, which is
 * not reported yet. -EBUSY: it takes longer than the call's deadline; the changes are still being
 * sent. */
int account_drain_below(struct account *account, struct caller *caller,
                        const struct directory *directory);
/* -ENOTEMPTY: a delete in the directory has failed and was not reported before; the reason reports
 * it. 0: none has. */
int account_check_deletes(struct account *account, struct caller *caller,
                          const struct directory *directory);
/* Returns r. If r is -ENOTEMPTY, it gets the reason of account_check_deletes, if there is one. With
 * another r a failed delete stays unreported: fsync or the end of the mount reports it. */
int account_explain_not_empty(struct account *account, struct caller *caller,
                              const struct directory *directory, int r);
/* rmdir of a table, as account_remove_directory describes it. */
int account_remove_table(struct account *account, struct caller *caller,
                         const struct directory *directory);
/* Called before an entity in the directory is deleted. -EBUSY with the reason: the process has also
 * used the directory's partition by another path. Else 0. */
int account_check_path(struct account *account, struct caller *caller,
                       const struct directory_path *path);
/* The process has stored this version. Not recorded for process 0, which stands for all unknown
 * processes: the version of one would count as read by another. */
static inline void account_wrote(struct account *account, const struct caller *caller,
                                 struct address address, const struct entity *now)
{
    if (caller->process != 0)
        account_opened(account, caller, address, now);
}
/* The process has replaced the version `before` by `now`. If it had read `before`, it counts as
 * having read `now`. */
void account_note_replaced(struct account *account, const struct caller *caller,
                           struct address address, struct bytes before, const struct entity *now);
/* Merges `over` into the entity, and repeats that if other clients change it meanwhile. If the
 * entity does not exist, `over` alone is stored. The caller has claimed the position; `over` is as
 * the user wrote it. As account_store. */
int account_append_claimed(struct account *account, struct caller *caller, struct address address,
                           struct bytes over, struct entity *ret);

/* account_unlink of a masked entity. The masked version is not deleted; another version, stored
 * since by another client, is. The caller has claimed the position. */
int account_delete_unmasked(struct account *account, struct caller *caller, struct address address,
                            struct bytes masked);

/* Does an entity lie in the directory? As account_find_directory, without local directories. */
int account_find_rows(struct account *account, struct caller *caller,
                      const struct directory *directory);
/* Is an entity known to lie in the directory, by any answer, however old? Sends nothing. */
enum knowledge account_recall_rows(struct account *account, const struct caller *caller,
                                   const struct directory *directory);

#endif
