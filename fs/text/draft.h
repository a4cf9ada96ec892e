/* SPDX-License-Identifier: MIT */
#ifndef FS_TEXT_DRAFT_H
#define FS_TEXT_DRAFT_H
/* The text of an open file, as far as it is written: a state machine. Each event moves the draft to
 * its next state and returns an action. The draft stores nothing itself: its owner, the writer,
 * performs the action and reports the result to the draft. Pure; one thread at a time.
 *
 *     DRAFT_STORED  as the service has it, or as it was opened; blanks may follow
 *     DRAFT_BLANK   began empty (new, truncated, size 0); only blanks were written since
 *     DRAFT_PART    written in order, and so far the beginning of one object
 *     DRAFT_LOOSE   a whole text was opened and changed, or a write was not at the end; only a
 *                   flush can tell whether the text is an object
 *
 * Blanks are JSON whitespace; a byte order mark belongs to the object after it. "Opener" is the
 * process that has opened the file. A cell of the table is the next state, an errno, an action, or
 * `-` for nothing. The numbers refer to the notes below.
 *
 *   event \ state            STORED         BLANK            PART            LOOSE
 *   write at the end:
 *     completes an object    (1)            store (2)        store (2)       LOOSE
 *     could become one       (1)            PART             PART            LOOSE
 *     blanks                 STORED         BLANK            PART            LOOSE
 *     can never be one       (1)            EINVAL (3)       EINVAL (3)      LOOSE
 *   write elsewhere          LOOSE          LOOSE            LOOSE           LOOSE
 *   size 0                   BLANK          BLANK            BLANK           BLANK
 *   another size             LOOSE          LOOSE            LOOSE           LOOSE
 *   flush by the opener      -              new: - (5)       EINVAL          store, or EINVAL
 *                                           else EINVAL (4)
 *   flush by another         -              -                -               store, or -
 *   fsync                    -              new: store {} (5) EINVAL         store, or EINVAL
 *                                           else EINVAL
 *   touch (the time now)     touch          new: store {} (5) -              -
 *   last release             -              new: store {} (5) give up        give up
 *                                           else give up
 *
 *   - (1) an appended draft, or a new one stored as {}: as in BLANK. Another that began empty has
 *     its object already: EINVAL, except for blanks. One opened whole: LOOSE, except for blanks
 *   - (2) if the store succeeds: STORED, or PART if an appended draft has more text after the
 *     object. If it fails: the write fails, and the draft is as before the write
 *   - (3) the draft is as before the write
 *   - (4) but - if another process has flushed the draft: a child of the opener is still writing
 *   - (5) if a write has failed since the draft was last empty, {} is never stored: flush by the
 *     opener and fsync return EINVAL, touch does nothing, the last release gives up. So neither
 *     `echo hello > new.json` nor a store whose answer was lost leaves an empty entity
 *   - a new draft may be set to refuse {} (draft_refuse_empty). Then it behaves like a draft that
 *     is not new, except that touch returns EINVAL
 *   - after a store of {}: STORED if it succeeds, else BLANK
 *   - after a store in LOOSE: STORED, as if opened whole, if it succeeds, else LOOSE
 *   - give up: the owner logs the failure, and draft_unstored goes to lost+found
 *
 * An appended draft adds to a stored text that it does not hold. Each write goes to its end,
 * whatever the offset, and each object is merged into the stored entity. Its text is what was
 * appended; its size includes the stored text. When a write would exceed DRAFT_MAX_BYTES, objects
 * that are merged are removed from the text, and their bytes count as stored text: so there is no
 * limit to what is appended in all. Size 0 makes it an ordinary draft, whose text replaces the
 * stored one. Another size is EINVAL.
 *
 * Examples: `echo hello > f`: BLANK, and "hello" can never become an object: EINVAL, the draft is
 * BLANK again. A pipe writes `{"a":` and then `1}`: BLANK, PART, store. */
#include "client/text/json_reader.h"

/* The maximum of draft.text: a write that would exceed it fails with -EFBIG. Objects of an appended
 * draft that were merged do not count. */
#define DRAFT_MAX_BYTES ((size_t)8 << 20)

enum draft_state { DRAFT_STORED, DRAFT_BLANK, DRAFT_PART, DRAFT_LOOSE };
enum draft_action { DRAFT_NOTHING, DRAFT_STORE, DRAFT_TOUCH, DRAFT_GIVE_UP };

struct draft_reading { /* how far a text is parsed; private */
    struct json_reader json;
    size_t at;         /* inside an object: its first byte; else after the last object and blanks */
    size_t object_end; /* of the last whole object; 0: none */
    bool is_inside;
};

struct draft { /* fields are read by the owner, and set by draft.c alone */
    enum draft_state state;
    bool is_new;      /* nothing is stored under its name */
    bool is_appended; /* each write goes to the end, and each object is merged */
    bool began_empty; /* false: opened whole, or a write was not at the end */
    bool was_flushed_by_another;
    bool has_failed;           /* a write failed since the draft was last empty */
    const char *refuses_empty; /* of a new one: why {} cannot be stored; NULL: it can */
    uint64_t base_size; /* of an appended draft: bytes of stored text before `text`; else 0 */
    struct buffer text;
    size_t stored_size; /* if it began empty: stored bytes of `text`, without blanks after them */
    struct draft_reading reading;
    struct { /* before the last write, to undo it */
        struct draft_reading reading;
        size_t size;
        enum draft_state state;
    } before;
};

/* With -EINVAL: why, and where. */
struct draft_problem {
    const char *reason; /* static text */
    /* The text before the wrong byte, to count its lines; without the stored text of an appended
     * draft; empty if a size was refused. A view, valid until the next call with this draft. It may
     * include bytes of the refused write. */
    struct bytes before;
};

/* For a new file: is_new, and no text. For a truncated file: no text. For an appended one:
 * is_appended, no text, and base_size (0 if the file is new). Else `text` is the stored text; it is
 * copied. -ENOMEM, -EFBIG. */
int draft_init(struct draft *draft, bool is_new, bool is_appended, uint64_t base_size,
               struct bytes text);
void draft_finish(struct draft *draft);
/* reason: why {} of a new file cannot be stored (static text); NULL: it can. */
void draft_refuse_empty(struct draft *draft, const char *reason);
uint64_t draft_size(const struct draft *draft);

/* Events. Each returns an enum draft_action; or -EINVAL with the problem, -EFBIG or -ENOMEM, and
 * then only has_failed of the draft may have changed. Writing n bytes in order in k pieces takes
 * O(n + k). */
int draft_write(struct draft *draft, struct bytes bytes, uint64_t offset,
                struct draft_problem *ret_problem);
int draft_resize(struct draft *draft, uint64_t size, struct draft_problem *ret_problem);
int draft_flush(struct draft *draft, bool is_by_opener, struct draft_problem *ret_problem);
int draft_sync(struct draft *draft, struct draft_problem *ret_problem);
int draft_touch(const struct draft *draft, struct draft_problem *ret_problem);
/* A write failed before it reached the draft. */
void draft_missed_write(struct draft *draft);
enum draft_action draft_release(const struct draft *draft);

/* After DRAFT_STORE: the text to store, a view: one object; of an appended draft one or several; of
 * a blank draft "{}". It may begin and end with blanks. The owner stores it and then calls
 * draft_was_stored or draft_was_refused, before any other event. */
struct bytes draft_object(const struct draft *draft);
void draft_was_stored(struct draft *draft);
void draft_was_refused(struct draft *draft);

/* The text that was written without an error and is not stored, for lost+found; a view, perhaps
 * empty. */
struct bytes draft_unstored(const struct draft *draft);

#endif
