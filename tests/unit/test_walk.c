#include "tests/unit/walking.h"

static void it_begins_where_something_is_missed(void **state)
{
    (void)state;
    for (int parallelism = 1; parallelism <= 8; parallelism *= 2) {
        struct setup setup;
        set_up(&setup, parallelism);
        streaming_add(&setup.streaming, 50, 300);
        assert_int_equal(reach(&setup, FIND, partition(3)), 1);
        assert_true(is_known(&setup, partition(3)));
        assert_int_equal(count_begun_at(&setup, partition(3)), 1);
        assert_false(is_known(&setup, partition(2)));
        tear_down(&setup);
    }
}

static void it_crosses_the_borders_of_partitions(void **state)
{
    (void)state;
    for (int parallelism = 1; parallelism <= 8; parallelism++) {
        struct setup setup;
        set_up(&setup, parallelism);
        streaming_add(&setup.streaming, 400, 50);
        for (int i = 0; i < 400; i++) {
            if (!is_known(&setup, partition(i)))
                assert_int_equal(reach(&setup, FIND, partition(i)), 1);
            assert_true(is_known(&setup, partition(i)));
        }
        assert_int_equal(reach(&setup, FIND, B("q")), 1); /* the end, too */
        assert_true(is_known(&setup, B("q")));
        assert_true(streaming_settle(&setup.streaming) <= 23 + 20); /* 1.15 N/1000 + 20 */
        tear_down(&setup);
    }
}

static void each_process_has_its_own(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 1);
    streaming_add(&setup.streaming, 60, 1000);
    assert_int_equal(reach(&setup, FIND, partition(2)), 1);
    assert_int_equal(reach(&setup, OTHER, partition(40)), 1);
    assert_int_equal(reach(&setup, FIND, partition(4)), 1);
    assert_int_equal(reach(&setup, OTHER, partition(42)), 1);
    assert_int_equal(reach(&setup, FIND, partition(6)), 1);
    assert_int_equal(count_begun_at(&setup, partition(2)), 1);
    assert_int_equal(count_begun_at(&setup, partition(40)), 1);
    tear_down(&setup);
}

static void behind_it_each_asks_by_itself(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 1);
    streaming_add(&setup.streaming, 60, 1000);
    assert_int_equal(reach(&setup, FIND, partition(2)), 1);
    assert_int_equal(reach(&setup, FIND, partition(4)), 1);
    assert_int_equal(reach(&setup, FIND, partition(3)), 0);
    assert_int_equal(reach(&setup, FIND, partition(5)), 1); /* it is on its way again */
    assert_int_equal(reach(&setup, FIND, partition(3)), 0);
    assert_int_equal(reach(&setup, FIND, partition(4)), 0);
    setup.streaming.fetching.now_ms += TTL_MS + 1;
    assert_int_equal(reach(&setup, FIND, partition(40)), 1); /* two strays: it begins anew */
    assert_int_equal(count_begun_at(&setup, partition(40)), 1);
    tear_down(&setup);
}

/* A walker that comes by each directory, and is served in none, is not on the walk's way. */
static void coming_by_forgets_no_stray(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 1);
    streaming_add(&setup.streaming, 60, 1000);
    assert_int_equal(reach(&setup, FIND, partition(1)), 1);
    assert_int_equal(reach(&setup, FIND, partition(3)), 1);
    for (int i = 0; i < 2; i++) {
        walks_follow(setup.walks, FIND, "t", partition(3));
        assert_int_equal(reach(&setup, FIND, partition(2)), 0);
    }
    walks_follow(setup.walks, FIND, "t", partition(3));
    assert_int_equal(reach(&setup, FIND, partition(2)), 1);
    tear_down(&setup);
}

static void elsewhere_it_begins_anew(void **state)
{
    (void)state;
    struct setup setup;
    struct region other;
    struct caller caller;
    set_up(&setup, 1);
    streaming_add(&setup.streaming, 60, 1000);
    region_init(&other);
    assert_true(region_set(&other, "u", RANGE_ALL));
    assert_int_equal(reach(&setup, FIND, partition(40)), 1);
    assert_int_equal(reach(&setup, FIND, partition(2)), 1); /* before its begin */
    assert_int_equal(count_begun_at(&setup, partition(2)), 1);
    caller = fetching_caller(&setup.streaming.fetching);
    caller.process = FIND;
    assert_int_equal(reach_with(&setup, &caller, &other, partition(4)), 1); /* another table */
    assert_int_equal(reach(&setup, FIND, partition(4)), 1);
    region_finish(&other);
    tear_down(&setup);
}

/* Only as far as the directory that was listed reaches. */
static void it_ends_where_the_directory_ends(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 4);
    streaming_add(&setup.streaming, 60, 1000);
    assert_true(region_set(&setup.whole, "t", (struct range){B("p000"), B("p001")}));
    for (int i = 0; i < 10; i++)
        assert_int_equal(reach(&setup, FIND, partition(i)), 1);
    (void)streaming_settle(&setup.streaming);
    assert_true(is_known(&setup, partition(9)));
    assert_false(is_known(&setup, partition(10)));
    tear_down(&setup);
}

static void a_quiet_one_ends(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 1);
    streaming_add(&setup.streaming, 60, 1000);
    assert_int_equal(reach(&setup, FIND, partition(2)), 1);
    setup.streaming.fetching.now_ms += STREAM_KEPT_MS;
    assert_int_equal(reach(&setup, FIND, partition(3)), 1);
    assert_int_equal(count_begun_at(&setup, partition(3)), 0); /* it went on there */
    setup.streaming.fetching.now_ms += STREAM_KEPT_MS + 1;
    assert_int_equal(reach(&setup, OTHER, partition(50)), 1); /* whoever comes ends it */
    assert_int_equal(reach(&setup, FIND, partition(30)), 1);
    assert_int_equal(count_begun_at(&setup, partition(30)), 1);
    tear_down(&setup);
}

static int fail_once(struct memory_store *self, size_t number, struct call *call)
{
    (void)number;
    self->fault = NULL;
    return call_fail(call, -EIO, "once");
}

static void a_failure_ends_it(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 1);
    streaming_add(&setup.streaming, 60, 1000);
    setup.streaming.fetching.memory->fault = fail_once;
    assert_int_equal(reach(&setup, FIND, partition(2)), 0); /* who asks there is told why */
    assert_int_equal(reach(&setup, FIND, partition(5)), 1);
    assert_int_equal(count_begun_at(&setup, partition(5)), 1);
    tear_down(&setup);
}

static void one_that_ended_gives_its_place(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 1);
    streaming_add(&setup.streaming, 20, 1000);
    for (uint64_t process = 1; process <= WALKS_MAX; process++) {
        assert_int_equal(reach(&setup, process, partition(1)), 1);
        setup.streaming.fetching.now_ms++;
    }
    (void)streaming_settle(&setup.streaming);
    setup.streaming.fetching.now_ms += 2 * (int64_t)TTL_MS;
    setup.streaming.fetching.memory->fault = fail_once;
    assert_int_equal(reach(&setup, WALKS_MAX, B("p0001")), 0); /* before its begin: it ends */
    assert_int_equal(reach(&setup, WALKS_MAX + 1, partition(1)), 1);
    size_t before = streaming_settle(&setup.streaming);
    assert_int_equal(reach(&setup, 1, partition(1)), 0); /* the first is still there */
    assert_int_equal(streaming_settle(&setup.streaming), before);
    tear_down(&setup);
}

/* One that goes on is not ended for another: else so many and one would end each other by turns. */
static void there_are_at_most_so_many(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 1);
    streaming_add(&setup.streaming, 20, 1000);
    for (uint64_t process = 1; process <= WALKS_MAX; process++) {
        assert_int_equal(reach(&setup, process, partition(1)), 1);
        setup.streaming.fetching.now_ms++;
    }
    assert_int_equal(reach(&setup, WALKS_MAX + 1, partition(1)), 0);
    setup.streaming.fetching.now_ms += WALK_QUIET_MS - WALKS_MAX;
    assert_int_equal(reach(&setup, WALKS_MAX + 1, partition(1)), 1);
    assert_int_equal(reach(&setup, 2, partition(1)), 0); /* it is behind that */
    setup.streaming.fetching.now_ms += WALK_QUIET_MS;
    assert_int_equal(reach(&setup, 1, partition(1)), 1); /* not there any more: begun anew */
    tear_down(&setup);
}

static void a_process_walks_through_several_tables(void **state)
{
    (void)state;
    struct setup setup;
    struct region other;
    set_up(&setup, 1);
    streaming_add(&setup.streaming, 20, 1000);
    region_init(&other);
    assert_true(region_set(&other, "u", RANGE_ALL));
    for (int i = 1; i < 8; i++) {
        struct caller caller = fetching_caller(&setup.streaming.fetching);
        caller.process = FIND;
        assert_int_equal(reach(&setup, FIND, partition(i)), 1);
        assert_in_range(reach_with(&setup, &caller, &other, partition(i)), 0, 1);
    }
    assert_int_equal(count_begun_at(&setup, partition(1)), 2); /* in each table */
    for (int i = 2; i < 8; i++)
        assert_int_equal(count_begun_at(&setup, partition(i)), 0);
    region_finish(&other);
    tear_down(&setup);
}

/* The process takes the first page, which is partition p0000, by a stream that its walk takes over.
 */
static void read_first_page(struct setup *setup, uint64_t process)
{
    struct scan_item item = {0};
    struct region rest;
    struct stream *stream = streaming_open_rows(&setup->streaming);
    assert_int_equal(streaming_next(&setup->streaming, stream, &item), 1);
    run_finish(&item.rows);
    region_init(&rest);
    assert_true(region_set(&rest, "t", (struct range){partition(1), B(POSITION_END)}));
    walks_adopt(setup->walks, process, &rest, stream);
}

static void it_goes_on_from_what_its_process_has_read(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 1);
    streaming_add(&setup.streaming, 60, 1000);
    read_first_page(&setup, FIND);
    assert_int_equal(streaming_settle(&setup.streaming), 1);
    assert_int_equal(reach(&setup, OTHER, partition(1)), 1); /* not another's */
    assert_int_equal(count_begun_at(&setup, partition(1)), 1);
    assert_int_equal(reach(&setup, FIND, partition(2)), 1);
    assert_int_equal(count_begun_at(&setup, partition(2)), 0);
    assert_int_equal(reach(&setup, FIND, B("p0000")), 1); /* before its begin: it begins anew */
    tear_down(&setup);
}

static void what_a_process_has_read_ends_its_walk_elsewhere(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 1);
    streaming_add(&setup.streaming, 60, 1000);
    assert_int_equal(reach(&setup, FIND, partition(40)), 1);
    read_first_page(&setup, FIND);
    assert_int_equal(setup.streaming.live, 0); /* the one ended, the other is paused */
    assert_int_equal(reach(&setup, FIND, partition(1)), 1);
    assert_int_equal(count_begun_at(&setup, partition(1)), 0);
    assert_int_equal(setup.streaming.live, 1);
    tear_down(&setup);
}

static void who_only_lists_takes_no_place_from_a_walk(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 1);
    streaming_add(&setup.streaming, 20, 1000);
    for (uint64_t process = 1; process <= WALKS_MAX; process++)
        read_first_page(&setup, process);
    for (uint64_t process = 1; process <= WALKS_MAX; process++) /* nor keeps one */
        assert_int_equal(reach(&setup, WALKS_MAX + process, partition(2)), 1);
    setup.streaming.fetching.now_ms += WALK_QUIET_MS;
    read_first_page(&setup, FIND);
    assert_int_equal(setup.streaming.live, WALKS_MAX);
    assert_int_equal(reach(&setup, WALKS_MAX + 1, partition(2)), 0); /* it is behind that */
    tear_down(&setup);
}

static void what_is_in_flight_ends_with_all(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 4);
    streaming_add(&setup.streaming, 60, 1000);
    gate_store_let(setup.streaming.fetching.store, 2);
    assert_int_equal(reach(&setup, FIND, partition(2)), 1);
    assert_int_equal(reach(&setup, FIND, partition(3)), 1);
    streaming_await_asked(&setup.streaming, 3);
    walks_destroy(TAKE_PTR(setup.walks));
    worker_pool_destroy(TAKE_PTR(setup.streaming.workers)); /* the gate was not opened */
    tear_down(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_begins_where_something_is_missed),
        cmocka_unit_test(it_crosses_the_borders_of_partitions),
        cmocka_unit_test(each_process_has_its_own),
        cmocka_unit_test(behind_it_each_asks_by_itself),
        cmocka_unit_test(coming_by_forgets_no_stray),
        cmocka_unit_test(elsewhere_it_begins_anew),
        cmocka_unit_test(it_ends_where_the_directory_ends),
        cmocka_unit_test(a_quiet_one_ends),
        cmocka_unit_test(a_failure_ends_it),
        cmocka_unit_test(one_that_ended_gives_its_place),
        cmocka_unit_test(there_are_at_most_so_many),
        cmocka_unit_test(a_process_walks_through_several_tables),
        cmocka_unit_test(it_goes_on_from_what_its_process_has_read),
        cmocka_unit_test(what_a_process_has_read_ends_its_walk_elsewhere),
        cmocka_unit_test(who_only_lists_takes_no_place_from_a_walk),
        cmocka_unit_test(what_is_in_flight_ends_with_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
