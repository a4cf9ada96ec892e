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
    DIRECTORY_FLAT,     /* all partitions of `range`, streamed */
    DIRECTORY_ENTITIES, /* the rows of `range`, inside one partition */
};

struct directory {
    enum directory_kind kind;
    const char *table;  /* NULL for DIRECTORY_TABLES */
    struct range range; /* of positions: a table, a partition, a RowKey prefix */
};

#endif
