/* SPDX-License-Identifier: MIT */
#ifndef CACHE_CHANGE_WRITE_RULE_H
#define CACHE_CHANGE_WRITE_RULE_H
/* Chooses the write, and its precondition, with which a text is stored. Pure; any thread.
 *
 *     how the edit began    nothing known      process read R      snapshot S        B is masked
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
 *   - a cell `-` does not count: the row's rule is that of the cells that do. Of two that count the
 *     one farther right decides, and "stored before" decides over all
 *   - a masked version is one that this mount does not show: appending begins a new text there.
 *     What was opened before the mask goes on instead: cache/change/store.c ends the mask, and
 * merges
 *   - what is appended where nothing is masked is stored by cache/change/append.c
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
    struct bytes if_match; /* a view of one of the facts, or static; empty: none */
};
struct write_rule write_rule_choose(const struct write_facts *facts);

#endif
