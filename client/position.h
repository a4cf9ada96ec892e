#ifndef CLIENT_POSITION_H
#define CLIENT_POSITION_H
/* Position: PartitionKey NUL RowKey, each key in CESU-8; memcmp is the service's order (UTF-16
 * units). Ends of ranges may also be a piece of a PartitionKey without NUL: it stands before every
 * key that starts with it. Pure, any thread. Inside the program a key is CESU-8 bytes; UTF-8 exists
 * in names, texts and URLs only. A key with U+0000 is -EPROTO. */
#include "client/bytes.h"

#define POSITION_AFTER                                                                             \
    "\x01" /* appended: the least position behind a row ("p\0r"), or behind a partition ("p") */
#define POSITION_MAX_BYTES ((size_t)64 << 10) /* far more than two keys can have */
#define POSITION_END       "\xff" /* behind every position, so every range has two ends */

struct range { /* [lo, hi) */
    struct bytes lo, hi;
};

#define RANGE_ALL ((struct range){BYTES_LITERAL(""), BYTES_LITERAL(POSITION_END)})

struct bytes position_partition_key(struct bytes position);
/* Is there a NUL? Then it is a row, or an end inside or at the begin of a partition. */
bool position_has_row(struct bytes position);
struct bytes position_row_key(struct bytes position); /* empty without NUL */
int position_append(struct buffer *ret, struct bytes partition_key, struct bytes row_key);
/* The least position behind a row, or behind a whole partition (a PartitionKey without NUL). */
int position_append_behind(struct buffer *ret, struct bytes position);

/* Not / \ # ? nor a control character. */
bool position_is_legal_in_key(uint32_t character);

/* How long a prefix is in UTF-8 (a lone surrogate, which has none, counts 9: so it is escaped), and
 * its last character, 0 of an empty one. False: not whole characters that a key can hold. */
bool prefix_measure(struct bytes prefix, size_t *ret_size, uint32_t *ret_last);
/* May a level show it as a directory? Not empty, and at most PREFIX_MAX_BYTES long. */
#define PREFIX_MAX_BYTES 240
bool prefix_is_showable(struct bytes prefix);
/* May a longer one be shown? Else all that starts so is listed by its keys. */
bool prefix_has_children(struct bytes prefix);

/* The least end behind everything that starts with `prefix`, a piece of one key (no NUL): the next
 * character in UTF-16 order that a key can hold. Nothing behind it: `fallback` is appended. */
int prefix_append_successor(struct buffer *ret, struct bytes prefix, struct bytes fallback);

bool range_is_empty(struct range range);
bool range_holds(struct range range, struct bytes position);
bool range_is_in_partition(struct range range); /* lo has a NUL, hi is not behind its partition */
bool range_is_askable(struct range range);      /* inside one partition, or whole partitions */

#endif
