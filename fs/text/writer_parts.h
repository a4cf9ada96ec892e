/* SPDX-License-Identifier: MIT */
#ifndef FS_TEXT_WRITER_PARTS_H
#define FS_TEXT_WRITER_PARTS_H
/* What the four files of a writer share: the fields of a writer and of the map of all writers.
 * writer.c creates and frees writers and their handles; writer_events.c handles events of the text,
 * from a write to the release; writer_outcome.c decides what of a failure is reported and kept;
 * writers.c has the map. Private to them. Functions that end in _locked are called inside the
 * monitor. */
#include "client/base/monitor.h"
#include "fs/text/draft.h"
#include "fs/text/writer.h"

#include <bsd/sys/tree.h>

enum writer_state { WRITER_NEW, WRITER_OPEN, WRITER_DETACHED };

LIST_HEAD(handle_list, writer_handle);

/* The name under which a writer is stored. Writers that were renamed together share one. Immutable:
 * a settlement or rename gives the writer another one. */
struct writer_name {
    _Atomic size_t references;
    struct address address; /* a view into text */
    char text[];            /* table, NUL, position */
};
/* NULL: out of memory. */
struct writer_name *writer_name_create(struct address address);
struct writer_name *writer_name_ref(struct writer_name *name);
void writer_name_unref(struct writer_name *name); /* takes NULL */

/* What has become of the text. */
struct writer_outcome {
    /* Why the last store or write was refused; error 0: none was since the last successful store,
     * or since the text was emptied. */
    struct failure refused;
    bool may_be_stored; /* the answer to a store was lost for good */
    bool is_kept; /* the text was given up when a store or write was refused; no write or resize has
                     succeeded since */
    /* The last failure that the release is to report, and the name of its call; error 0: none. */
    struct failure unreported;
    const char *unreported_call;
};

struct writer {
    struct node_file file; /* first */
    struct writers *writers;
    _Atomic size_t references;
    enum edit_begin begin;
    bool is_provisional;
    uint64_t number; /* distinguishes the writers of an address */
    /* used only by the event that has made the writer busy */
    struct writer_name *event_name; /* the name when the event began; `name` may be settled since */
    struct draft draft;
    struct etag snapshot, last_stored;
    size_t reserved;           /* bytes of memory, for the draft's text */
    struct later_etag *queued; /* of the last queued text; NULL if a store has replaced it */
    struct writer_outcome outcome;
    bool was_read;       /* a handle has read the text, which may be the old text of the entity */
    bool is_replacement; /* the file is new, and the entity of its name was removed before */
    /* guarded by the monitor; while the writer is busy, the state does not change, and the name
     * only by a settlement */
    enum writer_state state;
    struct writer_name *name;
    struct address address; /* the name's */
    bool is_busy;
    bool has_no_text;      /* it has ended: the draft's text is freed; `size` is still valid */
    bool has_missed_write; /* the next event must call draft_missed_write */
    bool has_reported;     /* a call has failed since the last successful store */
    uint64_t size;
    int64_t timestamp;          /* of the version that was stored last; 0: none */
    struct handle_list handles; /* empty: the writer has ended, and is not in the map */
    RB_ENTRY(writer) by_address;
};

RB_HEAD(writer_map, writer);
LIST_HEAD(held_list, held_writers);

#define REMOVED_NAMES 1024 /* enough for a tree that a program removes and then writes anew */

struct writers {
    const struct clock *clock;
    struct writer_store store;
    struct monitor monitor;
    /* guarded by monitor */
    struct writer_map map;
    struct held_list held;
    uint64_t last_number;
    /* Hashes of the names that were removed last, in a ring. If two names have the same hash, the
     * only effect is that a refused text is kept that need not be. */
    uint64_t removed[REMOVED_NAMES];
    size_t removed_count; /* of all time */
};

bool writer_has_one_handle(struct writer *writer);
/* Frees the handle. True: it was the last one, and the writer has ended. */
bool writer_free_handle(struct writer *writer, struct writer_handle *handle);
/* The address for the event that is handled. */
static inline struct address writer_event_address(const struct writer *writer)
{
    return writer->event_name->address;
}
/* Only for a busy writer: its answer stays true, because a hold waits until the writer is not busy.
 */
bool writer_is_detached(struct writer *writer);
/* Reserves memory for a draft's text of at most `size` bytes. 0; or -errno with the reason in
 * caller->call. */
int writer_reserve(struct writer *writer, struct caller *caller, size_t size);
/* Gives back the reserved memory that the texts do not need. */
void writer_fit_reserved(struct writer *writer);
/* Add the writer to the map, and remove it. */
void writers_add_locked(struct writers *writers, struct writer *writer);
void writers_remove_locked(struct writers *writers, struct writer *writer);
struct writer *writers_find_new_locked(struct writers *writers, struct address address);
bool writers_was_removed_locked(const struct writers *writers, struct address address);
bool writers_is_held_locked(const struct writers *writers, struct address address);
/* Waits until anything in the monitor changes. call NULL: no deadline. 0, -EINTR, -ETIMEDOUT. */
int writers_wait_locked(struct writers *writers, struct call *call);

/* The outcome of a busy writer's text. A text that is given up has one line in the log, with the
 * last failure. So if a call fails while the draft has text, the release reports that failure.
 * outcome_store_refused and outcome_write_refused find the failure in caller->call, and clear it if
 * it must have no line of its own. */

/* A call about the writer fails; has one failed since the last successful store? */
void outcome_note_reported(struct writer *writer);
bool outcome_has_reported(struct writer *writer);
/* Did a store fail with -ESTALE, because another client changed the entity first? */
bool outcome_has_lost(const struct writer *writer);
/* Makes the draft's refusal of a text or size the failure of the call. Returns the error. */
int outcome_refuse_text(struct caller *caller, int error, const struct draft_problem *problem);
/* The draft refuses the text at a flush, fsync or touch, with -EINVAL. Of a DETACHED writer that
 * does not matter: nothing of it is kept. If a write was refused before, its error is returned
 * again: C libraries and Python report the error of close, not that of the write. */
int outcome_refuse_flush(struct writer *writer, struct caller *caller,
                         const struct draft_problem *problem);
/* A store of `text` was refused. If another client changed the entity first, a text that is written
 * in order goes to lost+found now, because the write is undone in the draft. Any other text stays
 * in the draft until the release. is_reported: as of struct writer_loss. */
void outcome_store_refused(struct writer *writer, struct caller *caller, struct bytes text,
                           bool is_reported);
void outcome_stored(struct writer *writer);
/* A write of `bytes` was refused. If text before it is not stored yet, that stays in the draft, and
 * the release reports the failure. The text of a replacement is given up now. is_again: an earlier
 * write has failed likewise, and nothing was stored since. */
void outcome_write_refused(struct writer *writer, struct caller *caller, struct bytes bytes,
                           bool is_again);
/* The text has size 0: what was refused before does not concern the next text. */
void outcome_text_emptied(struct writer *writer, struct caller *caller);
/* The release reports the failure of `call`, so that a text has one line in the log. */
void outcome_leave_to_release(struct writer *writer, struct failure *failure, const char *call);
/* Reports the failure that was left to the release, if the text is emptied, or if the release does
 * not give it up. */
void outcome_report_rest(struct writer *writer, struct caller *caller);
/* Sets the reason why the text of the last handle is not stored, and returns its error. If a write
 * failed, the text in lost+found lacks a part of what the program wrote: the reason says so. */
int outcome_explain_end(struct writer *writer, struct caller *caller);

#endif
