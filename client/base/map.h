/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_BASE_MAP_H
#define CLIENT_BASE_MAP_H
/* A map from byte strings to records, which also keeps the order of their last use. It is for
 * caches of bounded size: the owner removes the records that were not used for longest.
 *
 * A record is a struct of the owner that begins with a struct map_item and is freed by free(). The
 * map frees nothing. It has no lock: the owner locks. An item takes about 80 bytes, so a map is not
 * for millions of records. */
#include "client/base/bytes.h"

#include <bsd/sys/tree.h>
#include <sys/queue.h>

/* A key is `head` followed by `tail`: so a table with its NUL, and a position, are one key without
 * a copy. */
struct map_key {
    struct bytes head, tail;
};
/* A number as key. The variable must outlive the call. */
#define MAP_NUMBER(number) ((struct map_key){.head = {(const char *)&(number), sizeof(number)}})

struct map_item { /* first member of a record; private except `key` and `bytes` */
    RB_ENTRY(map_item) by_key;
    TAILQ_ENTRY(map_item) by_use;
    struct bytes key;
    size_t bytes; /* its part of map.bytes */
};
RB_HEAD(map_tree, map_item);
TAILQ_HEAD(map_uses, map_item);

struct map { /* embedded, or on the stack; private except `count` and `bytes` */
    struct map_tree by_key;
    struct map_uses by_use; /* the most recently used first */
    size_t count, bytes;    /* of all items */
};

void map_init(struct map *map);
/* Allocates a record, in no map yet: `size` zero bytes, then a copy of the key, then `more` bytes.
 * Its `bytes` are the size of the allocation. NULL: no memory. */
void *map_create(size_t size, struct map_key key, size_t more);
/* Adds the record as the most recently used one. The map must have no record with its key. */
void map_add(struct map *map, void *record);
void map_remove(struct map *map, void *record);
void *map_find(const struct map *map, struct map_key key); /* NULL: none */
void *map_use(struct map *map, struct map_key key);        /* map_find, then map_touch */
void map_touch(struct map *map, void *record);             /* it is now the most recently used */
void *map_newest(const struct map *map);                   /* the most recently used; NULL: none */
void *map_oldest(const struct map *map);                   /* the least recently used; NULL: none */

#endif
