/* SPDX-License-Identifier: MIT */
#include "cache/scan/equal_parts.h"

/* Kept at most. A point has 1/16 of a part at most, if rows are that many. */
#define POINTS_A_PART 64
#define POINTS_MIN    8192 /* so the parts of a small table are equal */

struct point {
    char *position;
    size_t size;
    double rows; /* up to the next point */
};

struct equal_parts {
    struct buffer end; /* of the range */
    size_t parts;
    struct point *points;
    size_t count, max;
    double rows;
    double least; /* rows of a point: fewer are added to the point before */
    /* of equal_parts_next */
    size_t part, at;
    double before; /* rows before points[at] */
};

int equal_parts_create(struct range range, size_t parts, struct equal_parts **ret)
{
    _cleanup_(equal_parts_destroyp) struct equal_parts *equal = calloc(1, sizeof(*equal));
    if (!equal)
        return -ENOMEM;
    buffer_init(&equal->end, POSITION_MAX_BYTES);
    equal->parts = parts;
    equal->max = MAX(parts * POINTS_A_PART, POINTS_MIN);
    equal->points = calloc(equal->max, sizeof(*equal->points));
    if (!equal->points || buffer_append(&equal->end, range.hi) < 0)
        return -ENOMEM;
    *ret = TAKE_PTR(equal);
    return 0;
}

void equal_parts_destroy(struct equal_parts *equal)
{
    if (!equal)
        return;
    for (size_t i = 0; i < equal->count; i++)
        free(equal->points[i].position);
    free(equal->points);
    buffer_finish(&equal->end);
    free(equal);
}

/* Joins neighbours that have few rows together. Any two that are left have more than `least`, so at
 * most half of the points are left. */
static void thin(struct equal_parts *equal)
{
    size_t kept = 0;
    equal->least = 4 * equal->rows / (double)equal->max;
    for (size_t i = 1; i < equal->count; i++) {
        struct point *last = &equal->points[kept], *next = &equal->points[i];
        if (last->rows + next->rows > equal->least) {
            equal->points[++kept] = *next;
            continue;
        }
        last->rows += next->rows;
        free(next->position);
    }
    equal->count = kept + 1;
}

int equal_parts_add(struct equal_parts *equal, struct bytes position, double rows)
{
    equal->rows += rows;
    if (equal->count > 0 && equal->points[equal->count - 1].rows + rows <= equal->least) {
        equal->points[equal->count - 1].rows += rows;
        return 0;
    }
    if (equal->count == equal->max)
        thin(equal);
    struct point *point = &equal->points[equal->count];
    *point = (struct point){malloc(position.size + 1), position.size, rows};
    if (!point->position)
        return -ENOMEM;
    if (position.size > 0)
        memcpy(point->position, position.data, position.size);
    equal->count++;
    return 0;
}

struct bytes equal_parts_next(struct equal_parts *equal)
{
    double wanted = equal->rows * (double)++equal->part / (double)equal->parts;
    for (; equal->at < equal->count; equal->at++) {
        const struct point *point = &equal->points[equal->at];
        /* the nearer end of the point, but no part gets none of many rows */
        if (equal->before + point->rows / 2 > wanted && equal->before > 0)
            return (struct bytes){point->position, point->size};
        equal->before += point->rows;
    }
    return buffer_bytes(&equal->end);
}
