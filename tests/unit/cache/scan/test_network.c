/* SPDX-License-Identifier: MIT */
/* The simulated network itself, driven by the jumps: what it counts, and that it is as unpleasant
 * as it was asked to be. */
#include "tests/scan/network.h"
#include "tests/scan/shapes.h"
#include "tests/unit/unit.h"

static struct network_figures jump(const struct network_options *options, struct rows *rows,
                                   struct range range)
{
    struct scan_limits limits = {.page_rows = TABLE_STORE_PAGE_ROWS};
    struct network_figures figures = {0};
    struct scan *scan;
    assert_int_equal(scan_partitions_create(range, &limits, &scan), 0);
    assert_int_equal(network_run(options, rows, scan, &figures), 0);
    scan_destroy(scan);
    return figures;
}

static void it_counts(void **state)
{
    (void)state;
    struct rows rows;
    scan_shape_fill("ten", 100000, &rows);
    assert_int_equal(rows.count, 100000);
    struct network_figures figures = jump(&(struct network_options){.slots = 1}, &rows, RANGE_ALL);
    assert_int_equal(figures.requests, 11);
    assert_int_equal(figures.empties, 1);
    assert_int_equal(figures.items, 10);
    assert_int_equal(figures.first_item, 1);
    rows_finish(&rows);
}

static void count_keys(void *context, const struct scan_item *item)
{
    assert_int_equal(item->kind, SCAN_PARTITION);
    ++*(size_t *)context;
}

static void no_fault_loses_a_key(void **state)
{
    (void)state;
    struct rows rows;
    rows_init(&rows);
    for (int p = 0; p < 50; p++) {
        for (int r = 0; r < p % 7 + 1; r++) {
            char partition[8], row[8];
            (void)snprintf(partition, sizeof(partition), "%d", p);
            (void)snprintf(row, sizeof(row), "%d", r);
            rows_add_strings(&rows, partition, row);
        }
    }
    rows_sort(&rows);
    for (uint64_t seed = 0; seed < 200; seed++) {
        size_t keys = 0;
        struct network_options options = {.slots = 1 + (int)seed % 5,
                                          .seed = seed,
                                          .short_percent = 30,
                                          .empty_percent = 20,
                                          .border_percent = 20,
                                          .late_percent = 20,
                                          .give_back_percent = 20,
                                          .takes = (int)seed % 3,
                                          .is_shuffled = true,
                                          .is_of_keys = true,
                                          .item = count_keys,
                                          .context = &keys};
        (void)jump(&options, &rows, RANGE_ALL);
        assert_int_equal(keys, 50);
    }
    rows_finish(&rows);
}

static void rows_can_come_and_go(void **state)
{
    (void)state;
    struct rows rows;
    rows_init(&rows);
    rows_add_strings(&rows, "b", "1");
    rows_add_strings(&rows, "a", "1");
    rows_add_strings(&rows, "b", "1");
    rows_sort(&rows);
    assert_int_equal(rows.count, 2);
    assert_true(rows_insert(&rows, B("a\0002")));
    assert_false(rows_insert(&rows, B("a\0002")));
    assert_int_equal(rows_seek(&rows, B("b")), 2);
    assert_true(rows_remove(&rows, B("a\0001")));
    assert_false(rows_remove(&rows, B("a\0001")));
    assert_int_equal(rows_seek(&rows, B("b")), 1);
    rows_finish(&rows);
}

static void every_shape_has_its_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < SCAN_SHAPES; i++) {
        struct rows rows;
        scan_shape_fill(scan_shapes[i].name, 4000, &rows);
        assert_in_range(rows.count, 3900, 4000);
        rows_finish(&rows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_counts),
        cmocka_unit_test(no_fault_loses_a_key),
        cmocka_unit_test(rows_can_come_and_go),
        cmocka_unit_test(every_shape_has_its_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
