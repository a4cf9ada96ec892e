/* SPDX-License-Identifier: MIT */
#ifndef FS_MAP_TEXT_H
#define FS_MAP_TEXT_H
/* A table's map as a tree with bars, then the warnings in words. At a terminal the lines are as
 * wide as the drawing's columns, but for at least 8 columns of a name. A part with less than a
 * twentieth of all has no line of its own. Pure; one thread. */
#include "fs/map/drawing.h"

#define MAP_TEXT_DEPTH 3 /* if depth is 0 */

int map_text_append(const struct map_drawing *drawing, struct buffer *ret); /* 0 or -ENOMEM */

#endif
