/* SPDX-License-Identifier: MIT */
/* Rectangles that fill a box, each with its share. */
#include "fs/map/treemap.h"
#include "tests/unit/unit.h"

#include <math.h>

#define MAX_PARTS 60

static unsigned below(unsigned *random, unsigned n)
{
    *random = *random * 1664525 + 1013904223;
    return (*random >> 8) % n;
}

static bool is_about(double a, double b)
{
    return fabs(a - b) < 1e-6 * MAX(1, fabs(b));
}

static bool do_overlap(struct box a, struct box b)
{
    double width = MIN(a.x + a.width, b.x + b.width) - MAX(a.x, b.x);
    double height = MIN(a.y + a.height, b.y + b.height) - MAX(a.y, b.y);
    return width > 1e-6 && height > 1e-6;
}

static void check(struct box box, const double *weights, size_t count)
{
    struct box parts[MAX_PARTS];
    double all = 0;
    for (size_t i = 0; i < count; i++)
        all += weights[i];
    treemap_divide(box, weights, count, parts);
    for (size_t i = 0; i < count; i++) {
        struct box part = parts[i];
        assert_true(is_about(part.width * part.height, weights[i] / all * box.width * box.height));
        assert_true(part.x >= box.x - 1e-6 && part.x + part.width <= box.x + box.width + 1e-6);
        assert_true(part.y >= box.y - 1e-6 && part.y + part.height <= box.y + box.height + 1e-6);
        for (size_t other = 0; other < i; other++)
            assert_false(do_overlap(part, parts[other]));
    }
}

static int descending(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return left < right ? 1 : left > right ? -1 : 0;
}

static void test_random_weights(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < TRIALS(2000); seed++) {
        unsigned random = seed;
        double weights[MAX_PARTS];
        size_t count = 1 + below(&random, MAX_PARTS);
        for (size_t i = 0; i < count; i++)
            weights[i] = 1 + (below(&random, 3) ? below(&random, 10) : below(&random, 100000));
        if (below(&random, 4)) /* else in any order, as what is left of a prefix comes last */
            qsort(weights, count, sizeof(weights[0]), descending);
        struct box box = {below(&random, 100), below(&random, 100), 1 + below(&random, 1000),
                          1 + below(&random, 1000)};
        check(box, weights, count);
    }
}

/* Of the paper: 6, 6, 4, 3, 2, 2, 1 in 6 by 4. */
static void test_parts_are_about_square(void **state)
{
    (void)state;
    const double weights[] = {6, 6, 4, 3, 2, 2, 1};
    struct box parts[ARRAY_SIZE(weights)];
    treemap_divide((struct box){0, 0, 6, 4}, weights, ARRAY_SIZE(weights), parts);
    const struct box expected[] = {{0, 0, 3, 2},
                                   {0, 2, 3, 2},
                                   {3, 0, 12 / 7.0, 7 / 3.0},
                                   {33 / 7.0, 0, 9 / 7.0, 7 / 3.0},
                                   {3, 7 / 3.0, 1.2, 5 / 3.0}};
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        assert_true(is_about(parts[i].x, expected[i].x) && is_about(parts[i].y, expected[i].y));
        assert_true(is_about(parts[i].width, expected[i].width));
        assert_true(is_about(parts[i].height, expected[i].height));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_weights),
        cmocka_unit_test(test_parts_are_about_square),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
