/* SPDX-License-Identifier: MIT */
#ifndef FS_MAP_TREEMAP_H
#define FS_MAP_TREEMAP_H
/* Divides a rectangle among weights: the area of each part is its share, and the parts are about
 * square ("Squarified Treemaps", Bruls, Huizing, van Wijk 2000). Pure. */
#include <stddef.h>

struct box {
    double x, y, width, height;
};

/* The weights are greater than 0, best the largest first. ret: a box for each of them. */
void treemap_divide(struct box box, const double *weights, size_t count, struct box *ret);

#endif
