/* SPDX-License-Identifier: MIT */
#include "tests/unit/cache/scan/scanning.h"

static void every_match_comes_once_and_in_order(void **state)
{
    (void)state;
    static const int matches[] = {1, 10, 100, 500, 1000};
    for (uint64_t seed = 0; seed < TRIALS(3000); seed++)
        scan_once(scan_filtered_create, seed * 1000003, false, matches[seed % ARRAY_SIZE(matches)]);
}

static void also_while_rows_come_and_go(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < TRIALS(1500); seed++)
        scan_once(scan_filtered_create, seed * 1000033, true, 100);
}

/* --- figures */

static size_t count_matches(const struct rows *rows, const struct network_options *options,
                            struct range range)
{
    size_t matches = 0;
    for (size_t i = 0; i < rows->count; i++)
        matches +=
            range_holds(range, rows->positions[i]) && network_matches(options, rows->positions[i]);
    return matches;
}

static struct network_figures run(struct rows *rows, scan_create *create,
                                  const struct network_options *options, struct range range)
{
    struct scan_limits limits = {.page_rows = TABLE_STORE_PAGE_ROWS};
    struct network_figures figures = {0};
    struct scan *scan;
    assert_int_equal(create(range, &limits, &scan), 0);
    assert_int_equal(network_run(options, rows, scan, &figures), 0);
    assert_int_equal(figures.taken_rows, count_matches(rows, options, range));
    scan_destroy(scan);
    return figures;
}

/* The pages of one query that is followed to its end: a scan of rows with one slot. */
static size_t serial_pages(struct rows *rows, const struct network_options *options)
{
    struct network_options serial = *options;
    serial.slots = 1;
    return run(rows, scan_rows_create, &serial, RANGE_ALL).requests;
}

/* Partitions whose names share no beginning, so that many are many children. */
static void fill_partitions(struct rows *rows, unsigned partitions, unsigned partition_rows)
{
    rows_init(rows);
    for (unsigned p = 0; p < partitions; p++) {
        for (unsigned r = 0; r < partition_rows; r++) {
            char partition[24], row[16];
            (void)snprintf(partition, sizeof(partition), "%c%c%03u", (int)('A' + p / 8 % 8),
                           (int)('a' + p % 8), p / 64);
            (void)snprintf(row, sizeof(row), "r%05u", r);
            rows_add_strings(rows, partition, row);
        }
    }
    rows_sort(rows);
}

static void parallel_costs_little_more_than_serial(void **state)
{
    (void)state;
    static const struct {
        unsigned partitions, rows;
        int matches, looks; /* of a thousand; 0: a page ends at 1,000 matches alone */
        bool is_long;       /* enough pages for a quarter of serial paging's time */
    } list[] = {
        {64, 2000, 1000, 0, false}, {64, 1500, 1000, 0, false},  {64, 5000, 1000, 0, true},
        {64, 1000, 100, 0, false},  {64, 3000, 10, 1000, true},  {64, 5000, 1, 1000, true},
        {512, 100, 1000, 0, false}, {512, 500, 10, 1000, false}, {64, 100, 1000, 0, false},
        {1000, 20, 1000, 0, false}, {8, 20000, 50, 1000, true},  {2000, 100, 10, 1000, true},
        {5000, 10, 1000, 0, false}, {300, 1000, 10, 500, true},  {64, 1000, 1000, 100, true},
    };
    for (size_t i = 0; i < ARRAY_SIZE(list); i++) {
        struct rows rows;
        struct network_options options = {
            .slots = 16, .matches = list[i].matches, .looks = list[i].looks};
        fill_partitions(&rows, list[i].partitions, list[i].rows);
        size_t serial = serial_pages(&rows, &options);
        struct network_figures figures = run(&rows, scan_filtered_create, &options, RANGE_ALL);
        /* of more partitions the prefixes are children */
        size_t most_names = MIN(list[i].partitions, 512U);
        bool is_cheap = figures.requests * 100 <= serial * 115 + (16 + most_names) * 100;
        bool is_fast = !list[i].is_long || figures.round_trips * 4 <= serial;
        if (!is_cheap || !is_fast)
            print_error("%u x %u, %d, %d: %zu requests, %zu round trips, serial %zu\n",
                        list[i].partitions, list[i].rows, list[i].matches, list[i].looks,
                        figures.requests, figures.round_trips, serial);
        assert_true(is_cheap && is_fast);
        rows_finish(&rows);
    }
}

static void four_requests_for_names_are_in_flight_at_most(void **state)
{
    (void)state;
    const struct network_options options = {.slots = 16, .matches = 10, .looks = 1000};
    static const unsigned partitions[] = {512, 2000, 5000};
    for (size_t i = 0; i < ARRAY_SIZE(partitions); i++) {
        struct rows rows;
        fill_partitions(&rows, partitions[i], 40);
        struct network_figures figures = run(&rows, scan_filtered_create, &options, RANGE_ALL);
        assert_int_equal(figures.names_out, 4);
        rows_finish(&rows);
    }
}

/* The names are not sought: there is nothing left, or nothing to split. */
static void what_one_query_answers_is_one_request(void **state)
{
    (void)state;
    const struct network_options all = {.slots = 16, .matches = 1000},
                                 few = {.slots = 16, .matches = 10};
    struct rows rows;
    fill_partitions(&rows, 64, 50);
    assert_int_equal(run(&rows, scan_filtered_create, &few, RANGE_ALL).requests, 1);
    struct range row = {B("Ab000\0r00007"), B("Ab000\0r00007\1")};
    assert_int_equal(run(&rows, scan_filtered_create, &all, row).requests, 1);
    assert_int_equal(
        run(&rows, scan_filtered_create, &all, (struct range){B("b"), B("a")}).requests, 0);
    rows_finish(&rows);
}

static void a_partition_is_read_page_after_page(void **state)
{
    (void)state;
    const struct network_options options = {.slots = 16, .matches = 100, .looks = 700};
    struct rows rows;
    fill_partitions(&rows, 3, 7000);
    struct range partition = {B("Ab000\0"), B("Ab000\1")};
    struct network_figures figures = run(&rows, scan_filtered_create, &options, partition);
    assert_int_equal(figures.requests, 10);
    assert_int_equal(figures.round_trips, 10);
    rows_finish(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_match_comes_once_and_in_order),
        cmocka_unit_test(also_while_rows_come_and_go),
        cmocka_unit_test(parallel_costs_little_more_than_serial),
        cmocka_unit_test(four_requests_for_names_are_in_flight_at_most),
        cmocka_unit_test(what_one_query_answers_is_one_request),
        cmocka_unit_test(a_partition_is_read_page_after_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
