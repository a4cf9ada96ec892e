/* SPDX-License-Identifier: MIT */
#ifndef CACHE_CHANGE_WRITE_RULE_H
#define CACHE_CHANGE_WRITE_RULE_H
/* Chooses the write, and its precondition, with which a text is stored. Pure; any thread.
 *
 *     how the edit began    nothing known      process read R      opened S          B is masked
 *     EDIT_NEW              upsert             -                   -                 Replace B
 *     EDIT_EXCLUSIVE        Insert             -                   -                 Replace B
 *     EDIT_OVER             upsert             Replace R           -                 Replace B
 *     EDIT_CHANGED          Replace *          -                   Replace S         -
 *     EDIT_APPENDED         Insert             -                   -                 Replace B
 *     stored before         Replace, If-Match the version that was stored last, by the edit, or by
 *                           this mount since (cache/change/store.c)
 *
 *   - upsert: WRITE_UPSERT_REPLACE, without a precondition
 *   - Replace X: with If-Match X; Replace *: of any version, but the entity must exist
 *   - the row is chosen by write_facts.begin; "stored before" (last_stored is set) wins over all
 *   - the column is the last one that is true and whose cell is not `-`. Example: EDIT_NEW by a
 *     process that has read R: upsert, as if nothing were known
 *   - EDIT_APPENDED with nothing masked is stored by cache/change/append.c. The row is for a masked
 *     entity, which this mount does not show: appending begins a new text there. But a file that
 *     was opened before the mask appends to the masked text: cache/change/store.c ends the mask
 *
 * With conflict=overwrite every Replace becomes an upsert.
 *
 * Example: vim renames f.json to f.json~, which masks version B, and creates f.json: EDIT_NEW with
 * `masked` = B. The new text is stored by Replace with If-Match B. */
#include "client/store/table_store.h"

enum edit_begin {
    EDIT_NEW,       /* created, or renamed to a name that did not exist */
    EDIT_EXCLUSIVE, /* O_EXCL, RENAME_NOREPLACE */
    EDIT_OVER,      /* O_TRUNC without a read before, or renamed onto an entity */
    EDIT_CHANGED,   /* opened without O_TRUNC, or O_RDWR: the old text may have been read */
    EDIT_APPENDED,  /* O_APPEND, also of a new file */
};

struct write_facts { /* ETags; empty: none */
    enum edit_begin begin;
    struct bytes last_stored, masked, read, snapshot;
    bool overwrites_conflicts;
};

struct write_rule {
    enum write_kind kind;
    struct bytes if_match; /* a view of one of the facts, or static; empty: no precondition */
};
struct write_rule write_rule_choose(const struct write_facts *facts);

#endif
