/* SPDX-License-Identifier: MIT */
#ifndef FS_TREE_LONG_NAMES_H
#define FS_TREE_LONG_NAMES_H
/* Which long keys the cut names stand for that this mount has given out, in whatever table. A cut
 * name (fs/tree/names) does not tell its key: without this, a file of such a name could be created
 * only with a text that has the key, and each lookup would list all keys that begin so.
 *
 * Bounded: the names that were given out or asked for last, in LONG_NAMES_MAX_BYTES; that is some
 * 10,000. What is known is never wrong: a name has one key.
 *
 * Thread-safety: any thread; one leaf mutex; never blocks.
 * Ownership: keys are copied. */
#include "fs/tree/names.h"

#define LONG_NAMES_MAX_BYTES ((size_t)4 << 20)

struct long_names;
/* max_bytes: of all keys. 0 or -errno. */
int long_names_create(size_t max_bytes, struct long_names **ret);
void long_names_destroy(struct long_names *names); /* takes NULL */

/* The name was given out for the key. One that is not cut is not kept, nor is any without memory.
 */
void long_names_put(struct long_names *names, struct bytes name, enum name_kind kind,
                    struct bytes key);
/* The key of the name, which is cleared first. 1; 0: not known; -ENOMEM. */
int long_names_find(struct long_names *names, struct bytes name, enum name_kind kind,
                    struct buffer *ret_key);

DEFINE_CLEANUP(struct long_names *, long_names_destroy);

#endif
