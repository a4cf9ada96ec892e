#include "cache/read/walk.h"
#include "tests/unit/streaming.h"

enum { FIND = 7, OTHER };

struct setup {
    struct streaming streaming;
    struct walks *walks;
    struct region whole; /* the table */
};

static void set_up(struct setup *setup, int parallelism)
{
    streaming_set_up(&setup->streaming, parallelism, (struct fetching_options){0});
    assert_int_equal(walks_create(&setup->streaming.source, &setup->walks), 0);
    region_init(&setup->whole);
    assert_true(region_set(&setup->whole, "t", RANGE_ALL));
}

static void tear_down(struct setup *setup)
{
    walks_destroy(setup->walks);
    region_finish(&setup->whole);
    streaming_tear_down(&setup->streaming);
}

static int reach_with(struct setup *setup, struct caller *caller, const struct region *whole,
                      struct bytes position)
{
    struct stamp since = fetching_since_ttl(&setup->streaming.fetching);
    struct page *page = NULL;
    int r = walks_reach(setup->walks, caller, whole, position, since, &page);
    page_unref(page);
    return r;
}

static int reach(struct setup *setup, uint64_t process, struct bytes position)
{
    struct caller caller = fetching_caller(&setup->streaming.fetching);
    caller.process = process;
    caller.patience_ms = INT32_MAX; /* another thread may turn the clock */
    caller.call.deadline_ms += INT32_MAX;
    int r = reach_with(setup, &caller, &setup->whole, position);
    assert_int_equal(caller.call.failure.error, MIN(r, 0));
    return r;
}

/* Is what begins there in the cache, with texts? */
static bool is_known(struct setup *setup, struct bytes position)
{
    struct question question = {
        "t", {position, B(POSITION_END)}, fetching_since_ttl(&setup->streaming.fetching), false};
    struct buffer first;
    int64_t asked_ms;
    buffer_init(&first, STREAMED_MAX);
    int known = fetching_known(&setup->streaming.fetching, &question, &first, &asked_ms);
    buffer_finish(&first);
    return known != KNOWN_NOT;
}

/* Where partition pNNNN begins. */
static struct bytes partition(int number)
{
    static char key[8];
    (void)snprintf(key, sizeof(key), "p%04d", number);
    return (struct bytes){key, 6};
}

/* How many scans began just there. */
static size_t count_begun_at(struct setup *setup, struct bytes position)
{
    size_t n = 0;
    size_t asked = streaming_settle(&setup->streaming);
    for (size_t i = 0; i < MIN(asked, MEMORY_STORE_DIARY); i++) {
        const struct memory_store_entry *entry = &setup->streaming.fetching.memory->diary[i];
        n += !entry->is_continued && bytes_equal(buffer_bytes(&entry->lo), position);
    }
    return n;
}

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

struct asker {
    struct setup *setup;
    pthread_t thread;
    int r;
};

static void *ask(void *context)
{
    struct asker *asker = context;
    asker->r = reach(asker->setup, FIND, B("p0002\0"));
    return NULL;
}

static void threads_of_one_process_are_served_by_one_walk(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 2);
    streaming_add(&setup.streaming, 20, 1000);
    struct asker askers[4];
    gate_store_let(setup.streaming.fetching.store, 0);
    for (size_t i = 0; i < ARRAY_SIZE(askers); i++) {
        askers[i] = (struct asker){.setup = &setup, .r = -1};
        assert_int_equal(pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
    }
    streaming_await_asked(&setup.streaming, 1);
    assert_int_equal(streaming_settle(&setup.streaming), 1);
    gate_store_let(setup.streaming.fetching.store, GATE_OPEN);
    for (size_t i = 0; i < ARRAY_SIZE(askers); i++) {
        assert_int_equal(pthread_join(askers[i].thread, NULL), 0);
        assert_int_equal(askers[i].r, 1);
    }
    assert_int_equal(streaming_settle(&setup.streaming), 1); /* for all of them */
    assert_int_equal(reach(&setup, FIND, partition(3)), 1);
    assert_int_equal(count_begun_at(&setup, partition(3)), 0); /* it went on */
    tear_down(&setup);
}

/* A thread that waits for another's walk is interrupted, and its deadline counts. */
static void who_waits_for_a_walk_may_leave(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 2);
    streaming_add(&setup.streaming, 20, 1000);
    struct asker asker = {.setup = &setup, .r = -1};
    gate_store_let(setup.streaming.fetching.store, 0);
    assert_int_equal(pthread_create(&asker.thread, NULL, ask, &asker), 0);
    streaming_await_asked(&setup.streaming, 1);
    struct caller caller = fetching_caller(&setup.streaming.fetching);
    caller.process = FIND;
    caller.call.deadline_ms = setup.streaming.fetching.now_ms;
    assert_int_equal(reach_with(&setup, &caller, &setup.whole, partition(2)), -ETIMEDOUT);
    gate_store_let(setup.streaming.fetching.store, GATE_OPEN);
    assert_int_equal(pthread_join(asker.thread, NULL), 0);
    assert_int_equal(asker.r, 1);
    tear_down(&setup);
}

/* ... which is put off by what the other has reached. */
static void another_threads_walk_is_progress(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 2);
    streaming_add(&setup.streaming, 20, 1000);
    struct asker asker = {.setup = &setup, .r = -1};
    gate_store_let(setup.streaming.fetching.store, 0);
    assert_int_equal(pthread_create(&asker.thread, NULL, ask, &asker), 0);
    streaming_await_asked(&setup.streaming, 1);
    struct caller caller = fetching_caller(&setup.streaming.fetching);
    caller.process = FIND;
    caller.call.is_cancelled = streaming_let_next; /* it is in the walk when time goes by */
    caller.call.context = &(struct streaming_toll){.streaming = &setup.streaming};
    caller.call.deadline_ms = setup.streaming.fetching.now_ms + 1000;
    assert_in_range(reach_with(&setup, &caller, &setup.whole, partition(19)), 0, 1);
    assert_int_equal(pthread_join(asker.thread, NULL), 0);
    assert_true(caller.call.deadline_ms >= setup.streaming.fetching.now_ms);
    gate_store_let(setup.streaming.fetching.store, GATE_OPEN);
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

struct walker {
    struct setup *setup;
    uint64_t process;
    pthread_t thread;
    unsigned seed;
    size_t served, asked;
};

static void *walk_about(void *context)
{
    struct walker *walker = context;
    for (int i = 0; i < 300; i++) {
        char key[8];
        (void)snprintf(key, sizeof(key), "p%04d", (i / 5 + rand_r(&walker->seed) % 3) % 60);
        int r = reach(walker->setup, walker->process, (struct bytes){key, 6});
        assert_in_range(r, 0, 1);
        walker->served += r == 1;
        walker->asked += r == 0;
        if (i % 50 == 0)
            walker->setup->streaming.fetching.now_ms += 20000;
    }
    return NULL;
}

static void many_threads_disturb_each_other_not(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 4);
    streaming_add(&setup.streaming, 60, 1000);
    struct walker walkers[8];
    size_t served = 0;
    for (unsigned i = 0; i < 8; i++) {
        walkers[i] = (struct walker){.setup = &setup, .process = 1 + i / 2, .seed = i};
        assert_int_equal(pthread_create(&walkers[i].thread, NULL, walk_about, &walkers[i]), 0);
    }
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(pthread_join(walkers[i].thread, NULL), 0);
        assert_int_equal(walkers[i].served + walkers[i].asked, 300);
        served += walkers[i].served;
    }
    assert_true(served > 0);
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
        cmocka_unit_test(threads_of_one_process_are_served_by_one_walk),
        cmocka_unit_test(who_waits_for_a_walk_may_leave),
        cmocka_unit_test(another_threads_walk_is_progress),
        cmocka_unit_test(it_goes_on_from_what_its_process_has_read),
        cmocka_unit_test(what_a_process_has_read_ends_its_walk_elsewhere),
        cmocka_unit_test(who_only_lists_takes_no_place_from_a_walk),
        cmocka_unit_test(many_threads_disturb_each_other_not),
        cmocka_unit_test(what_is_in_flight_ends_with_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
