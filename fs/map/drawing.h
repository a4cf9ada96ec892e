/* SPDX-License-Identifier: MIT */
#ifndef FS_MAP_DRAWING_H
#define FS_MAP_DRAWING_H
/* What all drawings of a table's map share: which parts of the tree they show, and their names.
 * Pure; one thread. */
#include "cache/account.h"

struct map_drawing {
    const char *table, *directory;   /* "": the whole table */
    const struct table_facts *facts; /* outlives it */
    const struct survey_node *root;  /* facts->all; in a partition's directory, the partition */
    bool by_bytes;                   /* parts are compared in bytes, else in entities */
    int depth;                       /* levels below the root that are shown; 0: no limit */
    size_t columns; /* of a line of text, to which names are cut; 0: they are not */
};

/* A text that a drawing makes is at most so long: far longer than its parts need. */
#define MAP_TEXT_MAX_BYTES ((size_t)64 << 20)

struct map_part {
    const struct survey_node *node; /* NULL: all that is in no other part */
    struct survey_counts counts;
};

struct map_parts { /* embedded, or on the stack */
    struct map_part *list;
    size_t count, room;
};
/* The node's children that measure at least `least`, the largest first, then the rest of the node.
 * None, if no child measures as much.
 * is_brief: a prefix that has nearly all of the node gives way to what is in it. */
int map_parts_find(const struct map_drawing *drawing, const struct survey_node *node,
                   uint64_t least, bool is_brief, struct map_parts *ret); /* 0 or -ENOMEM */
void map_parts_finish(struct map_parts *parts);

uint64_t map_measure(const struct map_drawing *drawing, const struct survey_counts *counts);
/* As percent of all. */
double map_share(const struct map_drawing *drawing, const struct survey_counts *counts);

/* Appends TABLE, or TABLE/DIRECTORY, as it may be shown. */
int map_append_title(const struct map_drawing *drawing, struct buffer *ret);
/* Appends the name as the tree spells it, as it may be shown: "zlib", "Ne+". 0 or -ENOMEM. */
int map_append_name(const struct survey_node *node, struct buffer *ret);
int map_append_key(struct bytes partition_key, struct buffer *ret); /* of a partition */
/* Appends printable text, at most `columns` wide: else its middle gives way to an ellipsis. */
int map_append_cut(struct bytes text, size_t columns, struct buffer *ret);
/* How many columns the text takes at a terminal, at most. */
size_t map_columns(struct bytes text);
/* The number of bytes at the beginning of the text that fit into `columns`, in whole characters. */
size_t map_beginning(struct bytes text, size_t columns);

#endif
