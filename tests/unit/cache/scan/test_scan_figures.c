/* SPDX-License-Identifier: MIT */
/* What a scan of each key shape costs, with 200,000 rows: at most these requests and round trips.
 * tests/scan/figures.c compares the costs of a million with those of the model. */
#include "tests/scan/network.h"
#include "tests/scan/shapes.h"
#include "tests/unit/unit.h"

#define ROWS 200000 /* 200 pages */

static struct network_figures scan_pages(struct rows *rows, int page_rows, int slots,
                                         size_t window_bytes)
{
    struct scan_limits limits = {.page_rows = page_rows, .window_bytes = window_bytes};
    struct network_options options = {.slots = slots};
    struct network_figures figures = {0};
    struct scan *scan;
    assert_int_equal(scan_rows_create(RANGE_ALL, &limits, &scan), 0);
    assert_int_equal(network_run(&options, rows, scan, &figures), 0);
    scan_destroy(scan);
    assert_int_equal(figures.taken_rows, rows->count);
    assert_int_equal(figures.first_item, 1);
    return figures;
}

static struct network_figures scan(struct rows *rows, int slots, size_t window_bytes)
{
    return scan_pages(rows, TABLE_STORE_PAGE_ROWS, slots, window_bytes);
}

struct marks {
    size_t requests, round_trips;
};

static void assert_marks(const char *shape, const struct network_figures *figures,
                         const struct marks *marks)
{
    if (figures->requests > marks->requests || figures->round_trips > marks->round_trips)
        print_error("%s: %zu requests, %zu round trips\n", shape, figures->requests,
                    figures->round_trips);
    assert_true(figures->requests <= marks->requests);
    assert_true(figures->round_trips <= marks->round_trips);
}

static void every_shape_costs_little(void **state)
{
    (void)state;
    static const struct {
        const char *shape;
        struct marks slots_8, slots_32, window; /* of 40 pages, 8 slots */
    } list[] = {
        {"guid", {212, 31}, {220, 17}, {240, 45}},
        {"customer", {220, 33}, {222, 18}, {240, 45}},
        {"package", {255, 37}, {320, 21}, {280, 72}},
        {"single", {220, 33}, {228, 19}, {240, 45}},
        {"ten", {220, 33}, {228, 26}, {240, 48}},
        {"ticks", {230, 33}, {258, 17}, {250, 58}},
        {"sensors", {266, 46}, {276, 33}, {260, 72}},
        {"dates", {230, 33}, {258, 17}, {250, 50}},
        {"skew", {236, 34}, {254, 16}, {262, 62}},
        {"cjk", {215, 33}, {245, 17}, {240, 45}},
        {"long", {222, 33}, {230, 18}, {240, 45}},
        {"small", {8, 5}, {8, 5}, {9, 6}},
        {"series", {230, 35}, {240, 21}, {225, 60}},
        {"seriesshort", {240, 35}, {270, 21}, {262, 52}},
        {"serieslong", {248, 38}, {250, 21}, {272, 48}},
        {"seriesgaps", {234, 36}, {240, 21}, {225, 60}},
        {"seriesticks", {230, 35}, {240, 21}, {225, 60}},
    };
    for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
        struct rows rows;
        scan_shape_fill(list[i].shape, ROWS, &rows);
        struct network_figures figures = scan(&rows, 8, 0);
        assert_marks(list[i].shape, &figures, &list[i].slots_8);
        size_t window = 40 * figures.page_bytes;
        figures = scan(&rows, 32, 0);
        assert_marks(list[i].shape, &figures, &list[i].slots_32);
        figures = scan(&rows, 8, window);
        assert_marks(list[i].shape, &figures, &list[i].window);
        assert_true(figures.bytes_ahead <= window + 2 * figures.page_bytes);
        rows_finish(&rows);
    }
}

/* After the small partitions that are read first lies one of 900 pages, and more small ones that
 * were read by mistake: they do not fill the window until the end. */
static void what_came_too_early_is_dropped(void **state)
{
    (void)state;
    struct rows rows;
    scan_shape_fill("skew", ROWS, &rows);
    struct network_figures figures = scan_pages(&rows, 200, 8, 0);
    figures = scan_pages(&rows, 200, 8, 20 * figures.page_bytes);
    assert_marks("skew", &figures, &(struct marks){1220, 306}); /* 506 if it never is */
    rows_finish(&rows);
}

static void fill_equally(struct rows *rows, int partitions, int partition_rows)
{
    rows_init(rows);
    for (int p = 0; p < partitions; p++) {
        for (int r = 0; r < partition_rows; r++) {
            char partition[16], row[16];
            (void)snprintf(partition, sizeof(partition), "p%05d", p);
            (void)snprintf(row, sizeof(row), "r%05d", r);
            rows_add_strings(rows, partition, row);
        }
    }
    rows_sort(rows);
}

/* A partition's last page is not a request more, nor full of the next one's rows. */
static void partitions_of_few_pages_cost_little(void **state)
{
    (void)state;
    static const struct {
        int partitions, rows;
        struct marks marks; /* 8 slots, a window of 32 MiB */
    } list[] = {
        {40, 2000, {100, 24}}, {100, 1200, {147, 31}}, {50, 1000, {68, 17}},
        {50, 1001, {73, 19}},  {100, 3000, {330, 50}}, {200, 1000, {250, 38}},
    };
    for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
        char name[32];
        struct rows rows;
        fill_equally(&rows, list[i].partitions, list[i].rows);
        struct network_figures figures = scan(&rows, 8, (size_t)32 << 20);
        (void)snprintf(name, sizeof(name), "%d of %d", list[i].partitions, list[i].rows);
        assert_marks(name, &figures, &list[i].marks);
        rows_finish(&rows);
    }
}

/* One slot is serial paging: no guess, no request more. */
static void one_slot_costs_nothing_more(void **state)
{
    (void)state;
    for (size_t i = 0; i < SCAN_SHAPES; i++) {
        struct rows rows;
        scan_shape_fill(scan_shapes[i].name, ROWS / 10, &rows);
        struct network_figures figures = scan(&rows, 1, 0);
        assert_int_equal(figures.requests, (rows.count + 999) / 1000);
        assert_int_equal(figures.speculative, 0);
        rows_finish(&rows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_costs_little),
        cmocka_unit_test(partitions_of_few_pages_cost_little),
        cmocka_unit_test(what_came_too_early_is_dropped),
        cmocka_unit_test(one_slot_costs_nothing_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
