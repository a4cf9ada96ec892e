/* SPDX-License-Identifier: MIT */
#ifndef FS_TEXT_WRITER_PARTS_H
#define FS_TEXT_WRITER_PARTS_H
/* What the three files of a writer share: the fields of a writer and of the map of all writers.
 * writer.c has its life and its handles, writer_events.c what happens to its text, from a write to
 * the release, and writers.c the map. Private to them. Functions that end in _locked are called
 * inside the monitor. */
#include "client/base/monitor.h"
#include "fs/text/draft.h"
#include "fs/text/writer.h"

#include <bsd/sys/tree.h>

enum writer_state { WRITER_NEW, WRITER_OPEN, WRITER_DETACHED };

LIST_HEAD(handle_list, writer_handle);

/* What a writer is stored under; writers that follow a rename share one. Immutable: one that is
 * settled gets another. */
struct writer_name {
    _Atomic size_t references;
    struct address address; /* a view into text */
    char text[];            /* table, NUL, position */
};
/* NULL: out of memory. */
struct writer_name *writer_name_create(struct address address);
struct writer_name *writer_name_ref(struct writer_name *name);
void writer_name_unref(struct writer_name *name); /* takes NULL */

struct writer {
    struct node_file file; /* first */
    struct writers *writers;
    _Atomic size_t references;
    enum edit_begin begin;
    bool is_provisional;
    uint64_t number; /* tells the writers of an address apart */
    /* belong to the event that made it busy */
    struct writer_name *event_name; /* the name's when the event began; it may be settled since */
    struct draft draft;
    struct etag snapshot, last_stored;
    bool may_be_stored;        /* a text whose store's answer was lost for good */
    size_t reserved;           /* room in memory, for the draft's text and `doubtful` */
    struct buffer doubtful;    /* that text; empty: none, or there was no memory to keep it */
    struct later_etag *queued; /* of the text that was queued last, and not stored over since */
    /* Of the last store or write that was refused; error 0: none since the last store that
     * succeeded. */
    struct failure refused;
    bool is_kept; /* the draft's text was given up with the write that failed, and is as it was */
    /* Of the last call whose failure is left to the release: why, and its name; error 0: none. */
    struct failure untold;
    const char *unreported_call;
    bool was_read;       /* by a handle: it may hold what the entity was */
    bool is_replacement; /* new, and the entity of its name was removed before */
    /* guarded by the monitor; while the writer is busy, the state stays, and so does the name, but
     * for a settlement */
    enum writer_state state;
    struct writer_name *name;
    struct address address; /* the name's */
    bool is_busy;
    bool has_no_text;      /* it has ended: the draft's text is freed, and `size` stays */
    bool has_missed_write; /* draft_missed_write is to be called */
    bool has_reported;     /* a call has failed since the last store that succeeded */
    uint64_t size;
    int64_t timestamp;          /* of the version that was stored last; 0: none */
    struct handle_list handles; /* none: it has ended, and is not in the map */
    RB_ENTRY(writer) by_address;
};

RB_HEAD(writer_map, writer);
LIST_HEAD(held_list, held_writers);

#define REMOVED_NAMES 1024 /* of a tree that a program removes before it writes it anew */

struct writers {
    const struct clock *clock;
    struct writer_store store;
    struct monitor monitor;
    /* guarded by monitor */
    struct writer_map map;
    struct held_list held;
    uint64_t last_number;
    /* Hashes of the names that were removed last, in a ring. Two names with one hash do no harm: a
     * refused text is kept that need not be. */
    uint64_t removed[REMOVED_NAMES];
    size_t removed_count; /* ever */
};

bool writer_has_one_handle(struct writer *writer);
/* Frees the handle. True: it was the last one, and the writer has ended. */
bool writer_free_handle(struct writer *writer, struct writer_handle *handle);
/* Of the event. */
static inline struct address writer_event_address(const struct writer *writer)
{
    return writer->event_name->address;
}
/* The draft's text gets this long, at most. 0; or -errno with the reason in caller->call. */
int writer_reserve(struct writer *writer, struct caller *caller, size_t size);
/* As much room as the texts take. */
void writer_fit_reserved(struct writer *writer);
/* Into the map, and out of it. */
void writers_add_locked(struct writers *writers, struct writer *writer);
void writers_remove_locked(struct writers *writers, struct writer *writer);
struct writer *writers_find_new_locked(struct writers *writers, struct address address);
bool writers_was_removed_locked(const struct writers *writers, struct address address);
bool writers_is_held_locked(const struct writers *writers, struct address address);
/* Waits for the next change. call NULL: without a deadline. 0, -EINTR, -ETIMEDOUT. */
int writers_wait_locked(struct writers *writers, struct call *call);

#endif
