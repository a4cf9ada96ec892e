/* SPDX-License-Identifier: MIT */
/* The parts are laid in rows along the shorter side of what is left of the box. A row takes parts
 * as long as that makes its worst part squarer. */
#include "fs/map/treemap.h"
#include "client/base/base.h"

/* The ratio of the longer to the shorter side of the worst part of a row. The row lies along a side
 * of length `side`. Its weights have the sum `sum`; `least` and `most` are its smallest and its
 * greatest. A weight of 1 has the area `scale`. */
static double worst_of(double sum, double least, double most, double scale, double side)
{
    double depth = sum * scale / side;
    return MAX(most * scale / (depth * depth), depth * depth / (least * scale));
}

/* The number of weights in the next row, at least 1. *ret_sum: their sum. */
static size_t row_of(const double *weights, size_t count, double scale, double side,
                     double *ret_sum)
{
    double sum = weights[0], least = weights[0], most = weights[0];
    double worst = worst_of(sum, least, most, scale, side);
    size_t taken = 1;
    for (; taken < count; taken++) {
        double next = weights[taken];
        double next_worst = worst_of(sum + next, MIN(least, next), MAX(most, next), scale, side);
        if (next_worst > worst)
            break;
        worst = next_worst;
        sum += next;
        least = MIN(least, next);
        most = MAX(most, next);
    }
    *ret_sum = sum;
    return taken;
}

/* Places the row at the start of the box, which becomes the rest of it. */
static void lay_row(struct box *box, const double *weights, size_t count, double sum, double scale,
                    struct box *ret)
{
    bool is_wide = box->width >= box->height;
    double side = is_wide ? box->height : box->width, depth = sum * scale / side, at = 0;
    for (size_t i = 0; i < count; i++) {
        double length = side * weights[i] / sum;
        ret[i] = is_wide ? (struct box){box->x, box->y + at, depth, length}
                         : (struct box){box->x + at, box->y, length, depth};
        at += length;
    }
    if (is_wide) {
        box->x += depth;
        box->width -= depth;
    } else {
        box->y += depth;
        box->height -= depth;
    }
}

void treemap_divide(struct box box, const double *weights, size_t count, struct box *ret)
{
    double all = 0;
    for (size_t i = 0; i < count; i++)
        all += weights[i];
    double scale = all > 0 ? box.width * box.height / all : 0;
    for (size_t i = 0, taken; i < count; i += taken) {
        double sum, side = MIN(box.width, box.height);
        taken = row_of(weights + i, count - i, scale, side, &sum);
        lay_row(&box, weights + i, taken, sum, scale, ret + i);
    }
}
