#ifndef CACHE_ADDRESS_H
#define CACHE_ADDRESS_H
/* What fs/ can point at, in terms of keys: values; fs/tree/place makes them from names, cache/
 * never sees a name. */
#include "client/position.h"

struct address { /* an entity's */
    const char *table;
    struct bytes position;
};

enum directory_kind {
    DIRECTORY_TABLES,   /* the account: its tables */
    DIRECTORY_AUTO,     /* a level: the partitions of `range`, or the prefixes that they share */
    DIRECTORY_FLAT,     /* all partitions of `range`, streamed */
    DIRECTORY_ENTITIES, /* the rows of `range`, inside one partition */
};

struct directory {
    enum directory_kind kind;
    const char *table; /* NULL for DIRECTORY_TABLES */
    /* Of positions. A table: all; a partition: from "p NUL" on; a prefix of PartitionKeys, or of
     * RowKeys behind "p NUL": range.lo, up to the least end behind what starts so. */
    struct range range;
};

/* A whole table, which is there without a row in it; anything else is where its range has one. */
static inline bool directory_is_table(const struct directory *directory)
{
    return directory->table && directory->range.lo.size == 0;
}

#endif
