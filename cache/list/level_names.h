/* SPDX-License-Identifier: MIT */
#ifndef CACHE_LIST_LEVEL_NAMES_H
#define CACHE_LIST_LEVEL_NAMES_H
/* The names that a level shows, in key order: partitions, and prefixes that several partitions
 * share. At most 256 MiB. One thread at a time. */
#include "client/base/bytes.h"

struct level_names { /* embedded, or on the stack; private */
    struct buffer keys, items;
};
struct level_name {
    bool is_prefix;
    struct bytes key; /* a view, until the next append */
};

void level_names_init(struct level_names *names);
void level_names_finish(struct level_names *names);
void level_names_clear(struct level_names *names);

int level_names_append(struct level_names *names, struct level_name name); /* or -ENOMEM, -EFBIG */
size_t level_names_count(const struct level_names *names);
struct level_name level_names_at(const struct level_names *names, size_t i);
/* The index of the first name whose key is not less than `key`. */
size_t level_names_seek(const struct level_names *names, struct bytes key);

#endif
