/* SPDX-License-Identifier: MIT */
#include "cache/bulk/table_map.h"
#include "client/base/unicode.h"

#define TREE_BYTES ((size_t)12 << 20) /* of some 110,000 prefixes and partitions */

struct table_map {
    struct survey *survey;
    struct key_growth growth;
    struct buffer key, largest_key; /* of the last partition; of the largest before it */
    uint64_t entities;              /* of the last partition, so far; 0: there is none */
    struct table_facts facts;       /* its keys and its tree only when it is finished */
};

int table_map_create(bool by_bytes, struct table_map **ret)
{
    _cleanup_(table_map_destroyp) struct table_map *map = calloc(1, sizeof(*map));
    if (!map)
        return -ENOMEM;
    key_growth_init(&map->growth);
    buffer_init(&map->key, POSITION_MAX_BYTES);
    buffer_init(&map->largest_key, POSITION_MAX_BYTES);
    if (survey_create(TREE_BYTES, by_bytes, &map->survey) < 0)
        return -ENOMEM;
    *ret = TAKE_PTR(map);
    return 0;
}

void table_map_destroy(struct table_map *map)
{
    if (!map)
        return;
    survey_destroy(map->survey);
    key_growth_finish(&map->growth);
    buffer_finish(&map->key);
    buffer_finish(&map->largest_key);
    free(map);
}

/* Is the key longer in UTF-8? In CESU-8 a character of four bytes takes six. */
static bool is_longer(struct bytes key, size_t bytes)
{
    size_t size = key.size, n;
    if (size <= bytes)
        return false;
    for (uint32_t character; (n = cesu8_next(key, &character)) > 0; key = bytes_skip(key, n))
        size -= n == CESU8_MAX_BYTES ? CESU8_MAX_BYTES - UTF8_MAX_BYTES : 0;
    return size > bytes;
}

static int end_partition(struct table_map *map)
{
    struct table_facts *facts = &map->facts;
    facts->single_partitions += map->entities == 1;
    if (map->entities > facts->largest_entities) {
        facts->largest_entities = map->entities;
        return buffer_set(&map->largest_key, buffer_bytes(&map->key));
    }
    return 0;
}

static int begin_partition(struct table_map *map, struct bytes key)
{
    if (end_partition(map) < 0 || buffer_set(&map->key, key) < 0)
        return -ENOMEM;
    map->entities = 0;
    map->facts.long_partition_keys += is_longer(key, TABLE_MAP_LONG_KEY_BYTES);
    return key_growth_add(&map->growth, key);
}

/* Rows [begin, end) are of one partition. */
static int add_rows(struct table_map *map, const struct page *page, size_t begin, size_t end)
{
    struct bytes key = position_partition_key(page_position(page, begin));
    bool is_same = map->entities > 0 && bytes_equal(key, buffer_bytes(&map->key));
    if (!is_same && begin_partition(map, key) < 0)
        return -ENOMEM;
    uint64_t bytes = 0;
    for (size_t row = begin; row < end; row++) {
        bytes += page_text(page, row).size;
        map->facts.long_row_keys +=
            is_longer(position_row_key(page_position(page, row)), TABLE_MAP_LONG_ROW_KEY_BYTES);
    }
    map->entities += end - begin;
    return survey_add(map->survey, key, end - begin, bytes);
}

int table_map_add(struct table_map *map, const struct run *rows)
{
    int r = 0;
    for (size_t row = rows->begin, next; row < rows->end && r == 0; row = next) {
        next = page_next_partition(rows->page, row, rows->end);
        r = add_rows(map, rows->page, row, next);
    }
    return r;
}

int table_map_finish(struct table_map *map, struct table_facts *ret)
{
    if (end_partition(map) < 0 || survey_finish(map->survey, &map->facts.all) < 0)
        return -ENOMEM;
    map->facts.largest_key = buffer_bytes(&map->largest_key);
    map->facts.growth = key_growth_find(&map->growth);
    *ret = map->facts;
    return 0;
}
