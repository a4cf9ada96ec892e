/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_BASE_MAP_H
#define CLIENT_BASE_MAP_H
/* A map from byte strings to records, which it also keeps in the order of their use. It serves
 * memories that are bounded: their owner removes what was not used for longest.
 *
 * A record is the owner's: a struct that begins with a struct map_item and is freed by free(). The
 * map frees nothing. No lock: the owner's guards it. An item takes about 80 bytes, so a map is not
 * for what there are millions of. */
#include "client/base/bytes.h"

#include <bsd/sys/tree.h>
#include <sys/queue.h>

/* The bytes of both parts, one behind the other: so a table, its NUL and a position are one key
 * without a copy. */
struct map_key {
    struct bytes head, tail;
};
/* Of a number. It is the caller's, and outlives the call. */
#define MAP_NUMBER(number) ((struct map_key){.head = {(const char *)&(number), sizeof(number)}})

struct map_item { /* begins a record; private but for `key` and `bytes` */
    RB_ENTRY(map_item) by_key;
    TAILQ_ENTRY(map_item) by_use;
    struct bytes key;
    size_t bytes; /* that it counts in its map */
};
RB_HEAD(map_tree, map_item);
TAILQ_HEAD(map_uses, map_item);

struct map { /* in its owner's memory; private but for `count` and `bytes` */
    struct map_tree by_key;
    struct map_uses by_use; /* the last used first */
    size_t count, bytes;    /* of all items */
};

void map_init(struct map *map);
/* A record of zeros in no map, with a copy of its key behind its `size` bytes, and `more` bytes
 * behind that. It counts what it takes. NULL: no memory. */
void *map_create(size_t size, struct map_key key, size_t more);
/* The map has no record with this key. The record counts as used. */
void map_add(struct map *map, void *record);
void map_remove(struct map *map, void *record);
void *map_find(const struct map *map, struct map_key key); /* NULL: none */
void *map_use(struct map *map, struct map_key key);        /* the same; it counts as used */
void map_touch(struct map *map, void *record);             /* it counts as used */
void *map_newest(const struct map *map); /* the one that was used last; NULL: none */
void *map_oldest(const struct map *map); /* the one that was not used for longest; NULL: none */

#endif
