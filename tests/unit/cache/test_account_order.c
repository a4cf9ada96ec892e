/* SPDX-License-Identifier: MIT */
/* Files that are opened by name in key order, by programs that list nothing (xargs cat, tar -T,
 * rsync --files-from, git add): they cost about one request for 1,000 rows, however many processes
 * open them. In another order each costs one request at most. */
#include "tests/unit/cache/account_fixture.h"

#define CAT 7 /* a process */

static void set_up_with(struct setup *setup, int partitions, int rows, struct setup_options options)
{
    set_up(setup, options);
    memory_store_add_table(setup->memory, "t");
    for (int i = 0; i < partitions; i++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "p%05d", i);
        add_rows(setup, key, rows);
    }
}

static void set_up_partitions(struct setup *setup, int partitions, int rows)
{
    set_up_with(setup, partitions, rows, (struct setup_options){0});
}

/* As the kernel does: first the directory, unless it knows that still. */
static void open_row(struct setup *setup, int partition, int row, bool is_directory_known)
{
    char key[16], lo[32], hi[32];
    int size = snprintf(key, sizeof(key), "p%05d", partition);
    (void)snprintf(lo, sizeof(lo), "%s", key);
    (void)snprintf(hi, sizeof(hi), "%s%s", key, POSITION_AFTER);
    struct directory directory = {
        .kind = DIRECTORY_ENTITIES,
        .table = "t",
        .range = {{lo, (size_t)size + 1}, {hi, (size_t)size + strlen(POSITION_AFTER)}}};
    if (!is_directory_known)
        assert_directory_found(setup, &directory, 0);
    assert_row_found(setup, key, row);
}

/* Every n-th partition. The requests so far. */
static size_t open_all(struct setup *setup, int partitions, int rows, int n, bool are_known)
{
    for (int i = 0; i < partitions; i += n)
        for (int row = 0; row < rows; row++)
            open_row(setup, i, row, are_known || row > 0);
    return gate_store_settle(setup->gate);
}

/* A request for each 1,000 rows, some at first until the order shows, and the rests of partitions
 * that pages end in. */
static void assert_read_by_pages(size_t requests, size_t rows)
{
    assert_in_range(requests, rows / 1000, rows * 115 / 100000 + rows / 1000 + 12);
}

static void a_list_of_files_is_read_by_pages(void **state)
{
    (void)state;
    static const uint64_t processes[] = {CAT, NO_PROCESS};
    for (size_t i = 0; i < ARRAY_SIZE(processes); i++) {
        struct setup setup;
        set_up_partitions(&setup, 2000, 3);
        setup.process = processes[i];
        assert_read_by_pages(open_all(&setup, 2000, 3, 1, false), 6000);
        tear_down(&setup);
    }
}

static void large_partitions_are_read_by_pages(void **state)
{
    (void)state;
    static const int rows[] = {300, 1500, 6000};
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct setup setup;
        set_up_partitions(&setup, 6000 / rows[i], rows[i]);
        setup.process = CAT;
        size_t requests = open_all(&setup, 6000 / rows[i], rows[i], 1, false);
        /* a page inside a partition ends with it */
        size_t partitions = 6000 / (size_t)rows[i];
        assert_in_range(requests, 6, 6 * 115 / 100 + 2 * partitions + 12);
        tear_down(&setup);
    }
}

static void a_program_for_each_file_reads_on(void **state)
{
    (void)state;
    struct setup setup;
    set_up_partitions(&setup, 2000, 3);
    for (int i = 0; i < 2000; i++) {
        setup.process = 1000 + (uint64_t)i;
        open_row(&setup, i, 1, false);
    }
    assert_read_by_pages(gate_store_settle(setup.gate), 6000);
    tear_down(&setup);
}

static void in_one_partition_too(void **state)
{
    (void)state;
    struct setup setup;
    set_up_partitions(&setup, 1, 6000);
    for (int i = 0; i < 6000; i++) {
        setup.process = 1000 + (uint64_t)i;
        assert_row_found(&setup, "p00000", i);
    }
    assert_read_by_pages(gate_store_settle(setup.gate), 6000);
    tear_down(&setup);
}

/* 8 programs at a time, of 20 files each, take turns, as those of xargs -P8 -n20. */
static void parallel_programs_read_on(void **state)
{
    (void)state;
    static const int partitions[] = {1, 2400};
    for (size_t i = 0; i < ARRAY_SIZE(partitions); i++) {
        int rows = 7200 / partitions[i];
        struct setup setup;
        set_up_partitions(&setup, partitions[i], rows);
        for (int turn = 0; turn < 7200; turn++) {
            int round = turn / 160, program = turn % 8, file = turn % 160 / 8;
            int number = round * 160 + program * 20 + file;
            setup.process = 1000 + (uint64_t)(round * 8 + program);
            open_row(&setup, number / rows, number % rows, false);
        }
        assert_in_range(gate_store_settle(setup.gate), 7, 7200 * 15 / 1000);
        tear_down(&setup);
    }
}

/* What is read ahead is used for one partition of ten: no request more than one each. */
static void picking_some_costs_at_most_one_each(void **state)
{
    (void)state;
    struct setup setup;
    set_up_partitions(&setup, 1000, 40);
    setup.process = CAT;
    assert_in_range(open_all(&setup, 1000, 1, 10, false), 1, 100);
    tear_down(&setup);
}

static void against_key_order_each_costs_at_most_one(void **state)
{
    (void)state;
    struct setup setup;
    set_up_partitions(&setup, 100, 3);
    for (int i = 99; i >= 0; i--)
        open_row(&setup, i, 0, false);
    assert_in_range(gate_store_settle(setup.gate), 1, 100);
    tear_down(&setup);
    set_up_partitions(&setup, 1, 2000);
    for (int i = 1999; i >= 0; i -= 20)
        assert_row_found(&setup, "p00000", i);
    assert_int_equal(gate_store_settle(setup.gate), 100);
    tear_down(&setup);
}

/* What is read ahead would be too old at once. */
static void with_ttl_0_each_question_is_asked(void **state)
{
    (void)state;
    struct setup setup;
    set_up_with(&setup, 100, 3, (struct setup_options){.is_ttl_0 = true});
    setup.process = CAT;
    assert_int_equal(open_all(&setup, 100, 1, 1, false), 200); /* the partition, the row */
    for (size_t i = 0; i < 200; i++) {
        const struct memory_store_entry *entry = &setup.memory->diary[i];
        assert_int_equal(entry->what, i % 2 == 0 ? ASKED_QUERY : ASKED_GET);
    }
    tear_down(&setup);
}

/* The caller may read single partitions: a query across their borders is refused. */
static int refuse_across(struct memory_store *self, size_t number, struct call *call)
{
    const struct memory_store_entry *entry = &self->diary[number - 1];
    struct range range = {buffer_bytes(&entry->lo), buffer_bytes(&entry->hi)};
    return entry->what == ASKED_QUERY && !range_is_in_partition(range)
               ? call_fail(call, -EACCES, "no more than a partition")
               : 0;
}

/* The caller may read single rows. */
static int refuse_queries(struct memory_store *self, size_t number, struct call *call)
{
    return self->diary[number - 1].what == ASKED_QUERY ? call_fail(call, -EACCES, "single rows")
                                                       : 0;
}

static void what_fails_ahead_fails_no_open(void **state)
{
    (void)state;
    for (int are_known = 0; are_known <= 1; are_known++) {
        struct setup setup;
        set_up_partitions(&setup, 12, 3);
        setup.memory->fault = refuse_across;
        setup.process = CAT;
        assert_in_range(open_all(&setup, 12, 3, 1, are_known), 12, 2 * 12 * 3);
        tear_down(&setup);
    }
    struct setup setup;
    set_up_partitions(&setup, 1, 40);
    setup.memory->fault = refuse_queries;
    assert_in_range(open_all(&setup, 1, 40, 1, true), 40, 2 * 40);
    tear_down(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_of_files_is_read_by_pages),
        cmocka_unit_test(large_partitions_are_read_by_pages),
        cmocka_unit_test(a_program_for_each_file_reads_on),
        cmocka_unit_test(in_one_partition_too),
        cmocka_unit_test(parallel_programs_read_on),
        cmocka_unit_test(picking_some_costs_at_most_one_each),
        cmocka_unit_test(against_key_order_each_costs_at_most_one),
        cmocka_unit_test(with_ttl_0_each_question_is_asked),
        cmocka_unit_test(what_fails_ahead_fails_no_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
