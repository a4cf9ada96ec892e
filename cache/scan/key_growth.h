/* SPDX-License-Identifier: MIT */
#ifndef CACHE_SCAN_KEY_GROWTH_H
#define CACHE_SCAN_KEY_GROWTH_H
/* Finds out whether new keys are greater than all others, because they are times or a counter, or
 * smaller, because they are times that run backwards. Then all new keys go to one server. Keys are
 * added in order, each once. Pure; one thread; its memory does not grow.
 *
 * Most keys must have the same text before the time, or the same text around the number. A key
 * like DEVICE-2024-05-06 has no time in this sense if there are many devices.
 *
 * A time: a date (2024-05-06, 20240506, 2024-05, also with _ or . in place of -) at the first digit
 * of the key, or a number of seconds or milliseconds since 1970, or of .NET's ticks. A reversed
 * time: ticks counted down from those of DateTime.MaxValue.
 *
 * A counter: the last digits of the key are a number, and at least half of the numbers between the
 * least and the greatest are there. Random numbers are sparse. */
#include "client/base/bytes.h"

enum key_growth_kind {
    KEY_GROWTH_NONE,
    KEY_GROWTH_TIMES,
    KEY_GROWTH_REVERSED_TIMES,
    KEY_GROWTH_COUNTER
};

struct key_growth { /* embedded, or on the stack; private */
    uint64_t keys;
    enum key_growth_kind kind; /* of the candidate */
    struct buffer around;      /* its text before and after the number, with a NUL between */
    uint64_t votes, members;
    uint64_t least, greatest; /* number of a counter */
    struct buffer first, last, scratch;
};

void key_growth_init(struct key_growth *growth);
void key_growth_finish(struct key_growth *growth);
int key_growth_add(struct key_growth *growth, struct bytes key); /* 0 or -ENOMEM */

/* With fewer keys of the kind nothing is found. Example: 12 months are found as times; 100 numbered
 * regions are not found as a counter. */
#define KEY_GROWTH_MIN_TIMES   10
#define KEY_GROWTH_MIN_NUMBERS 1000
struct key_growth_finding {
    enum key_growth_kind kind;
    uint64_t members; /* a lower bound of the keys of this kind; at least 4/5 of all keys */
    /* The first and the last of these keys: of a counter by number, else in key order. Views. */
    struct bytes first, last;
};
/* KEY_GROWTH_NONE: keys of neither kind. */
struct key_growth_finding key_growth_find(const struct key_growth *growth);

#endif
