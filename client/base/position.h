/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_BASE_POSITION_H
#define CLIENT_BASE_POSITION_H
/* Position: PartitionKey NUL RowKey, each key in CESU-8, so that memcmp gives the service's order
 * (UTF-16 units). The end of a range may also be the begin of a PartitionKey without NUL: "ab"
 * sorts before every key that starts with "ab". Inside the program keys are CESU-8; UTF-8 is used
 * in names, texts and URLs only. A key with U+0000 is -EPROTO. Pure, any thread. */
#include "client/base/bytes.h"

#define POSITION_AFTER                                                                             \
    "\x01" /* appended to a row ("p\0r") or partition ("p"): the least position after it */
#define POSITION_MAX_BYTES ((size_t)64 << 10) /* far longer than two keys can be */
#define POSITION_END       "\xff" /* greater than every position, so that every range has an end */

/* An unsettled key stands for one that is not known yet: a file or directory was made by the cut
 * name of a long key (fs/tree/names), and its first text tells the key. It has a byte that no key
 * in CESU-8 has: no row of a service lies behind it, and no service is asked for one. */
#define KEY_UNSETTLED "\xfe"
bool position_is_unsettled(struct bytes position); /* one of its keys is; or a key alone */

struct range { /* [lo, hi) */
    struct bytes lo, hi;
};

#define RANGE_ALL ((struct range){BYTES_LITERAL(""), BYTES_LITERAL(POSITION_END)})

struct bytes position_partition_key(struct bytes position);
/* Is there a NUL? Then it is a row, or the end of a range inside a partition or at its begin. */
bool position_has_row(struct bytes position);
struct bytes position_row_key(struct bytes position); /* empty without NUL */
int position_append(struct buffer *ret, struct bytes partition_key, struct bytes row_key);
/* The least position after a row, or after a whole partition (a PartitionKey without NUL). */
int position_append_behind(struct buffer *ret, struct bytes position);

/* Not one of / \ # ? and no control character. */
bool position_is_legal_in_key(uint32_t character);

/* The length of a prefix in UTF-8 (a lone surrogate has no UTF-8 and counts 9, the length of its
 * escape), and its last character, 0 if it is empty. False: it is not made of whole characters that
 * a key can hold. */
bool prefix_measure(struct bytes prefix, size_t *ret_size, uint32_t *ret_last);
/* May it be shown as a directory? It is not empty, and at most PREFIX_MAX_BYTES long. */
#define PREFIX_MAX_BYTES 240
bool prefix_is_showable(struct bytes prefix);
/* May a longer prefix be shown? If not, everything that starts with it is listed by whole keys. */
bool prefix_has_children(struct bytes prefix);

/* The least position greater than every key that starts with `prefix`, which is the begin of one
 * key (no NUL): its last character becomes the next in UTF-16 order that a key can hold. Appends
 * `fallback` when there is no such position. */
int prefix_append_successor(struct buffer *ret, struct bytes prefix, struct bytes fallback);

/* The same, but the next character may be one that the rules forbid: keys that hold it against them
 * are not between the prefix and this. */
int prefix_append_end(struct buffer *ret, struct bytes prefix, struct bytes fallback);

bool range_is_empty(struct range range);
bool range_holds(struct range range, struct bytes position);
bool range_holds_range(struct range range, struct range part);
struct range range_meet(struct range a, struct range b); /* what lies in both; perhaps empty */
bool range_is_in_partition(struct range range); /* lo has a NUL, hi is not after its partition */
bool range_is_expressible(struct range range);  /* inside one partition, or of whole partitions */

#endif
