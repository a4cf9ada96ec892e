/* SPDX-License-Identifier: MIT */
#ifndef FS_TEXT_WRITER_H
#define FS_TEXT_WRITER_H
/* An entity that is open for writing: a draft, the name it is stored under, and its handles. A
 * writer belongs to a node, not to a handle. All handles of one node write one text, as on a local
 * disk: dup'ed ones, and all handles of a new file that is not stored yet. Two opens of a stored
 * entity have two nodes and two writers; of two that began with the stored text, the one that
 * stores second fails with -ESTALE, because its ETag is outdated. One that began empty, and that
 * was not read, replaces what this mount has stored since.
 *
 *   writer      stored under   what a LOOKUP of its name shows   becomes
 *   NEW         its name       the writer                        OPEN when it is stored
 *   OPEN        its name       the stored entity
 *   DETACHED    nowhere        -
 *
 * The name of a NEW writer may be unsettled (client/base/position.h). Then only a text settles it,
 * and it is never stored without one.
 *
 * A writer whose name is renamed has the new name from then on. One whose name is unlinked, or is
 * given to another file, becomes DETACHED: it goes on in memory, and nothing of it is sent
 * or kept. A writer ends with its last handle.
 *
 * Thread-safety: any thread. One event of a writer is handled at a time: its thread makes the
 * writer busy, and others wait for that, up to their deadline. So writes and flushes of one writer
 * never overtake each other. All other fields, and the map of all writers, are guarded by one
 * monitor. It is not held while a text is stored.
 * Ownership: reference-counted, by nodes and handles. Strings and texts are copied.
 * Another client may change the entity meanwhile. A store that is refused for that with -ESTALE is
 * the writer's last, and its text is given up at once: what is written again, as C libraries and
 * Python do when they close a file, must not overwrite that change. Another open may.
 *
 * Errors: 0 or -errno, the reason in caller->call. An error without a reason there was reported by
 * an earlier call, or is reported by give_up at the release: a text that is refused is one line of
 * .tablefuse/errors. All functions may return -EINTR and -ETIMEDOUT: another event of the writer
 * did not end in time. */
#include "cache/account.h"
#include "fs/tree/inode.h"

#include <sys/queue.h>

struct writer_text { /* to be stored; all fields are views */
    struct address address;
    enum edit_begin begin;
    struct bytes text; /* as the user wrote it: one JSON object; appended: one or several */
    struct bytes snapshot, last_stored; /* ETags; empty: none */
    /* The text of the writer's last store whose answer was lost for good; data NULL: none. It may
     * be stored. */
    struct bytes doubtful;
    const struct later_etag *queued; /* of the text that was queued last; NULL: none */
    bool is_blank;                   /* {} of a new file that was never written */
    bool was_read;                   /* by a handle */
};

struct writer_loss { /* what could not be stored; all fields are views */
    /* "release"; or a "write": another client changed the entity first, or the text was to replace
     * a removed entity. */
    const char *operation;
    struct address address;
    struct bytes text; /* perhaps empty */
    bool is_new;       /* nothing is stored under the name. Else an empty text loses nothing: a
                          stored file was truncated, and nothing was written */
    bool is_reported;  /* a call about the file has failed since its last store that succeeded. Else
                      every call has succeeded: the error of a RELEASE reaches no process */
    int error;         /* -errno; the reason is in caller->call */
};

/* What writers store through. The functions are called without a lock, by the thread of the event,
 * for different writers at the same time. */
struct writer_store {
    /* 0, and the entity as it is afterwards, which the writer finishes; or -errno with the reason
     * in caller->call. */
    int (*store)(void *context, struct caller *caller, const struct writer_text *text,
                 struct entity *ret);
    /* Moves the Timestamp of the entity and nothing else; as store. `known`, or `queued`: the ETag
     * of the version that the writer knows. If it is another one that was touched, ret has no page.
     */
    int (*touch)(void *context, struct caller *caller, struct address address, struct bytes known,
                 const struct later_etag *queued, struct entity *ret);
    /* Is not called at a release if every write was refused. Of a write that failed behind others
     * nothing is in caller->call: the release tells of it, here, perhaps without a text. */
    void (*give_up)(void *context, struct caller *caller, const struct writer_loss *loss);
    /* The text's address is unsettled (client/base/position.h). 0: it was settled by what the text
     * says, by writers_settle among others; or -errno with the reason in caller->call. */
    int (*settle)(void *context, struct caller *caller, const struct writer_text *text);
    void *context;
    /* Room in memory for `more` bytes of a text that has `own`: 0; or -ENOSPC and others with the
     * reason in caller->call. It may wait. NULL: there is no limit. */
    int (*reserve)(void *context, struct caller *caller, size_t own, size_t more);
    /* A text needs `after` bytes in place of `before`. Does not wait. NULL as above. */
    void (*set_reserved)(void *context, size_t before, size_t after);
};

struct writer;
struct writers; /* all writers that have a handle, by address */
int writers_create(const struct clock *clock, const struct writer_store *store,
                   struct writers **ret);
void writers_destroy(struct writers *writers); /* takes NULL; no handle is open */

struct writer_begin {
    struct address address;
    enum edit_begin begin;
    bool is_new;       /* nothing is stored under the name: the writer is NEW */
    bool is_truncated; /* the text begins empty */
    /* Of a new file: the last release does not store {} if nothing was written. A database that
     * cannot create its journal leaves no entity. */
    bool is_provisional;
    struct entity snapshot; /* what is stored; no page: nothing. Only read during the call */
};
struct writer_handle { /* one open; in info->fh. Only writer.c changes it */
    struct writer *writer;
    uint64_t opener; /* process */
    LIST_ENTRY(writer_handle) of_writer;
};
/* Begins a writer with its first handle, which is the caller's process's. -ENOMEM, -EFBIG (the
 * stored text is too long to change); -EEXIST: there is a NEW writer of the name, which
 * writers_find_new answers; or, with the reason in caller->call, no room for the stored text. */
int writers_open(struct writers *writers, const struct writer_begin *begin, struct caller *caller,
                 struct writer_handle **ret);
/* Is the entity open for writing? */
bool writers_is_open(struct writers *writers, struct address address);
/* The NEW writer of the address, referenced. NULL: none. */
struct writer *writers_find_new(struct writers *writers, struct address address);
bool writers_has_new(struct writers *writers, struct address address); /* is there one? */
/* Appends the least position of a NEW writer in the range, behind `after`. False: none, or
 * ret->error is set. */
bool writers_next_new(struct writers *writers, const struct directory *directory,
                      struct bytes after, struct buffer *ret_position);
/* For UNLINK and RENAME: waits until no writer of the name is busy, and lets none become busy until
 * writers_let_go. So a store that was under way does not bring the name back. -EINTR, -ETIMEDOUT,
 * -ENOMEM. */
struct held_writers;
int writers_hold(struct writers *writers, struct address address, struct call *call,
                 struct held_writers **ret);
/* Is there a NEW writer of the name, and can nothing of it be stored? Then the service has nothing
 * to delete. Of a NEW writer whose store's answer was lost for good it may have an entity. */
bool writers_held_is_unstored(struct held_writers *held);
/* is_gone: the writers of the name become DETACHED, but not a NEW one that was begun since the
 * hold: that file is another. Else nothing has changed. */
void writers_let_go(struct held_writers *held, bool is_gone);
/* After an UNLINK of an entity. Of a new file of this name, whose text a program has put in the
 * entity's place, a write that is refused is given up, and not undone alone: nothing else is left.
 * The last 1,024 names are known. */
void writers_note_removed(struct writers *writers, struct address address);
/* After a rename, of which both names were held. The writers of the new name become DETACHED. Those
 * of the old one have the new name from then on. One that knows the version `before`, and a NEW
 * one, knows the version `after`, and stores over that. Without pages: nothing was stored, and a
 * NEW writer stays NEW. */
void writers_let_go_renamed(struct held_writers *from, struct held_writers *to,
                            const struct entity *before, const struct entity *after);
/* The writers and holds that the settlement concerns have the settled address from then on, also
 * writers that are busy. 0 or -ENOMEM: then some have not. */
int writers_settle(struct writers *writers, const struct settlement *settlement);
/* At unmount, when no event is under way: each text that a program has written, and that is neither
 * stored nor given up. */
void writers_for_each_unstored(struct writers *writers,
                               void (*visit)(void *context, struct address address,
                                             struct bytes text),
                               void *context);
/* At unmount, when no event is under way: flushes and closes each handle, as its process would.
 * After each the deadline is put off again, as long as the service answers. */
void writers_release_all(struct writers *writers, struct caller *caller);

struct writer *writer_ref(struct writer *writer);
void writer_unref(struct writer *writer);                  /* takes NULL */
struct node_file *writer_node_file(struct writer *writer); /* for inode_table_enter_own; borrowed */
struct writer *writer_of_node_file(struct node_file *file); /* the reference goes along */
uint64_t writer_size(struct writer *writer);                /* after the last event that ended */
/* The service's, of the version that was stored last, 100 ns since 1970; 0: nothing was stored. */
int64_t writer_timestamp(struct writer *writer);
bool writer_is_new(struct writer *writer);
bool writer_has_ended(struct writer *writer); /* it has no handle, and gets none any more */

/* Another handle. -ESTALE: the last handle was closed meanwhile; -ENOMEM. */
int writer_open_handle(struct writer *writer, uint64_t process, struct writer_handle **ret);
/* offset: WRITER_AT_END: behind the last byte of the text. */
#define WRITER_AT_END UINT64_MAX
int writer_write(struct writer_handle *handle, struct caller *caller, struct bytes bytes,
                 uint64_t offset);
/* A write is refused without writer_write. Its text counts as one that a write of failed: a new
 * file is not stored as {} then (draft.h). */
void writer_miss_write(struct writer_handle *handle);
/* Appends at most `size` bytes of the text, with all writes that succeeded. Of a writer that
 * appends to a stored text: -EBADF, because the draft does not hold that text. */
int writer_read(struct writer_handle *handle, struct caller *caller, uint64_t offset, size_t size,
                struct buffer *ret);
int writer_resize(struct writer *writer, struct caller *caller, uint64_t size);
/* A text that is refused only because a write was refused has that write's error. The reason of a
 * refused text is not in caller->call (of a touch: of an empty one): the release tells it, if the
 * text is not stored by then. Shells flush before they write, and a child process flushes what its
 * parent goes on with. */
int writer_flush(struct writer_handle *handle, struct caller *caller);
int writer_sync(struct writer_handle *handle, struct caller *caller);
int writer_touch(struct writer *writer, struct caller *caller);
/* Takes the handle. With the last one the writer ends as draft.h says, and what fails then is given
 * up. It waits for other events without a limit; that time does not count against the deadline of
 * the store. A RELEASE tells no process: caller->process becomes the opener. */
void writer_close_handle(struct writer_handle *handle, struct caller *caller);
/* The same for the handle of an open that the kernel did not take. If it is the last one, a blank
 * draft is neither stored nor given up: no file was opened. */
void writer_drop_handle(struct writer_handle *handle, struct caller *caller);

DEFINE_CLEANUP(struct writers *, writers_destroy);

#endif
