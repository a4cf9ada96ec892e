/* SPDX-License-Identifier: MIT */
#ifndef FS_TEXT_WRITER_H
#define FS_TEXT_WRITER_H
/* An entity that is open for writing: a draft (draft.h), the name under which it is stored, and its
 * handles. A writer belongs to a node, not to a handle: all handles of one node write one text, as
 * on a local disk. So dup'ed handles share a writer, and so do all handles of a new file that is
 * not stored yet. But two opens of a stored entity have two nodes and two writers. If both began
 * with the stored text, the one that stores second fails with -ESTALE, because its ETag is
 * outdated. If the second began empty and was not read, it replaces what this mount has stored
 * since.
 *
 *   state       stored under   a LOOKUP of its name shows        becomes
 *   NEW         its name       the writer                        OPEN when it is stored
 *   OPEN        its name       the stored entity
 *   DETACHED    nowhere        -
 *
 * The name of a NEW writer may be unsettled: the cut name of a key that is not known yet
 * (client/base/position.h). Only a text that has the key settles it, so {} is not stored for it.
 *
 * If the name of a writer is renamed, the writer has the new name from then on. If the name is
 * unlinked, or given to another file, the writer becomes DETACHED: its handles still read and write
 * the text in memory, and nothing of it is sent or kept. A writer ends with its last handle.
 *
 * Another client may change the entity meanwhile. Then the next store fails with -ESTALE, and the
 * writer gives its text up and stores nothing more: C libraries and Python write again when they
 * close a file, and that must not overwrite the other client's change. A new open starts afresh.
 *
 * To give a text up means: it is never sent again, and goes to lost+found, with one line in
 * .tablefuse/errors.
 *
 * Thread-safety: any thread. One event (write, flush, ...) of a writer is handled at a time: its
 * thread makes the writer busy, and other threads wait for that, up to their deadlines. So writes
 * and flushes of one writer never overtake each other. All other fields, and the map of all
 * writers, are guarded by one monitor, which is not held while a text is stored.
 * Ownership: nodes and handles hold counted references. Strings and texts are copied.
 * Errors: 0 or -errno, the reason in caller->call.failure. If that has no error, do not log the
 * error: an earlier call has reported it, or the release will. All functions may return -EINTR and
 * -ETIMEDOUT: another event of the writer did not end in time. */
#include "cache/account.h"
#include "fs/tree/inode.h"

#include <sys/queue.h>

struct writer_text { /* to be stored; all fields are views */
    struct address address;
    enum edit_begin begin;
    struct bytes text; /* as the user wrote it: one JSON object; appended: one or several */
    struct bytes snapshot, last_stored; /* ETags; empty: none */
    const struct later_etag *queued;    /* learns the ETag of the last queued text; NULL: none */
    bool is_blank;                      /* the text is {}, of a new file that was never written */
    bool was_read;                      /* a handle has read the writer's text */
};

struct writer_loss { /* what could not be stored; all fields are views */
    /* "release"; or the call that failed: "write", or of a failure that was left to the release
     * also "fsync" or "setattr". */
    const char *operation;
    struct address address;
    struct bytes text; /* perhaps empty */
    bool is_new;       /* nothing is stored under the name. If it is false and the text is empty,
                          nothing is lost: a stored file was truncated and not written */
    bool is_reported;  /* a call about the file has failed since its last successful store. False:
                          no process knows, because the error of a RELEASE reaches none */
    int error;         /* -errno; the reason is in caller->call */
};

/* Where writers store their texts (text_sink.h). The functions are called without a lock, by the
 * thread of the event, for different writers at the same time. */
struct writer_store {
    /* Stores the text. 0, and ret is the entity as it is afterwards, which the writer finishes; or
     * -errno with the reason in caller->call. */
    int (*store)(void *context, struct caller *caller, const struct writer_text *text,
                 struct entity *ret);
    /* Makes the service set a new Timestamp, and changes nothing else; returns as `store`. `known`
     * is the ETag of the version that the writer knows, or `queued` learns it. If another version
     * was touched, ret has no page. */
    int (*touch)(void *context, struct caller *caller, struct address address, struct bytes known,
                 const struct later_etag *queued, struct entity *ret);
    /* Gives a text up. Not called at the release if every write was refused, because each write has
     * reported that. If some writes succeeded and a later one failed, its reason was kept for the
     * release, which calls give_up, perhaps without a text. */
    void (*give_up)(void *context, struct caller *caller, const struct writer_loss *loss);
    /* Takes the key from the text, and settles the text's address with it: it calls writers_settle.
     * 0, or -errno with the reason in caller->call. */
    int (*settle)(void *context, struct caller *caller, const struct writer_text *text);
    void *context;
    /* Reserves memory for `more` bytes of a text that has `own`: 0; or -ENOSPC and others with the
     * reason in caller->call. It may wait. NULL: there is no limit. */
    int (*reserve)(void *context, struct caller *caller, size_t own, size_t more);
    /* The text needs `after` bytes in place of `before`. Does not wait. NULL as above. */
    void (*set_reserved)(void *context, size_t before, size_t after);
};

struct writer;
struct writers; /* all writers that have a handle, by address */
int writers_create(const struct clock *clock, const struct writer_store *store,
                   struct writers **ret);
void writers_destroy(struct writers *writers); /* takes NULL; no handle may be open */

struct writer_begin {
    struct address address;
    enum edit_begin begin;
    bool is_new;       /* nothing is stored under the name: the writer is NEW */
    bool is_truncated; /* the text begins empty */
    /* Of a new file: if nothing is written, the last release does not store {}. Example: a database
     * creates its file, cannot create its journal, and gives up: no entity is left. */
    bool is_provisional;
    struct entity snapshot; /* the stored entity, used during the call only; no page: none */
};
struct writer_handle { /* one open; in info->fh. Only writer.c changes it */
    struct writer *writer;
    uint64_t opener; /* process */
    LIST_ENTRY(writer_handle) of_writer;
};
/* Begins a writer with its first handle, whose opener is the caller's process. -ENOMEM, -EFBIG (the
 * stored text is too long to change); -EEXIST: the name has a NEW writer, which writers_find_new
 * returns. Others, with the reason in caller->call: there is no room for the stored text. */
int writers_open(struct writers *writers, const struct writer_begin *begin, struct caller *caller,
                 struct writer_handle **ret);
/* Is the entity open for writing? */
bool writers_is_open(struct writers *writers, struct address address);
/* The NEW writer of the address, referenced. NULL: none. */
struct writer *writers_find_new(struct writers *writers, struct address address);
bool writers_has_new(struct writers *writers, struct address address); /* is there one? */
/* Appends the least position of a NEW writer in the directory that is greater than `after`. False:
 * there is none, or ret->error is set. */
bool writers_next_new(struct writers *writers, const struct directory *directory,
                      struct bytes after, struct buffer *ret_position);
/* For UNLINK and RENAME: waits until no writer of the name is busy, and keeps them from becoming
 * busy until writers_let_go. So no store that is still under way creates the name again. -EINTR,
 * -ETIMEDOUT, -ENOMEM. */
struct held_writers;
int writers_hold(struct writers *writers, struct address address, struct call *call,
                 struct held_writers **ret);
/* True: the name has a NEW writer of which the service has nothing, so there is nothing to delete.
 * False also if the answer to a NEW writer's store was lost for good: the service may have the
 * entity. */
bool writers_held_is_unstored(struct held_writers *held);
/* is_gone: the name was removed. Its writers become DETACHED, except a NEW one that began after the
 * hold, which is another file. Not is_gone: nothing changes. */
void writers_let_go(struct held_writers *held, bool is_gone);
/* Called after an UNLINK of an entity. A new file of this name that is written afterwards counts as
 * its replacement. If such a write is refused, the text is given up, so that lost+found keeps it:
 * the old entity is gone. (Another refused write is only undone.) The last 1,024 names are kept. */
void writers_note_removed(struct writers *writers, struct address address);
/* Ends the holds of both names after a rename. The writers of the new name become DETACHED. The
 * writers of the old name have the new name from then on. If such a writer is NEW, or its known
 * version is `before`, its known version becomes `after`, which its next store replaces. Without
 * pages: nothing was stored, and a NEW writer stays NEW. */
void writers_let_go_renamed(struct held_writers *from, struct held_writers *to,
                            const struct entity *before, const struct entity *after);
/* Gives the settled address to the writers and holds that the settlement concerns, also to busy
 * writers. 0 or -ENOMEM: then some do not have it. */
int writers_settle(struct writers *writers, const struct settlement *settlement);
/* At unmount, when no event is under way: visits each text that a program has written, and that is
 * neither stored nor given up. */
void writers_for_each_unstored(struct writers *writers,
                               void (*visit)(void *context, struct address address,
                                             struct bytes text),
                               void *context);
/* At unmount, when no event is under way: flushes and closes each handle, as its process would.
 * After each handle the deadline is renewed, as long as the service answers. */
void writers_release_all(struct writers *writers, struct caller *caller);

struct writer *writer_ref(struct writer *writer);
void writer_unref(struct writer *writer);                  /* takes NULL */
struct node_file *writer_node_file(struct writer *writer); /* for inode_table_enter_own; borrowed */
struct writer *writer_of_node_file(struct node_file *file); /* takes over the reference */
uint64_t writer_size(struct writer *writer);                /* after the last event that ended */
/* The service's Timestamp of the version that was stored last, 100 ns since 1970; 0: none was. */
int64_t writer_timestamp(struct writer *writer);
bool writer_is_new(struct writer *writer);
bool writer_has_ended(struct writer *writer); /* its last handle was closed; it gets no other */

/* Opens another handle. -ESTALE: the last handle was closed meanwhile; -ENOMEM. */
int writer_open_handle(struct writer *writer, uint64_t process, struct writer_handle **ret);
/* offset: WRITER_AT_END: after the last byte of the text. */
#define WRITER_AT_END UINT64_MAX
int writer_write(struct writer_handle *handle, struct caller *caller, struct bytes bytes,
                 uint64_t offset);
/* A write was refused before it reached writer_write. The draft counts as having a failed write: so
 * a new file is not stored as {} (draft.h). */
void writer_miss_write(struct writer_handle *handle);
/* Appends at most `size` bytes of the text, as the successful writes have made it. -EBADF for a
 * writer that appends to a stored text, because the draft does not hold that text. */
int writer_read(struct writer_handle *handle, struct caller *caller, uint64_t offset, size_t size,
                struct buffer *ret);
int writer_resize(struct writer *writer, struct caller *caller, uint64_t size);
/* If the text is refused only because a write was refused before, the error is that write's. After
 * a flush caller->call has no reason, nor if writer_sync refuses the text, or writer_touch an empty
 * one: the release reports it, unless the text is stored by then. A flush may be too early to
 * report it: shells flush before they write, and a child process flushes a text that its parent
 * continues. */
int writer_flush(struct writer_handle *handle, struct caller *caller);
int writer_sync(struct writer_handle *handle, struct caller *caller);
int writer_touch(struct writer *writer, struct caller *caller);
/* Closes and frees the handle. If it is the last one, the writer ends as draft.h says, and a text
 * that cannot be stored then is given up. Waits for other events without a limit; that time does
 * not count against the deadline of the store. The kernel names no process in a RELEASE:
 * caller->process becomes the opener. */
void writer_close_handle(struct writer_handle *handle, struct caller *caller);
/* The same for the handle of an OPEN whose reply the kernel did not accept, for example because the
 * process was killed. If it is the last one, a blank draft is neither stored nor given up: no file
 * was opened. */
void writer_drop_handle(struct writer_handle *handle, struct caller *caller);

DEFINE_CLEANUP(struct writers *, writers_destroy);

#endif
