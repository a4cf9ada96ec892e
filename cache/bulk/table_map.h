/* SPDX-License-Identifier: MIT */
#ifndef CACHE_BULK_TABLE_MAP_H
#define CACHE_BULK_TABLE_MAP_H
/* Collects facts about the keys of a table: how many entities are below each prefix, and what the
 * service's guidance warns of. It takes the rows of account_export, and its memory does not grow
 * with them. Pure; one thread. */
#include "cache/scan/key_growth.h"
#include "cache/scan/survey.h"
#include "client/store/page.h"

#define TABLE_MAP_LONG_KEY_BYTES 255 /* a longer key, in UTF-8, is no name of a directory */
/* A longer RowKey is no name of a file, which ends in .json. */
#define TABLE_MAP_LONG_ROW_KEY_BYTES (TABLE_MAP_LONG_KEY_BYTES - 5)

struct table_map;

struct table_facts {               /* views */
    const struct survey_node *all; /* bytes: of the rows' texts */
    /* The key with the most entities; if several have as many, the first. */
    struct bytes largest_key;
    uint64_t largest_entities;
    uint64_t single_partitions; /* that have one entity */
    uint64_t long_partition_keys, long_row_keys;
    struct key_growth_finding growth; /* of the PartitionKeys */
};

/* by_bytes: the parts that are largest in bytes are kept, else those with the most entities:
 * cache/scan/survey.h. */
int table_map_create(bool by_bytes, struct table_map **ret);
void table_map_destroy(struct table_map *map); /* takes NULL */
/* 0 or -ENOMEM. */
int table_map_add(struct table_map *map, const struct run *rows);
/* No more is added. 0 or -ENOMEM. The facts are the map's. */
int table_map_finish(struct table_map *map, struct table_facts *ret);

DEFINE_CLEANUP(struct table_map *, table_map_destroy);

#endif
