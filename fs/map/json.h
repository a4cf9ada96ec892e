/* SPDX-License-Identifier: MIT */
#ifndef FS_MAP_JSON_H
#define FS_MAP_JSON_H
/* A table's map as one JSON object, with a line for each part. Pure; one thread.
 *
 *   table        its name
 *   directory    its path in the table, as it was given; "": the whole table
 *   entities, partitions, and with by_bytes: bytes
 *   rest         the same of what is in no part of the first level
 *   parts        a list, in key order, each after the prefix that holds it. None in a partition
 *     path       its name as the tree spells it
 *     prefix, or partition: the beginning of the keys, or the key
 *     level      1: in no other part; 2: in one, and so on
 *     entities, partitions, bytes, rest: as above. No rest: all is in parts, or nothing
 *   warnings     a list: `warning` is a name, `text` the sentences, others are numbers and keys
 *
 * A part with less than a ten thousandth of all is not there. */
#include "fs/map/drawing.h"

int map_json_append(const struct map_drawing *drawing, struct buffer *ret); /* 0 or -ENOMEM */

#endif
