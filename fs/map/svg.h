/* SPDX-License-Identifier: MIT */
#ifndef FS_MAP_SVG_H
#define FS_MAP_SVG_H
/* A table's map as a treemap in SVG, for paper as well: black lines, greys, and no colours. The
 * area of a rectangle is its share of all, to the hundredth of a pixel. White is a partition, grey
 * all that starts with a prefix, hatched what is left of a prefix. A thick line surrounds what is
 * at the first level. Below stand the scale and the warnings.
 *
 * A part with less than a two thousandth of all has no rectangle of its own. A viewer shows the
 * name and the counts of that under the pointer. Pure; one thread. */
#include "fs/map/drawing.h"

int map_svg_append(const struct map_drawing *drawing, struct buffer *ret); /* 0 or -ENOMEM */

#endif
