/* SPDX-License-Identifier: MIT */
/* Where a traversal begins, goes on and ends, and how many there are. */
#include "tests/unit/cache/ahead/traversing.h"

static void it_begins_where_something_is_missed(void **state)
{
    (void)state;
    for (int parallelism = 1; parallelism <= 8; parallelism *= 2) {
        struct setup setup;
        set_up(&setup, parallelism);
        prefetching_add(&setup.prefetching, 50, 300);
        assert_int_equal(reach(&setup, FIND, partition(3)), REACH_IN_CACHE);
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
        prefetching_add(&setup.prefetching, 400, 50);
        for (int i = 0; i < 400; i++) {
            /* a page may arrive between the two questions: then nothing is left to reach */
            if (!is_known(&setup, partition(i)))
                assert_in_range(reach(&setup, FIND, partition(i)), 0, REACH_IN_CACHE);
            assert_true(is_known(&setup, partition(i)));
        }
        assert_int_equal(reach(&setup, FIND, B("q")), REACH_IN_CACHE); /* the end, too */
        assert_true(is_known(&setup, B("q")));
        assert_true(prefetching_asked(&setup.prefetching) <= 23 + 20); /* 1.15 N/1000 + 20 */
        tear_down(&setup);
    }
}

DEFINE_FIXTURE(traversal, struct setup, set_up(test, 1), tear_down(test))

static void each_process_has_its_own(void **state)
{
    struct setup *setup = *state;
    prefetching_add(&setup->prefetching, 60, 1000);
    assert_int_equal(reach(setup, FIND, partition(2)), REACH_IN_CACHE);
    assert_int_equal(reach(setup, OTHER, partition(40)), REACH_IN_CACHE);
    assert_int_equal(reach(setup, FIND, partition(4)), REACH_IN_CACHE);
    assert_int_equal(reach(setup, OTHER, partition(42)), REACH_IN_CACHE);
    assert_int_equal(reach(setup, FIND, partition(6)), REACH_IN_CACHE);
    assert_int_equal(count_begun_at(setup, partition(2)), 1);
    assert_int_equal(count_begun_at(setup, partition(40)), 1);
}

static void what_it_has_passed_it_does_not_reach(void **state)
{
    struct setup *setup = *state;
    prefetching_add(&setup->prefetching, 60, 1000);
    assert_int_equal(reach(setup, FIND, partition(2)), REACH_IN_CACHE);
    assert_int_equal(reach(setup, FIND, partition(4)), REACH_IN_CACHE);
    assert_int_equal(reach(setup, FIND, partition(3)), REACH_NOT);
    assert_int_equal(reach(setup, FIND, partition(5)), REACH_IN_CACHE); /* no stray: it goes on */
    assert_int_equal(reach(setup, FIND, partition(3)), REACH_NOT);
    assert_int_equal(reach(setup, FIND, partition(4)), REACH_NOT);
    setup->fetching->now_ms += TTL_MS + 1;
    assert_int_equal(reach(setup, FIND, partition(40)),
                     REACH_IN_CACHE); /* two strays: it begins anew */
    assert_int_equal(count_begun_at(setup, partition(40)), 1);
}

/* A process that is served nowhere goes elsewhere, also where it is followed. */
static void a_stray_is_not_forgotten_by_following(void **state)
{
    struct setup *setup = *state;
    prefetching_add(&setup->prefetching, 60, 1000);
    assert_int_equal(reach(setup, FIND, partition(1)), REACH_IN_CACHE);
    assert_int_equal(reach(setup, FIND, partition(3)), REACH_IN_CACHE);
    for (int i = 0; i < 2; i++) {
        traversals_follow(setup->traversals, FIND, "t", partition(3));
        assert_int_equal(reach(setup, FIND, partition(2)), REACH_NOT);
    }
    traversals_follow(setup->traversals, FIND, "t", partition(3));
    assert_int_equal(reach(setup, FIND, partition(2)), REACH_IN_CACHE);
}

static void elsewhere_it_begins_anew(void **state)
{
    struct setup *setup = *state;
    struct owned_range other;
    struct caller caller;
    prefetching_add(&setup->prefetching, 60, 1000);
    owned_range_init(&other);
    assert_true(owned_range_set(&other, "u", RANGE_ALL));
    assert_int_equal(reach(setup, FIND, partition(40)), REACH_IN_CACHE);
    assert_int_equal(reach(setup, FIND, partition(2)), REACH_IN_CACHE); /* before its start */
    assert_int_equal(count_begun_at(setup, partition(2)), 1);
    caller = fetching_caller(setup->fetching);
    caller.process = FIND;
    assert_int_equal(reach_with(setup, &caller, &other, partition(4)),
                     REACH_IN_CACHE); /* another table */
    assert_int_equal(reach(setup, FIND, partition(4)), REACH_IN_CACHE);
    owned_range_finish(&other);
}

/* Only as far as the directory that was listed reaches. */
static void it_ends_where_the_directory_ends(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 4);
    prefetching_add(&setup.prefetching, 60, 1000);
    assert_true(owned_range_set(&setup.whole, "t", (struct range){B("p000"), B("p001")}));
    for (int i = 0; i < 10; i++)
        assert_int_equal(reach(&setup, FIND, partition(i)), REACH_IN_CACHE);
    (void)prefetching_asked(&setup.prefetching);
    assert_true(is_known(&setup, partition(9)));
    assert_false(is_known(&setup, partition(10)));
    tear_down(&setup);
}

static void a_quiet_one_ends(void **state)
{
    struct setup *setup = *state;
    prefetching_add(&setup->prefetching, 60, 1000);
    assert_int_equal(reach(setup, FIND, partition(2)), REACH_IN_CACHE);
    setup->fetching->now_ms += END_MS;
    assert_int_equal(reach(setup, FIND, partition(3)), REACH_IN_CACHE);
    assert_int_equal(count_begun_at(setup, partition(3)), 0); /* it went on there */
    setup->fetching->now_ms += END_MS + 1;
    assert_int_equal(reach(setup, OTHER, partition(50)), REACH_IN_CACHE); /* any question ends it */
    assert_int_equal(reach(setup, FIND, partition(30)), REACH_IN_CACHE);
    assert_int_equal(count_begun_at(setup, partition(30)), 1);
}

static int fail_once(struct memory_store *self, size_t number, struct call *call)
{
    (void)number;
    self->fault = NULL;
    return call_fail(call, -EIO, "once");
}

static void a_failure_ends_it(void **state)
{
    struct setup *setup = *state;
    prefetching_add(&setup->prefetching, 60, 1000);
    setup->fetching->memory->fault = fail_once;
    assert_int_equal(reach(setup, FIND, partition(2)),
                     REACH_NOT); /* the question at the position tells why */
    assert_int_equal(reach(setup, FIND, partition(5)), REACH_IN_CACHE);
    assert_int_equal(count_begun_at(setup, partition(5)), 1);
}

static void one_that_ended_gives_its_place(void **state)
{
    struct setup *setup = *state;
    prefetching_add(&setup->prefetching, 20, 1000);
    for (uint64_t process = 1; process <= TRAVERSALS_MAX; process++) {
        assert_int_equal(reach(setup, process, partition(1)), REACH_IN_CACHE);
        setup->fetching->now_ms++;
    }
    (void)prefetching_asked(&setup->prefetching);
    setup->fetching->now_ms += 2 * (int64_t)TTL_MS;
    setup->fetching->memory->fault = fail_once;
    assert_int_equal(reach(setup, TRAVERSALS_MAX, B("p0001")),
                     REACH_NOT); /* before its start: it ends */
    assert_int_equal(reach(setup, TRAVERSALS_MAX + 1, partition(1)), REACH_IN_CACHE);
    size_t before = prefetching_asked(&setup->prefetching);
    assert_int_equal(reach(setup, 1, partition(1)), REACH_NOT); /* the first is still there */
    assert_int_equal(prefetching_asked(&setup->prefetching), before);
}

/* One that goes on is not ended for another: else 9 of them would end each other by turns. */
static void there_are_at_most_8(void **state)
{
    struct setup *setup = *state;
    prefetching_add(&setup->prefetching, 20, 1000);
    for (uint64_t process = 1; process <= TRAVERSALS_MAX; process++) {
        assert_int_equal(reach(setup, process, partition(1)), REACH_IN_CACHE);
        setup->fetching->now_ms++;
    }
    assert_int_equal(reach(setup, TRAVERSALS_MAX + 1, partition(1)), REACH_NOT);
    setup->fetching->now_ms += TRAVERSALS_QUIET_MS - TRAVERSALS_MAX;
    assert_int_equal(reach(setup, TRAVERSALS_MAX + 1, partition(1)), REACH_IN_CACHE);
    assert_int_equal(reach(setup, 2, partition(1)), REACH_NOT); /* it is after that */
    setup->fetching->now_ms += TRAVERSALS_QUIET_MS;
    assert_int_equal(reach(setup, 1, partition(1)),
                     REACH_IN_CACHE); /* not there any more: begun anew */
}

static void a_process_traverses_several_tables(void **state)
{
    struct setup *setup = *state;
    struct owned_range other;
    prefetching_add(&setup->prefetching, 20, 1000);
    owned_range_init(&other);
    assert_true(owned_range_set(&other, "u", RANGE_ALL));
    for (int i = 1; i < 8; i++) {
        struct caller caller = fetching_caller(setup->fetching);
        caller.process = FIND;
        assert_int_equal(reach(setup, FIND, partition(i)), REACH_IN_CACHE);
        assert_in_range(reach_with(setup, &caller, &other, partition(i)), 0, 1);
    }
    assert_int_equal(count_begun_at(setup, partition(1)), 2); /* in each table */
    for (int i = 2; i < 8; i++)
        assert_int_equal(count_begun_at(setup, partition(i)), 0);
    owned_range_finish(&other);
}

/* Its prefetchers end, and leave their share of the window to others. */
static void quiet_ones_end_without_a_question(void **state)
{
    struct setup *setup = *state;
    prefetching_add(&setup->prefetching, 20, 1000);
    assert_int_equal(reach(setup, FIND, partition(1)), REACH_IN_CACHE);
    setup->fetching->now_ms += END_MS / 2;
    assert_int_equal(reach(setup, OTHER, partition(1)), REACH_IN_CACHE);
    (void)prefetching_asked(&setup->prefetching);
    setup->fetching->now_ms += END_MS / 2;
    traversals_end_quiet(setup->traversals);
    assert_int_equal(setup->prefetching.live, 2);
    setup->fetching->now_ms++;
    traversals_end_quiet(setup->traversals);
    assert_int_equal(setup->prefetching.live, 1);
}

static void process_0_does_not_follow(void **state)
{
    struct setup *setup = *state;
    prefetching_add(&setup->prefetching, 20, 1000);
    traversals_follow(setup->traversals, 0, "t", partition(1));
    traversals_follow(setup->traversals, FIND, "t", partition(1)); /* has none */
    assert_int_equal(prefetching_asked(&setup->prefetching), 0);
}

static void what_is_in_flight_ends_with_all(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 4);
    prefetching_add(&setup.prefetching, 60, 1000);
    gate_store_let(setup.fetching->store, 2);
    assert_int_equal(reach(&setup, FIND, partition(2)), REACH_IN_CACHE);
    assert_int_equal(reach(&setup, FIND, partition(3)), REACH_IN_CACHE); /* then it runs ahead */
    wait_for_requests(setup.fetching, 3);
    traversals_destroy(TAKE_PTR(setup.traversals));
    worker_pool_destroy(TAKE_PTR(setup.prefetching.workers)); /* the gate was not opened */
    tear_down(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_begins_where_something_is_missed),
        cmocka_unit_test(it_crosses_the_borders_of_partitions),
        TEST_WITH(traversal, each_process_has_its_own),
        TEST_WITH(traversal, what_it_has_passed_it_does_not_reach),
        TEST_WITH(traversal, a_stray_is_not_forgotten_by_following),
        TEST_WITH(traversal, elsewhere_it_begins_anew),
        cmocka_unit_test(it_ends_where_the_directory_ends),
        TEST_WITH(traversal, a_quiet_one_ends),
        TEST_WITH(traversal, a_failure_ends_it),
        TEST_WITH(traversal, one_that_ended_gives_its_place),
        TEST_WITH(traversal, there_are_at_most_8),
        TEST_WITH(traversal, a_process_traverses_several_tables),
        TEST_WITH(traversal, quiet_ones_end_without_a_question),
        TEST_WITH(traversal, process_0_does_not_follow),
        cmocka_unit_test(what_is_in_flight_ends_with_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
