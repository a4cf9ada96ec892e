/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_TEXT_PART_TOKEN_H
#define CLIENT_TEXT_PART_TOKEN_H
/* The token of a part: a range of positions of a table as one word of A-Za-z0-9_-, which needs no
 * quotes in a shell, in YAML or in a message. Equal parts have equal tokens, in every version.
 * Pure.
 *
 * A token is base64url without padding of these bytes:
 *
 *     version (1)    the table's name in lower case    NUL    size of lo (2)    lo    hi
 *     checksum (6)
 *
 * Sizes have the greater byte first. The borders are positions as client/base/position.h has them,
 * so any character of a key can be in them. The checksum is the start of the SHA-256 of all that is
 * before it, in every version: so a token of a later version is not taken for one that was changed.
 */
#include "client/base/position.h"
#include "client/text/table_name.h"

/* Of one border: more than two keys of 1,024 UTF-16 units have. So a token has less than 48 KiB,
 * and fits into a message of Azure Queue Storage. */
#define PART_BORDER_MAX_BYTES ((size_t)16 << 10)
#define PART_TOKEN_MAX_BYTES  ((size_t)48 << 10)

struct part {
    char table[TABLE_NAME_SIZE]; /* in lower case */
    struct buffer lo, hi;        /* lo == hi: it is empty, whatever is written into the table */
};

void part_init(struct part *part);
void part_finish(struct part *part);
struct range part_range(const struct part *part);
/* Tables of one name in two cases are one table. */
bool part_is_of(const struct part *part, const char *table);

/* 0; -EFBIG: a border has more than PART_BORDER_MAX_BYTES; -ENOMEM. */
int part_token_append(struct buffer *ret, const char *table, struct range range);
/* ret was initialized. 0; -EINVAL: it is no token, or was cut or changed; -ENOTSUP: it is of a
 * later version; -ENOMEM. */
int part_token_read(struct bytes token, struct part *ret);

#endif
