/* SPDX-License-Identifier: MIT */
#include "cache/scan/equal_parts.h"
#include "cache/scan/scan.h"
#include "tests/scan/network.h"
#include "tests/scan/shapes.h"
#include "tests/unit/unit.h"

#define ROWS            200000
#define REQUESTS_A_PART 16

struct split {
    const struct rows *rows;
    size_t borders;
    size_t begin;            /* the first row of the part */
    size_t largest, empties; /* parts */
};

static void end_part(struct split *split, size_t end)
{
    assert_true(end >= split->begin);
    split->largest = MAX(split->largest, end - split->begin);
    split->empties += end == split->begin;
    split->begin = end;
}

static void take_border(void *context, const struct scan_item *item)
{
    struct split *split = context;
    assert_int_equal(item->kind, SCAN_BORDER);
    end_part(split, rows_seek(split->rows, item->key));
    split->borders++;
}

static struct network_figures run_split(struct network_options options, struct rows *rows,
                                        size_t parts, struct split *ret)
{
    struct network_figures figures;
    struct scan *scan;
    *ret = (struct split){.rows = rows};
    options.item = take_border;
    options.context = ret;
    assert_int_equal(scan_split_create(RANGE_ALL, parts, &scan), 0);
    assert_int_equal(network_run(&options, rows, scan, &figures), 0);
    scan_destroy(scan);
    assert_int_equal(ret->borders, parts - 1);
    assert_true(figures.requests <= REQUESTS_A_PART * parts);
    end_part(ret, rows->count);
    return figures;
}

static void check_shape(const char *name, size_t count, size_t parts, double most)
{
    struct rows rows;
    struct split split;
    scan_shape_fill(name, count, &rows);
    (void)run_split((struct network_options){.slots = 16}, &rows, parts, &split);
    double mean = (double)rows.count / (double)parts;
    if ((double)split.largest > most * mean)
        print_error("%s: %zu rows, mean %.0f\n", name, split.largest, mean);
    assert_true((double)split.largest <= most * mean);
    rows_finish(&rows);
}

static void parts_of_every_shape_are_about_equal(void **state)
{
    (void)state;
    for (size_t i = 0; i < SCAN_SHAPES; i++)
        check_shape(scan_shapes[i].name, ROWS, 64, 2);
}

/* At most a quarter of the rows is read; the others are estimated. A sanitizer gets one shape. */
static void parts_of_a_million_rows_are_about_equal(void **state)
{
    (void)state;
    static const char *const names[] = {"guid", "single", "ten", "ticks", "skew", "dates"};
    for (size_t i = 0; i < TRIALS(ARRAY_SIZE(names)); i++)
        check_shape(names[i], 1000000, 16, 2);
}

/* In this order of the answers the last ones make the model expect most rows in a small gap. */
static void no_gap_takes_all_borders(void **state)
{
    (void)state;
    struct rows rows;
    struct split split;
    scan_shape_fill("package", 1000000, &rows);
    (void)run_split((struct network_options){.slots = 16, .seed = 2, .is_shuffled = true}, &rows,
                    64, &split);
    assert_true(split.largest <= rows.count / 64 * 4);
    rows_finish(&rows);
}

/* As many requests as a table has pages suffice for it: to cut a gap would cost more of them, and
 * leave others unread. */
static void a_table_that_the_requests_can_read_is_read_on(void **state)
{
    (void)state;
    struct rows rows;
    struct split split;
    scan_shape_fill("sensors", 200000, &rows);
    size_t requests = run_split((struct network_options){.slots = 16}, &rows, 64, &split).requests;
    assert_in_range(requests, 201, 400);
    assert_true((double)split.largest <= 1.05 * (double)rows.count / 64);
    rows_finish(&rows);
    check_shape("skew", 1000000, 64, 1.1);
}

static void fill(struct rows *rows, size_t partitions, size_t each)
{
    char partition[32], row[32];
    rows_init(rows);
    for (size_t p = 0; p < partitions; p++) {
        for (size_t r = 0; r < each; r++) {
            (void)snprintf(partition, sizeof(partition), "p%zu", p);
            (void)snprintf(row, sizeof(row), "r%zu", r);
            rows_add_strings(rows, partition, row);
        }
    }
    rows_sort(rows);
}

static void few_rows_are_one_a_part(void **state)
{
    (void)state;
    static const struct {
        size_t partitions, each, parts, empties;
    } cases[] = {{0, 0, 5, 5},  {1, 1, 5, 4},   {1, 1, 1, 0},   {3, 1, 64, 61}, {1, 3, 64, 61},
                 {2, 5, 10, 0}, {64, 1, 64, 0}, {1, 64, 64, 0}, {8, 8, 64, 0}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct rows rows;
        struct split split;
        fill(&rows, cases[i].partitions, cases[i].each);
        (void)run_split((struct network_options){.slots = 8}, &rows, cases[i].parts, &split);
        assert_true(split.largest <= 1);
        assert_int_equal(split.empties, cases[i].empties);
        rows_finish(&rows);
    }
}

static void one_part_needs_no_request(void **state)
{
    (void)state;
    struct rows rows;
    struct split split;
    fill(&rows, 2, 5);
    assert_int_equal(run_split((struct network_options){.slots = 8}, &rows, 1, &split).requests, 0);
    assert_int_equal(split.largest, 10);
    rows_finish(&rows);
}

/* Whatever the service does, and while rows come and go. */
static void change(void *context, struct rows *rows, uint64_t *seed)
{
    (void)context;
    if (rows->count > 0)
        (void)rows_remove(rows, rows->positions[random_below(seed, rows->count)]);
}

static void every_service_is_cut_in_order(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (size_t i = 0; i < TRIALS(150); i++) {
        struct rows rows;
        struct split split;
        const char *name = scan_shapes[random_below(&seed, SCAN_SHAPES)].name;
        scan_shape_fill(name, random_below(&seed, 20000), &rows);
        struct network_options options = {
            .slots = 1 + (int)random_below(&seed, 16),
            .seed = random_next(&seed),
            .short_percent = (int)random_below(&seed, 60),
            .empty_percent = (int)random_below(&seed, 30),
            .border_percent = (int)random_below(&seed, 50),
            .larger_percent = (int)random_below(&seed, 20),
            .smaller_percent = (int)random_below(&seed, 20),
            .late_percent = (int)random_below(&seed, 30),
            .give_back_percent = (int)random_below(&seed, 30),
            .is_shuffled = random_percent(&seed, 50),
            .change = random_percent(&seed, 30) ? change : NULL,
        };
        (void)run_split(options, &rows, 2 + random_below(&seed, 20), &split);
        rows_finish(&rows);
    }
}

/* Of rows of different weights, with more points than are kept. */
static void equal_parts_keep_few_points(void **state)
{
    (void)state;
    _cleanup_(equal_parts_destroyp) struct equal_parts *equal = NULL;
    char position[16];
    double previous = 0;
    assert_int_equal(equal_parts_create(RANGE_ALL, 4, &equal), 0);
    for (int i = 0; i < 100000; i++) {
        (void)snprintf(position, sizeof(position), "%06d", i);
        assert_int_equal(equal_parts_add(equal, bytes_of(position), i % 100 == 0 ? 50 : 0.5), 0);
    }
    for (int i = 1; i < 4; i++) {
        struct bytes border = equal_parts_next(equal);
        uint64_t row;
        assert_true(bytes_parse_unsigned(border, 100000, &row));
        assert_in_range(row - (uint64_t)previous, 25000 * 93 / 100, 25000 * 107 / 100);
        previous = (double)row;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_every_shape_are_about_equal),
        cmocka_unit_test(parts_of_a_million_rows_are_about_equal),
        cmocka_unit_test(no_gap_takes_all_borders),
        cmocka_unit_test(a_table_that_the_requests_can_read_is_read_on),
        cmocka_unit_test(few_rows_are_one_a_part),
        cmocka_unit_test(one_part_needs_no_request),
        cmocka_unit_test(every_service_is_cut_in_order),
        cmocka_unit_test(equal_parts_keep_few_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
