/* SPDX-License-Identifier: MIT */
#ifndef FS_TEXT_WRITER_PARTS_H
#define FS_TEXT_WRITER_PARTS_H
/* What the three files of a writer share: the fields of a writer and of the map of all writers.
 * writer.c creates and frees writers and their handles, writer_events.c handles events of the text,
 * from a write to the release, and writers.c has the map. Private to them. Functions that end in
 * _locked are called inside the monitor. */
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
    bool may_be_stored;        /* the answer to a store was lost for good */
    size_t reserved;           /* bytes of memory, for the draft's text */
    struct later_etag *queued; /* of the last queued text; NULL if a store has replaced it */
    /* Why the last store or write was refused; error 0: none was since the last successful store.
     */
    struct failure refused;
    bool is_kept; /* the draft's text was given up when a write failed, and has not changed since */
    /* The last failure that the release is to report, and the name of its call; error 0: none. */
    struct failure unreported;
    const char *unreported_call;
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

#endif
