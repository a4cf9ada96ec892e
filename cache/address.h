#ifndef CACHE_ADDRESS_H
#define CACHE_ADDRESS_H
/* The entity or directory that a path stands for, in terms of keys. fs/tree/place makes these
 * values from file names; cache/ knows no file names. */
#include "client/position.h"

struct address { /* an entity's */
    const char *table;
    struct bytes position;
};

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
};

/* A whole table. It exists even without a row; any other directory exists only with one. */
static inline bool directory_is_table(const struct directory *directory)
{
    return directory->table && directory->range.lo.size == 0;
}

#endif
