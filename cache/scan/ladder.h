/* SPDX-License-Identifier: MIT */
#ifndef CACHE_SCAN_LADDER_H
#define CACHE_SCAN_LADDER_H
/* Ladder: cuts a range where its keys may stop to share a long beginning. Pure; one thread.
 *
 * A page that shows "customer_000001" to "customer_000999" does not say whether all keys of the
 * range start with "customer_". A cut in the middle of "customer_" would be blind. So the range is
 * cut behind all keys that start with "customer_000", behind all that start with "customer_00",
 * and so on. These ends are the rungs, from the deepest (nearest) to the flattest. The answers say
 * at which rung other keys begin. All sizes are bytes of whole CESU-8 characters. */
#include "cache/scan/key_model.h"

/* The beginning that both keys share. */
size_t shared_characters(struct bytes a, struct bytes b);
/* The beginning that every key in [lo, hi) shares. */
size_t shared_in_range(struct bytes lo, struct bytes hi);

/* Every key of the range shares the first `common` bytes of `key`, and the last page's keys share
 * the first `shared` bytes. True: more of what lies between is unexpected by the model than chance
 * explains, so other keys are likely to part there. */
bool ladder_is_needed(const struct key_model *model, struct bytes key, size_t common,
                      size_t shared);

enum ladder_spacing {
    LADDER_EVEN, /* for rows: every piece costs its pages anyway, so the cuts are spread */
    LADDER_DEEP, /* for keys: one character apart where keys part most often, sparse elsewhere */
};

struct ladder {
    struct bytes key; /* its beginnings longer than `common` are the rungs; a view */
    size_t common;
    size_t depths;      /* characters behind `common` */
    size_t near, rungs; /* the first `near` rungs are one character apart */
};

/* A ladder of at most `most` rungs. */
struct ladder ladder_of(struct bytes key, size_t common, enum ladder_spacing spacing, size_t most);
/* The ladder's key where a page showed only `key`: the last character is left out, since the next
 * key tells the same. */
struct bytes ladder_key_of_lone(struct bytes key);
/* Appends the least end behind all keys that start as rung `index` does; index 0 is the deepest. */
int ladder_append_rung(const struct ladder *ladder, size_t index, struct buffer *ret);

#endif
