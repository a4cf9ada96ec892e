/* SPDX-License-Identifier: MIT */
#ifndef FS_TREE_LONG_NAMES_H
#define FS_TREE_LONG_NAMES_H
/* Maps the cut names that this mount has shown, in any table, to their long keys. A cut name
 * (fs/tree/names) does not contain its key: without this map, a file with such a name could be
 * created only with a text that has the key, and each lookup would list all keys that begin so.
 *
 * Bounded: the most recently shown or found names, in LONG_NAMES_MAX_BYTES; that is some 10,000. A
 * record never becomes wrong, because a name has one key.
 *
 * Thread-safety: any thread; one leaf mutex; never blocks.
 * Ownership: keys are copied. */
#include "fs/tree/names.h"

#define LONG_NAMES_MAX_BYTES ((size_t)4 << 20)

struct long_names;
/* max_bytes: of all keys. 0 or -errno. */
int long_names_create(size_t max_bytes, struct long_names **ret);
void long_names_destroy(struct long_names *names); /* takes NULL */

/* Records that the mount shows the name for the key. Does nothing for a name that is not cut, or
 * without memory. */
void long_names_put(struct long_names *names, struct bytes name, enum name_kind kind,
                    struct bytes key);
/* 1: ret_key, which is cleared first, is the key of the name. 0: not known; -ENOMEM. */
int long_names_find(struct long_names *names, struct bytes name, enum name_kind kind,
                    struct buffer *ret_key);

DEFINE_CLEANUP(struct long_names *, long_names_destroy);

#endif
