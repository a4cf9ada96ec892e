/* SPDX-License-Identifier: MIT */
#include "client/base/map.h"

static int compare_items(const struct map_item *a, const struct map_item *b)
{
    return bytes_compare(a->key, b->key);
}

RB_GENERATE_INTERNAL(map_tree, map_item, by_key, compare_items, static __attribute__((unused)));

void map_init(struct map *map)
{
    *map = (struct map){0};
    TAILQ_INIT(&map->by_use);
}

void *map_create(size_t size, struct map_key key, size_t more)
{
    size_t key_size = key.head.size + key.tail.size, bytes = size + key_size + more;
    struct map_item *item = calloc(1, bytes);
    if (!item)
        return NULL;
    char *text = (char *)item + size;
    if (key.head.size > 0)
        memcpy(text, key.head.data, key.head.size);
    if (key.tail.size > 0)
        memcpy(text + key.head.size, key.tail.data, key.tail.size);
    item->key = (struct bytes){text, key_size};
    item->bytes = bytes;
    return item;
}

void map_add(struct map *map, void *record)
{
    struct map_item *item = record;
    (void)RB_INSERT(map_tree, &map->by_key, item);
    TAILQ_INSERT_HEAD(&map->by_use, item, by_use);
    map->count++;
    map->bytes += item->bytes;
}

void map_remove(struct map *map, void *record)
{
    struct map_item *item = record;
    (void)RB_REMOVE(map_tree, &map->by_key, item);
    TAILQ_REMOVE(&map->by_use, item, by_use);
    map->count--;
    map->bytes -= item->bytes;
}

static int compare_key(struct map_key a, struct bytes b)
{
    size_t n = MIN(a.head.size, b.size);
    int order = bytes_compare(a.head, bytes_first(b, n));
    return order != 0 ? order : bytes_compare(a.tail, bytes_skip(b, n));
}

void *map_find(const struct map *map, struct map_key key)
{
    struct map_item *item = RB_ROOT(&map->by_key);
    int order;
    while (item && (order = compare_key(key, item->key)) != 0)
        item = order < 0 ? RB_LEFT(item, by_key) : RB_RIGHT(item, by_key);
    return item;
}

void map_touch(struct map *map, void *record)
{
    struct map_item *item = record;
    TAILQ_REMOVE(&map->by_use, item, by_use);
    TAILQ_INSERT_HEAD(&map->by_use, item, by_use);
}

void *map_use(struct map *map, struct map_key key)
{
    void *record = map_find(map, key);
    if (record)
        map_touch(map, record);
    return record;
}

void *map_newest(const struct map *map)
{
    return TAILQ_FIRST(&map->by_use);
}

void *map_oldest(const struct map *map)
{
    return TAILQ_LAST(&map->by_use, map_uses);
}
