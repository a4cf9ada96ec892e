/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_BASE_POSITION_H
#define CLIENT_BASE_POSITION_H
/* Position: the PartitionKey, a NUL and the RowKey as one byte string. Keys are in CESU-8, so that
 * memcmp gives the service's order (by UTF-16 units); only names, texts and URLs are in UTF-8. A
 * key with U+0000 is refused with -EPROTO, so a position has one NUL.
 *
 * A bound of a range may also be without NUL: the beginning of a PartitionKey. Example: "ab" sorts
 * before all positions whose PartitionKey starts with "ab". Pure, any thread. */
#include "client/base/bytes.h"

#define POSITION_AFTER                                                                             \
    "\x01" /* appended to a row ("p\0r") or partition ("p"): the least position after it */
#define POSITION_MAX_BYTES ((size_t)64 << 10) /* far longer than two keys can be */
#define POSITION_END       "\xff" /* greater than every position, so that every range has an end */

/* An unsettled key stands for a key that is not known yet: a file or directory was created with the
 * cut name of a long key (fs/tree/names), and only its first text contains the key. An unsettled
 * key has a byte that CESU-8 never has. No entity has it, and it is never sent to a service. */
#define KEY_UNSETTLED "\xfe"
bool position_is_unsettled(struct bytes position); /* is one of its keys? Also for one key alone */

struct range { /* [lo, hi) */
    struct bytes lo, hi;
};

#define RANGE_ALL ((struct range){BYTES_LITERAL(""), BYTES_LITERAL(POSITION_END)})

struct bytes position_partition_key(struct bytes position);
/* Has it a NUL? Then it is a row's position, or a bound inside a partition or at its start. */
bool position_has_row(struct bytes position);
struct bytes position_row_key(struct bytes position); /* empty without NUL */
int position_append(struct buffer *ret, struct bytes partition_key, struct bytes row_key);
/* Appends the least position after a row, or after a whole partition (`position`: a PartitionKey
 * without NUL). */
int position_append_behind(struct buffer *ret, struct bytes position);

/* Does the service allow the character in a key? Not / \ # ? and control characters. */
bool position_is_legal_in_key(uint32_t character);

/* ret_size: the prefix's length in UTF-8; a lone surrogate, which UTF-8 cannot contain, counts as
 * the 9 bytes of its escape. ret_last: its last character; 0 if it is empty. False: it does not
 * consist of whole characters that a key can contain. */
bool prefix_measure(struct bytes prefix, size_t *ret_size, uint32_t *ret_last);
/* Can it be a directory? It is not empty, and has at most PREFIX_MAX_BYTES in UTF-8. */
#define PREFIX_MAX_BYTES 240
bool prefix_is_showable(struct bytes prefix);
/* Can a longer prefix be a directory? If not, its directory lists whole keys. */
bool prefix_has_children(struct bytes prefix);

/* Appends the least position greater than every position whose PartitionKey starts with `prefix`
 * (without NUL): its last character is replaced by the next one, in UTF-16 order, that a key can
 * contain. If there is no such position, appends `fallback`. */
int prefix_append_successor(struct buffer *ret, struct bytes prefix, struct bytes fallback);

/* The same, but the next character may be one that the service forbids. So a key that a service has
 * nevertheless does not lie between `prefix` and the result: after "." it is "/", not "0". */
int prefix_append_end(struct buffer *ret, struct bytes prefix, struct bytes fallback);

/* The longest position of a row. Two keys of the service have less than 6,200 bytes; the stores
 * refuse a row whose keys are longer than this. */
#define POSITION_ROW_MAX_BYTES ((size_t)8191)
struct position { /* of a row, or the end of its range: a value, for the stack */
    size_t size;
    char data[POSITION_ROW_MAX_BYTES + 1];
};
static inline struct bytes position_bytes(const struct position *position)
{
    return (struct bytes){position->data, position->size};
}
/* A longer bound of a range is cut: no row lies between what is left and the whole. `bytes` may be
 * a view of the position. */
void position_set(struct position *ret, struct bytes bytes);
/* The range of one row, or of one partition (`position`: a PartitionKey without NUL): from its
 * position to the least one after it, which is in *end. Empty if the position is longer than that
 * of a row. */
struct range range_of_one(struct bytes position, struct position *end);
/* The end of that range, from where a search continues; POSITION_END if the position is longer than
 * that of a row. */
struct bytes position_behind(struct bytes position, struct position *end);
bool range_is_empty(struct range range);
bool range_holds(struct range range, struct bytes position);
bool range_holds_range(struct range range, struct range part);
struct range range_meet(struct range a, struct range b); /* the intersection; may be empty */
/* Does it lie in one partition? lo has a NUL; hi is in the same partition, or is its end. */
bool range_is_in_partition(struct range range);
/* Can one query request it? It lies in one partition, or consists of whole partitions. */
bool range_is_expressible(struct range range);
/* The longest part of the range, from its beginning, that one query can request; its end may be in
 * *end. Example: ["a\0x", "c\0y") has three such parts: the rest of "a", the whole partitions up to
 * "c", and the beginning of "c". Empty if a key is longer than that of a row. */
struct range range_expressible_part(struct range range, struct position *end);

#endif
