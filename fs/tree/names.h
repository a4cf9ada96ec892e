/* SPDX-License-Identifier: MIT */
#ifndef FS_TREE_NAMES_H
#define FS_TREE_NAMES_H
/* Converts between keys or prefixes of keys and file names. Pure; keys and names are hostile input.
 *
 * A name is the key in UTF-8. These characters become `#XX` for each byte (in hex; CESU-8 for a
 * lone surrogate): `/`, `#`, control characters, a leading `.`, lone surrogates, and a trailing `+`
 * of a PartitionKey or prefix. The empty key is `#00`. `.json` is appended to a RowKey, `+` to a
 * prefix. Example: RowKey `a/b` is `a#2Fb.json`.
 *
 * A key's name that would be longer than 255 bytes is cut: it is the longest beginning in whole
 * characters that leaves room for `#~` and 16 hex digits of the SHA-256 of the whole key in CESU-8.
 * A prefix's name is never cut: only prefixes for which prefix_is_showable is true have a name.
 *
 * Each key has one name, and no two keys share one. A name that belongs to no key means nothing.
 *
 * An unsettled key (client/base/position.h) consists of the beginning and the digits of a cut name.
 * Its name is that cut name, which is also the name of the real key. */
#include "client/base/position.h"

#define NAME_MAX_BYTES    255
#define NAME_DIGEST_CHARS 16

enum name_kind { NAME_PARTITION, NAME_ENTITY, NAME_PREFIX };

/* Appends the name. -EILSEQ: the key is not CESU-8, or the prefix has no name. -EFBIG: the key is
 * longer than any service takes. -ENOMEM. */
int names_encode(struct bytes key, enum name_kind kind, struct buffer *ret_name);

/* Appends the key's name as a partition, but cut at `max` bytes (18 to 255) in the same way. A name
 * that is cut to less than 255 bytes means nothing in the tree. Errors: as names_encode. */
int names_append_short(struct bytes key, size_t max, struct buffer *ret_name);

/* Appends the longest beginning of the key's name as a partition, in whole characters, that has at
 * most `room` bytes. The key cannot be decoded from it. Errors: as names_encode. */
int names_append_beginning(struct bytes key, size_t room, struct buffer *ret_name);

enum name_meaning {
    NAME_MEANS_NOTHING,
    NAME_MEANS_KEY, /* ret_key is the key or the prefix */
    NAME_MEANS_CUT, /* ret_key is the beginning of a long key; names_is_of recognises the key */
};

/* Puts the key or its beginning into ret_key, which is cleared first. 0 or -ENOMEM. */
int names_decode(struct bytes name, enum name_kind kind, struct buffer *ret_key,
                 enum name_meaning *ret_meaning);
/* 1: the key gets this name; 0: it gets another, or none; -ENOMEM: not known. */
int names_is_of(struct bytes name, enum name_kind kind, struct bytes key);
/* The digits of a cut name, a view of it. False: it is no cut name. */
bool names_digits(struct bytes name, enum name_kind kind, struct bytes *ret_digits);
/* Appends the unsettled key of a cut name. begin: the beginning of the key, from names_decode; if a
 * longer beginning of the key is known, it may be given instead, and makes another unsettled key
 * with the same name. 0, -ENOMEM or -EFBIG. */
int names_append_unsettled(struct bytes begin, struct bytes digits, struct buffer *ret_key);
/* Can the name only be that of a prefix, not of a key? */
bool names_is_prefix(struct bytes name);

#endif
