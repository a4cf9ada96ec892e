/* SPDX-License-Identifier: MIT */
#include "cache/scan/equal_parts.h"

/* Kept at most. A point has 1/16 of a part at most, if rows are that many. */
#define POINTS_A_PART 64
#define POINTS_MIN    8192 /* so the parts of a small table are equal */
/* A part ends with a partition if that moves its end by at most 1/8 of a part. So fewer partitions
 * belong to two parts: two processes that read one partition share its limit at the service. */
#define NEAR_SHARE 8

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

static struct bytes position_of(const struct point *point)
{
    return (struct bytes){point->position, point->size};
}

/* Does a partition begin at the point, or between it and the point before? */
static bool begins_partition(const struct equal_parts *equal, size_t at)
{
    return !bytes_equal(position_partition_key(position_of(&equal->points[at - 1])),
                        position_partition_key(position_of(&equal->points[at])));
}

/* Moves from points[at] to the nearest point that begins a partition, if one is near. Not back to
 * the start of this part. */
static bool move_to_partition(struct equal_parts *equal, size_t first, double wanted)
{
    double near = equal->rows / (double)equal->parts / NEAR_SHARE, best_distance = near;
    double before = equal->before, best_before = 0;
    size_t at = equal->at, best = 0;
    while (at > first + 1 && wanted - before <= near)
        before -= equal->points[--at].rows;
    for (; at < equal->count && before - wanted <= near; before += equal->points[at++].rows) {
        double distance = before > wanted ? before - wanted : wanted - before;
        if (at > first && distance <= best_distance && begins_partition(equal, at)) {
            best_distance = distance;
            best_before = before;
            best = at;
        }
    }
    if (best == 0)
        return false;
    equal->at = best;
    equal->before = best_before;
    return true;
}

struct bytes equal_parts_next(struct equal_parts *equal)
{
    double wanted = equal->rows * (double)++equal->part / (double)equal->parts;
    size_t first = equal->at;
    while (equal->at < equal->count) {
        const struct point *point = &equal->points[equal->at];
        /* the nearer end of the point, but no part gets none of many rows */
        if (equal->before + point->rows / 2 > wanted && equal->before > 0)
            break;
        equal->before += point->rows;
        equal->at++;
    }
    bool is_moved = move_to_partition(equal, first, wanted);
    if (equal->at == equal->count)
        return buffer_bytes(&equal->end);
    struct bytes position = position_of(&equal->points[equal->at]);
    bool is_begin = is_moved && position_has_row(position);
    return is_begin ? bytes_first(position, position_partition_key(position).size + 1) : position;
}
