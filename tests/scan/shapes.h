/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SCAN_SHAPES_H
#define TESTS_SCAN_SHAPES_H
/* The key shapes that scan engines are measured with: what real tables look like. The same rows for
 * the same shape and count, always. */
#include "tests/scan/rows.h"

struct scan_shape {
    const char *name;
    void (*add)(struct rows *rows, size_t count, uint64_t *seed); /* about `count`, any order */
};

#define SCAN_SHAPES 17
extern const struct scan_shape scan_shapes[SCAN_SHAPES];

/* Makes a sorted table of at most `count` rows; NULL-safe by no means: the name is one of the list.
 */
void scan_shape_fill(const char *name, size_t count, struct rows *ret);

#endif
