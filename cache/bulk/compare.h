/* SPDX-License-Identifier: MIT */
#ifndef CACHE_BULK_COMPARE_H
#define CACHE_BULK_COMPARE_H
/* Compares two tables: a merge of two streams of entities, each in key order. Pure; one thread.
 *
 *     compare_give(&compare, COMPARE_FROM, &rows);
 *     while ((step = compare_next(&compare, &pair)) == COMPARE_PAIR)
 *         ...
 *
 * Entities are equal if entity_text_equal says so: by properties, types and values, not by
 * Timestamp and ETag. A key is PAIR_UNREADABLE if one side has a bad row of it (page.h), or if the
 * texts differ and one of them is not canonical. */
#include "client/store/page.h"

enum compare_side { COMPARE_FROM, COMPARE_TO, COMPARE_SIDES };

enum pair_kind { PAIR_EQUAL, PAIR_ONLY_FROM, PAIR_ONLY_TO, PAIR_DIFFERENT, PAIR_UNREADABLE };

struct pair_row { /* a view; page NULL: this side has no entity with the key */
    const struct page *page;
    size_t row;
};
struct pair { /* what both sides have of one key */
    enum pair_kind kind;
    struct bytes position;
    struct pair_row sides[COMPARE_SIDES];
};

struct compare { /* zero at the start; private */
    struct compare_stream {
        struct run rows; /* those that are not compared yet */
        bool has_ended;
    } streams[COMPARE_SIDES];
};
void compare_finish(struct compare *compare);

enum compare_step { COMPARE_PAIR, COMPARE_END, COMPARE_NEEDS_FROM, COMPARE_NEEDS_TO };
/* The next pair in key order; valid until the next call. COMPARE_NEEDS_*: give the next rows of
 * that side first, or its end. */
enum compare_step compare_next(struct compare *compare, struct pair *ret);
/* Gives the next rows of this side, at least one; takes the reference. */
void compare_give(struct compare *compare, enum compare_side side, struct run *rows);
void compare_give_end(struct compare *compare, enum compare_side side);

/* The kind of a pair: two rows with one key, or one row that the other side does not have. */
enum pair_kind compare_rows(struct pair_row from, struct pair_row to);

#endif
