/* Files that are opened by name, of a list in key order, by programs that list nothing (xargs cat,
 * tar -T, rsync --files-from): they cost about one request for 1,000 rows, too. */
#include "tests/unit/account_fixture.h"

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

/* Every n-th partition of some. */
static size_t open_all(struct setup *setup, int partitions, int rows, int n, bool are_known)
{
    for (int i = 0; i < partitions; i += n)
        for (int row = 0; row < rows; row++)
            open_row(setup, i, row, are_known || row > 0);
    return gate_store_settle(setup->gate);
}

static void a_list_of_files_is_read_by_pages(void **state)
{
    (void)state;
    struct setup setup;
    set_up_partitions(&setup, 2000, 3);
    setup.process = CAT;
    /* three at first, then 64, 768 and 1,000 rows at a time, and the rest of the partitions that
     * six of these end in */
    assert_int_equal(open_all(&setup, 2000, 3, 1, false), 3 + 1 + 1 + 6 + 6);
    tear_down(&setup);
}

/* Somebody else has looked the directories up. */
static void so_it_is_where_the_kernel_knows_the_directories(void **state)
{
    (void)state;
    struct setup setup;
    set_up_partitions(&setup, 2000, 3);
    setup.process = CAT;
    assert_int_equal(open_all(&setup, 2000, 3, 1, true), 9 + 1 + 1 + 6 + 6 - 2);
    tear_down(&setup);
}

static void a_program_for_each_file_reads_on(void **state)
{
    (void)state;
    struct setup setup;
    set_up_partitions(&setup, 300, 3);
    for (int i = 0; i < 300; i++) {
        setup.process = 1000 + (uint64_t)i;
        open_row(&setup, i, 1, false);
    }
    assert_int_equal(gate_store_settle(setup.gate), 3 + 2 + 2);
    tear_down(&setup);
}

static void in_one_partition_too(void **state)
{
    (void)state;
    struct setup setup;
    set_up_partitions(&setup, 1, 3000);
    for (int i = 100; i < 600; i++) { /* not those that come with the directory */
        setup.process = 1000 + (uint64_t)i;
        assert_row_found(&setup, "p00000", i);
    }
    assert_int_equal(gate_store_settle(setup.gate), 8); /* 1, 1, 4, 12, 36, 108, 324, 972 */
    tear_down(&setup);
}

/* What is read ahead is used for one partition of ten: no request more than one each. */
static void who_picks_some_pays_for_each(void **state)
{
    (void)state;
    struct setup setup;
    set_up_partitions(&setup, 1000, 40);
    setup.process = CAT;
    assert_in_range(open_all(&setup, 1000, 1, 10, false), 30, 100);
    tear_down(&setup);
}

static void nobody_and_who_jumps_about_read_nothing_ahead(void **state)
{
    (void)state;
    struct setup setup;
    set_up_partitions(&setup, 100, 3);
    setup.process = NOBODY;
    assert_int_equal(open_all(&setup, 100, 1, 1, false), 100);
    setup.now_ms += TTL_MS + 1;
    setup.process = CAT;
    for (int i = 99; i >= 0; i--)
        open_row(&setup, i, 0, false);
    assert_int_equal(gate_store_settle(setup.gate), 200);
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
    tear_down(&setup);
}

/* What may be read may be a part of the table: what is ahead is refused, and no failure. */
static void what_fails_ahead_is_not_told(void **state)
{
    (void)state;
    struct setup setup;
    set_up_with(&setup, 12, 3,
                (struct setup_options){.faults = "fail=query:4:403:AuthorizationFailure"});
    setup.process = CAT;
    assert_int_equal(open_all(&setup, 12, 3, 1, false), 3 + 1 + 2 + 1);
    tear_down(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_of_files_is_read_by_pages),
        cmocka_unit_test(so_it_is_where_the_kernel_knows_the_directories),
        cmocka_unit_test(a_program_for_each_file_reads_on),
        cmocka_unit_test(in_one_partition_too),
        cmocka_unit_test(who_picks_some_pays_for_each),
        cmocka_unit_test(nobody_and_who_jumps_about_read_nothing_ahead),
        cmocka_unit_test(with_ttl_0_each_question_is_asked),
        cmocka_unit_test(what_fails_ahead_is_not_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
