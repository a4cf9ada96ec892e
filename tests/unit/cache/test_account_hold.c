/* SPDX-License-Identifier: MIT */
/* A process that deletes a whole table, and takes its time: what is held meanwhile, and what is
 * sent. */
#include "cache/queue/pending_parts.h"
#include "tests/unit/cache/dropping.h"

/* The threads of the queue do not know that the test turns the clock. */
static void pass(struct setup *setup, int64_t ms)
{
    struct monitor *monitor = &setup->account->write.pending->monitor;
    setup->now_ms += ms;
    monitor_enter(monitor);
    monitor_notify(monitor);
    monitor_leave(monitor);
}

static void wait_until_queued(struct setup *setup, int n)
{
    while ((int)metric(setup, "tablefuse_queued") != n)
        clock_system.sleep_ms(NULL, 1);
}

static size_t stored(const struct setup *setup)
{
    return page_rows(setup->memory->rows);
}

static void list_rows(struct setup *setup, const char *partition)
{
    const struct directory rows = rows_of(partition);
    assert_int_equal(list(setup, &rows, false), ROWS);
}

static void remove_directory_of(struct setup *setup, const char *partition)
{
    assert_int_equal(remove_at(setup, PATH_OF(rows_of(partition), *PARTITIONS_OF("t"))), 0);
}

/* With a pause after each unlink. */
static void remove_slowly(struct setup *setup, int64_t pause_ms)
{
    for (size_t i = 0; i < ARRAY_SIZE(partitions); i++) {
        list_rows(setup, partitions[i]);
        for (int row = 0; row < ROWS; row++) {
            remove_row(setup, partitions[i], row);
            pass(setup, pause_ms);
        }
        remove_directory_of(setup, partitions[i]);
    }
}

static void pauses_of_some_seconds_keep_the_hold(void **state)
{
    (void)state;
    static const int64_t pauses_ms[] = {1000, 4000, DELETE_POLICY_REST_MS - 1};
    for (size_t i = 0; i < ARRAY_SIZE(pauses_ms); i++) {
        struct setup setup;
        set_up_table(&setup, (struct setup_options){0});
        remove_slowly(&setup, pauses_ms[i]);
        assert_int_equal(metric(&setup, "tablefuse_queued"), 2 * ROWS - 1);
        assert_int_equal(stored(&setup), 2 * ROWS - 1);
        memory_store_forget_diary(setup.memory);
        assert_int_equal(remove_table(&setup), 0);
        assert_requests(&setup, "keys [ ~) 1000, change of tables");
        tear_down_queue(&setup);
    }
}

DEFINE_FIXTURE(table_queue, struct setup, set_up_table(test, (struct setup_options){0}),
               tear_down_queue(test))

/* Each is the first of a burst. */
static void after_a_longer_pause_a_delete_is_sent_at_once(void **state)
{
    struct setup *setup = *state;
    for (size_t i = 0; i < ARRAY_SIZE(partitions); i++) {
        list_rows(setup, partitions[i]);
        for (int row = 0; row < ROWS; row++) {
            size_t before = stored(setup);
            remove_row(setup, partitions[i], row);
            assert_int_equal(stored(setup), before - 1);
            pass(setup, 6000);
        }
        remove_directory_of(setup, partitions[i]);
    }
    assert_int_equal(metric(setup, "tablefuse_queued"), 0);
    assert_int_equal(remove_table(setup), 0);
    assert_table_found(setup, "t", -ENOENT);
}

/* What was held for a minute is sent, each partition as a batch, and what comes then is held
 * again. */
static void nothing_is_held_for_more_than_a_minute(void **state)
{
    (void)state;
    struct setup setup;
    set_up_rows(&setup, (struct setup_options){0});
    add_rows(&setup, "r", ROWS);
    begin_rm_of_table(&setup, 3);
    remove_slowly(&setup, 4900);
    assert_int_equal(metric(&setup, "tablefuse_queued"), 2 * ROWS - 1);
    list_rows(&setup, "r");
    memory_store_forget_diary(setup.memory);
    remove_row(&setup, "r", 0);
    pass(&setup,
         PENDING_HOLD_MAX_MS - 11 * INT64_C(4900) - 1200); /* the first delete is not held */
    remove_row(&setup, "r", 1);
    pass(&setup, 1199);
    assert_int_equal(metric(&setup, "tablefuse_queued"), 2 * ROWS + 1);
    pass(&setup, 1);
    wait_until_queued(&setup, 0);
    assert_request_count(&setup, 3);
    assert_int_equal(stored(&setup), ROWS - 2);
    for (int row = 2; row < ROWS; row++)
        remove_row(&setup, "r", row);
    remove_directory_of(&setup, "r");
    assert_int_equal(metric(&setup, "tablefuse_queued"), ROWS - 2);
    assert_int_equal(remove_table(&setup), 0);
    assert_requests(&setup, "keys [ ~) 1000, change of tables");
    tear_down_queue(&setup);
}

/* The process FIND deletes in partition r, every three seconds. What RM deletes waits for no more
 * than a minute, and its rmdir drops no table that has rows of others. */
static void beside_a_slow_deleter(void **state)
{
    (void)state;
    struct setup setup;
    set_up_rows(&setup, (struct setup_options){0});
    add_rows(&setup, "r", ROWS);
    setup.process = FIND;
    assert_int_equal(list(&setup, PARTITIONS_OF("t"), false), 3);
    list_rows(&setup, "r");
    remove_row(&setup, "r", 0);
    begin_rm_of_table(&setup, 3);
    remove_partition(&setup, "p");
    for (int row = 1; row < ROWS - 1; row++) {
        pass(&setup, 3000);
        setup.process = FIND;
        remove_row(&setup, "r", row);
    }
    assert_int_equal(stored(&setup), 3 * ROWS - 2);
    setup.process = RM;
    pass(&setup, 4000);
    assert_int_equal(remove_table(&setup), -ENOTEMPTY);
    assert_int_equal(sync_all(&setup), 0);
    assert_int_equal(stored(&setup), ROWS + 1); /* of q and r */
    assert_row_found(&setup, "r", ROWS - 1);
    tear_down_queue(&setup);
}

/* Then the slow one comes to its end, and the rmdir of the other one drops the table with what both
 * have deleted. */
static void two_processes_delete_one_table(void **state)
{
    struct setup *setup = *state;
    setup->process = FIND;
    assert_int_equal(list(setup, PARTITIONS_OF("t"), false), 2);
    remove_partition(setup, "q");
    setup->process = RM;
    pass(setup, 3000);
    remove_partition(setup, "p");
    pass(setup, 3000);
    assert_int_equal(metric(setup, "tablefuse_queued"), 2 * ROWS - 2);
    memory_store_forget_diary(setup->memory);
    assert_int_equal(remove_table(setup), 0);
    assert_requests(setup, "keys [ ~) 1000, change of tables");
}

static void what_another_client_inserts_in_a_pause_stays(void **state)
{
    struct setup *setup = *state;
    remove_slowly(setup, 1000);
    another_stores(setup, P_ROW("new"), "other");
    pass(setup, 3000);
    assert_int_equal(remove_table(setup), -ENOTEMPTY);
    assert_int_equal(sync_all(setup), 0);
    assert_int_equal(stored(setup), 1);
    assert_found(setup, P_ROW("new"), "other");
}

/* After each of its unlinks in turn: what it has deleted is deleted 5 s later, and the table stays.
 */
static void a_process_that_is_killed(void **state)
{
    (void)state;
    for (int n = 1; n <= 2 * ROWS; n++) {
        struct setup setup;
        set_up_table(&setup, (struct setup_options){0});
        for (int i = 0; i < n; i++) {
            if (i % ROWS == 0)
                list_rows(&setup, partitions[i / ROWS]);
            remove_row(&setup, partitions[i / ROWS], i % ROWS);
        }
        pass(&setup, DELETE_POLICY_REST_MS - 1);
        assert_int_equal(metric(&setup, "tablefuse_queued"), n - 1);
        pass(&setup, 1);
        wait_until_queued(&setup, 0);
        assert_int_equal(stored(&setup), 2 * ROWS - n);
        assert_table_found(&setup, "t", 0);
        tear_down_queue(&setup);
    }
}

/* The rmdir of the table takes longer than the rest of a burst: nothing is sent meanwhile. */
static struct setup *looking;

static int answer_late(struct memory_store *memory, size_t number, struct call *call)
{
    (void)call;
    (void)memory;
    (void)number;
    pass(looking, INT64_C(2) * DELETE_POLICY_REST_MS);
    return 0;
}

static void a_look_that_takes_long_keeps_the_hold(void **state)
{
    struct setup *setup = *state;
    remove_partitions(setup);
    looking = setup;
    setup->memory->fault = answer_late;
    assert_int_equal(remove_table(setup), 0);
    assert_requests(setup, "keys [ ~) 1000, change of tables");
}

static void *remove_the_table(void *setup)
{
    assert_int_equal(remove_table(setup), 0);
    return NULL;
}

static void wait_at_gate(struct setup *setup, size_t n)
{
    while (gate_store_arrived(setup->gate) < n)
        clock_system.sleep_ms(NULL, 1);
}

static size_t count_writes(const struct setup *setup)
{
    size_t count = 0;
    for (size_t i = 0; i < setup->memory->asked; i++)
        count += setup->memory->diary[i].what == ASKED_WRITE;
    return count;
}

/* The hold of `rm -r` has ended, and its deletes are being sent when its rmdir of the table comes:
 * what is left is held again. */
static void the_rmdir_sends_no_further_batch(void **state)
{
    (void)state;
    struct setup setup;
    pthread_t remover;
    enum { MANY = 1000 };
    set_up_queue(&setup, (struct setup_options){0});
    setup.memory->checks_tables = true;
    memory_store_add_table(setup.memory, "t");
    add_rows(&setup, "p", MANY);
    begin_rm_of_table(&setup, 1);
    assert_int_equal(list(&setup, ROWS_OF("p"), false), MANY);
    for (int row = 0; row < MANY; row++)
        remove_row(&setup, "p", row);
    remove_directory_of(&setup, "p");
    memory_store_forget_diary(setup.memory);
    size_t before = gate_store_arrived(setup.gate);
    gate_store_let(setup.gate, before);
    pass(&setup, PENDING_HOLD_MAX_MS);
    wait_at_gate(&setup, before + PENDING_BATCHES_OUT);
    assert_int_equal(pthread_create(&remover, NULL, remove_the_table, &setup), 0);
    wait_at_gate(&setup, before + PENDING_BATCHES_OUT + 1); /* the look has begun */
    gate_store_let(setup.gate, GATE_OPEN);
    assert_int_equal(pthread_join(remover, NULL), 0);
    assert_int_equal(sync_all(&setup), 0); /* the drop may have been faster than a batch */
    assert_int_equal(count_writes(&setup), PENDING_BATCHES_OUT);
    assert_table_found(&setup, "t", -ENOENT);
    tear_down_queue(&setup);
}

/* `find T -name 0000[0-2].json -delete`: it leaves each partition. */
static void some_of_each_partition(void **state)
{
    struct setup *setup = *state;
    remove_rows(setup, "p", 3);
    remove_rows(setup, "q", 3);
    memory_store_forget_diary(setup->memory);
    assert_int_equal(metric(setup, "tablefuse_queued"), 5);
    pass(setup, DELETE_POLICY_REST_MS);
    wait_until_queued(setup, 0);
    assert_request_count(setup, 2);
    assert_int_equal(stored(setup), 2 * ROWS - 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pauses_of_some_seconds_keep_the_hold),
        TEST_WITH(table_queue, after_a_longer_pause_a_delete_is_sent_at_once),
        cmocka_unit_test(nothing_is_held_for_more_than_a_minute),
        cmocka_unit_test(beside_a_slow_deleter),
        TEST_WITH(table_queue, two_processes_delete_one_table),
        TEST_WITH(table_queue, what_another_client_inserts_in_a_pause_stays),
        cmocka_unit_test(a_process_that_is_killed),
        TEST_WITH(table_queue, a_look_that_takes_long_keeps_the_hold),
        cmocka_unit_test(the_rmdir_sends_no_further_batch),
        TEST_WITH(table_queue, some_of_each_partition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
