/* SPDX-License-Identifier: MIT */
#ifndef CACHE_ADDRESS_H
#define CACHE_ADDRESS_H
/* The entity or directory that a path stands for, in terms of keys. fs/tree/place makes these
 * values from file names; cache/ knows no file names. */
#include "client/base/map.h"
#include "client/base/position.h"

struct address { /* an entity's */
    const char *table;
    struct bytes position;
};

/* By table, then by position. */
static inline int address_compare(struct address a, struct address b)
{
    int order = strcmp(a.table, b.table);
    return order != 0 ? order : bytes_compare(a.position, b.position);
}

/* Of a copy: table, NUL, position. */
static inline size_t address_size(struct address address)
{
    return strlen(address.table) + 1 + address.position.size;
}

/* Copies it into `text`, which has room for its size. The copy's views are into `text`. */
static inline struct address address_copy(struct address address, char *text)
{
    size_t table_size = strlen(address.table) + 1;
    memcpy(text, address.table, table_size);
    if (address.position.size > 0)
        memcpy(text + table_size, address.position.data, address.position.size);
    return (struct address){text, {text + table_size, address.position.size}};
}

/* The same as the key of a map. */
static inline struct map_key address_key(struct address address)
{
    return (struct map_key){{address.table, strlen(address.table) + 1}, address.position};
}

/* An unsettled key of a table has become known. `from`: the beginning of positions that ends with
 * the unsettled key; `to`: the same with the key. Both end without NUL. Every position that begins
 * with `from` begins with `to` from now on.
 *
 * Example: of a partition, from "LONG\xfe0123" to "LONG and more". Of a row in the partition p,
 * from "p NUL LONG\xfe0123" to "p NUL LONG and more". */
struct settlement {
    const char *table;
    struct bytes from, to;
};

static inline bool settlement_is_of(const struct settlement *settlement, struct address address)
{
    return address.table && strcmp(address.table, settlement->table) == 0 &&
           bytes_start_with(address.position, settlement->from);
}

/* Appends the position that it is from now on. */
static inline int settlement_append(const struct settlement *settlement, struct bytes position,
                                    struct buffer *ret)
{
    (void)buffer_append(ret, settlement->to);
    return buffer_append(ret, bytes_skip(position, settlement->from.size));
}

enum directory_kind {
    DIRECTORY_TABLES,   /* the account: its tables */
    DIRECTORY_AUTO,     /* a level: the partitions of `range`, or prefixes if there are many */
    DIRECTORY_FLAT,     /* all partitions of `range`, never prefixes */
    DIRECTORY_ENTITIES, /* the rows of `range`, which lies in one partition */
};

struct directory {
    enum directory_kind kind;
    const char *table; /* NULL for DIRECTORY_TABLES */
    /* The positions of the directory's rows. For a table all positions. For partition p the
     * positions from "p NUL" on. For a prefix the positions that start with it: range.lo is the
     * prefix (of RowKeys: "p NUL" and the prefix), range.hi the least position after them. */
    struct range range;
    /* The service's $filter: listings show what matches, the first child is the first one that
     * matches, and a process that has listed the directory has listed that. NULL: all. */
    const char *filter;
};

/* A directory and those that contain it, by the path that was used: the directory itself first, the
 * table's own last. `.flat` and filters are left out: they stand for the directory that contains
 * them. */
struct directory_path {
    const struct directory *steps;
    size_t n; /* at least 1 */
    /* It leads through `.flat`, or through a filter above the partition: its names never change. */
    bool is_flat;
    const char *filter; /* of the directory itself, by the path that was used; NULL: none */
};

/* A whole table. It exists even without a row; any other directory exists only with one. */
static inline bool directory_is_table(const struct directory *directory)
{
    return directory->table && directory->range.lo.size == 0;
}
/* All of a table, whichever its layout. */
static inline struct directory directory_of_table(const char *table)
{
    return (struct directory){.kind = DIRECTORY_FLAT, .table = table, .range = RANGE_ALL};
}

#endif
