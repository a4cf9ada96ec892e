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

/* The size of a copy, which is: table, NUL, position. */
static inline size_t address_size(struct address address)
{
    return strlen(address.table) + 1 + address.position.size;
}

/* Copies the address into `text`, which has address_size bytes. The result has views into `text`.
 */
static inline struct address address_copy(struct address address, char *text)
{
    size_t table_size = strlen(address.table) + 1;
    memcpy(text, address.table, table_size);
    if (address.position.size > 0)
        memcpy(text + table_size, address.position.data, address.position.size);
    return (struct address){text, {text + table_size, address.position.size}};
}

/* The address as the key of a map. */
static inline struct map_key address_key(struct address address)
{
    return (struct map_key){{address.table, strlen(address.table) + 1}, address.position};
}

/* An unsettled key stands for a long key that is known only by its cut name
 * (client/base/position.h). A settlement says which key it is. `from`: the beginning of positions
 * up to and with the unsettled key; `to`: the same with the known key. Neither has a NUL after the
 * key. From now on every position that begins with `from` begins with `to` instead.
 *
 * Example: for a partition, from "LONG\xfe0123" to "LONG and more". For a row in the partition p,
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

/* Appends the settled position. */
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
    /* The positions of the directory's rows. For a table all positions. For partition p those that
     * start with "p NUL". For a prefix those that start with it: range.lo is the prefix (for a
     * prefix of RowKeys "p NUL" and the prefix), range.hi the least position after them. */
    struct range range;
    /* The service's $filter: listings show only entities that match. A process that has listed the
     * directory with a filter counts as having listed only these. NULL: all. */
    const char *filter;
};

/* A directory and those that contain it, along the path that a process has used: the directory
 * itself first, the table's last. `.flat` and filters are no steps: they show the directory that
 * contains them. */
struct directory_path {
    const struct directory *steps;
    size_t n; /* at least 1 */
    /* The path leads through `.flat`, or through a filter above the partition: such names never
     * change to prefixes when the table grows. */
    bool is_flat;
    const char *filter; /* of the directory itself, if the path leads through one; NULL: none */
};

/* A whole table. It exists even without a row; any other directory exists only with one. */
static inline bool directory_is_table(const struct directory *directory)
{
    return directory->table && directory->range.lo.size == 0;
}
/* All rows of a table, whatever its layout. */
static inline struct directory directory_of_table(const char *table)
{
    return (struct directory){.kind = DIRECTORY_FLAT, .table = table, .range = RANGE_ALL};
}

#endif
