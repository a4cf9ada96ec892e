#ifndef FS_TREE_NAMES_H
#define FS_TREE_NAMES_H
/* Keys, pieces of keys, and file names. A name is the key in UTF-8 with `#XX` (hex of each byte,
 * CESU-8 for a lone surrogate) for: `/`, control characters, a leading `.`, `#`, lone surrogates,
 * and a trailing `+` of a PartitionKey or prefix. The empty key is `#00`. Row keys get `.json`
 * behind them, prefixes `+`. A key's name that would be longer than 255 bytes is cut to its longest
 * run of whole characters that leaves room for `#~` and 16 hex digits of the SHA-256 of the whole
 * key in CESU-8; a prefix's name is never cut: only those that prefix_is_showable have one. A
 * bijection on the names that it makes; every other name means nothing. Pure; keys and names are
 * hostile input. */
#include "client/bytes.h"

#define NAME_MAX_BYTES    255
#define NAME_DIGEST_CHARS 16

enum name_kind { NAME_PARTITION, NAME_ENTITY, NAME_PREFIX };

/* Appends. -EILSEQ: no CESU-8, or a prefix that has no name. -EFBIG: the key is longer than any
 * service takes. -ENOMEM. */
int names_encode(struct bytes key, enum name_kind kind, struct buffer *ret_name);

enum name_meaning {
    NAME_MEANS_NOTHING,
    NAME_MEANS_KEY, /* the key, or the prefix */
    NAME_MEANS_CUT, /* what a long key starts with: of those keys, the one that names_is_of says */
};

/* Puts the key, or what it starts with, into ret_key (cleared first). -errno: memory alone. */
int names_decode(struct bytes name, enum name_kind kind, struct buffer *ret_key,
                 enum name_meaning *ret_meaning);
/* 1: the key gets this name; 0: it gets another, or none; -ENOMEM: not known. */
int names_is_of(struct bytes name, enum name_kind kind, struct bytes key);
/* No key has such a name: it can only be a prefix's. */
bool names_is_prefix(struct bytes name);

#endif
