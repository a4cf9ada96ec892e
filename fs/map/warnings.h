/* SPDX-License-Identifier: MIT */
#ifndef FS_MAP_WARNINGS_H
#define FS_MAP_WARNINGS_H
/* The warnings of `tablefuse map`: what the service's guidance warns of, found in a table's keys.
 * Pure; one thread. */
#include "fs/map/drawing.h"

enum map_warning {
    MAP_WARNING_ONE_PARTITION, /* has at least half of the entities, and is not all that is drawn */
    MAP_WARNING_GROWING_KEYS,  /* times or a counter as PartitionKeys: cache/scan/key_growth.h */
    MAP_WARNING_SINGLE,        /* at least half of the partitions have one entity */
    MAP_WARNING_LONG_KEYS,     /* too long for a file's name */
    MAP_WARNINGS
};

/* A partition with fewer entities gets no warning: the service writes this number in a second. */
#define MAP_WARNING_LARGE 2000
/* The table needs this number of partitions with one entity for MAP_WARNING_SINGLE. */
#define MAP_WARNING_MANY 1000

bool map_warning_is_given(const struct map_drawing *drawing, enum map_warning warning);
/* Appends a few sentences, without a line's end; what they show of keys is printable, and cut if
 * the drawing has columns. */
int map_warning_append(const struct map_drawing *drawing, enum map_warning warning,
                       struct buffer *ret);
/* Appends the warnings that are given, or a sentence that the table is empty. Each line has at most
 * `columns` columns, and an empty line precedes each warning. */
int map_warnings_append_text(const struct map_drawing *drawing, size_t columns, struct buffer *ret);

#endif
