/* SPDX-License-Identifier: MIT */
#ifndef CACHE_SCAN_LADDER_H
#define CACHE_SCAN_LADDER_H
/* Ladder: cuts a range where the keys' common beginning may change. Pure; one thread.
 *
 * A page with "customer_000001" to "customer_000999" does not show whether all keys of the range
 * start with "customer_". So the range is cut after all keys that start with "customer_000", then
 * after all that start with "customer_00", and so on. These cuts are the rungs, from the deepest
 * (the nearest) to the flattest. The answers show after which rung other keys begin. All sizes
 * are bytes of whole CESU-8 characters. */
#include "cache/scan/key_model.h"

/* Size of the common beginning of both keys. */
size_t shared_characters(struct bytes a, struct bytes b);
/* Size of the common beginning of all keys in [lo, hi). */
size_t shared_in_range(struct bytes lo, struct bytes hi);

/* `key` is the last key read. All keys of the range start with its first `common` bytes; the keys
 * of the last page with its first `shared` bytes. True: of the bytes in between, more than chance
 * explains are not expected by the model (key_model_expects). Keys of other pages probably differ
 * in such bytes, so a ladder is useful. */
bool ladder_is_needed(const struct key_model *model, struct bytes key, size_t common,
                      size_t shared);

enum ladder_spacing {
    LADDER_EVEN, /* for rows: all pages must be read anyway, so the cuts are spread evenly */
    LADDER_DEEP, /* for keys: a rung at each character where keys mostly differ, else fewer */
};

struct ladder {
    struct bytes key;   /* a rung: the bound after all keys with one of its beginnings; a view */
    size_t common;      /* beginnings are longer than this */
    size_t depths;      /* number of characters after `common` */
    size_t near, rungs; /* the first `near` rungs are one character apart */
};

/* A ladder of at most `most` rungs. */
struct ladder ladder_of(struct bytes key, size_t common, enum ladder_spacing spacing, size_t most);
/* The ladder's key if a page has only `key`: `key` without its last character. A rung after the
 * keys that start with all of `key` would be of no use: the next key shows as much. */
struct bytes ladder_key_of_lone(struct bytes key);
/* Appends rung `index`, 0 is the deepest: the least bound after all keys with its beginning. */
int ladder_append_rung(const struct ladder *ladder, size_t index, struct buffer *ret);

#endif
