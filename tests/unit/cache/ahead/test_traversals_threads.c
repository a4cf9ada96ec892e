/* SPDX-License-Identifier: MIT */
/* Threads in traversals: of one process, of several, and those that wait. */
#include "tests/unit/cache/ahead/traversing.h"

/* A thread of FIND, which has a second. */
static struct caller finder(struct setup *setup, bool (*is_cancelled)(void *), void *context)
{
    struct caller caller = fetching_caller(setup->fetching);
    caller.process = FIND;
    caller.call.deadline_ms = setup->fetching->now_ms + 1000;
    caller.call.is_cancelled = is_cancelled;
    caller.call.context = context;
    return caller;
}

struct asker {
    struct setup *setup;
    struct bytes position;
    pthread_t thread;
    atomic_bool waits; /* for an answer, or for another thread */
    int r;
};

static bool note_waiting(void *context)
{
    struct asker *asker = context;
    atomic_store(&asker->waits, true);
    return false;
}

static void *ask(void *context)
{
    struct asker *asker = context;
    struct caller caller = finder(asker->setup, note_waiting, asker);
    caller.patience_ms = INT32_MAX; /* another thread may turn the clock */
    caller.call.deadline_ms += INT32_MAX;
    asker->r = reach_with(asker->setup, &caller, &asker->setup->whole, asker->position);
    return NULL;
}

static void threads_of_one_process_share_a_traversal(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 1); /* nothing is guessed */
    prefetching_add(&setup.prefetching, 20, 1000);
    struct asker askers[4];
    gate_store_let(setup.fetching->store, 0);
    for (size_t i = 0; i < ARRAY_SIZE(askers); i++) {
        askers[i] = (struct asker){.setup = &setup, .position = B("p0002\0"), .r = -1};
        assert_int_equal(pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
    }
    wait_for_requests(setup.fetching, 1);
    for (size_t i = 0; i < ARRAY_SIZE(askers); i++) /* one that came later would be a stray */
        while (!atomic_load(&askers[i].waits))
            (void)usleep(500);
    assert_int_equal(prefetching_in_flight(&setup.prefetching), 1);
    gate_store_let(setup.fetching->store, GATE_OPEN);
    for (size_t i = 0; i < ARRAY_SIZE(askers); i++) {
        assert_int_equal(pthread_join(askers[i].thread, NULL), 0);
        assert_int_equal(askers[i].r, REACH_IN_CACHE);
    }
    assert_int_equal(count_begun_at(&setup, partition(2)), 1); /* for all of them */
    assert_int_equal(reach(&setup, FIND, partition(3)), REACH_IN_CACHE);
    assert_int_equal(count_begun_at(&setup, partition(3)), 0); /* it went on */
    tear_down(&setup);
}

/* FIND's traversal requests the position, and waits at the gate. */
static void hold(struct setup *setup, struct bytes position, struct asker *asker)
{
    size_t asked = prefetching_asked(&setup->prefetching);
    *asker = (struct asker){.setup = setup, .position = position, .r = -1};
    gate_store_let(setup->fetching->store, asked);
    assert_int_equal(pthread_create(&asker->thread, NULL, ask, asker), 0);
    wait_for_requests(setup->fetching, asked + 1);
}

static void set_up_held(struct setup *setup, struct asker *asker)
{
    set_up(setup, 2);
    prefetching_add(&setup->prefetching, 20, 1000);
    hold(setup, B("p0002\0"), asker);
}

/* What the asker was told in the end. */
static int let_go(struct setup *setup, struct asker *asker)
{
    gate_store_let(setup->fetching->store, GATE_OPEN);
    assert_int_equal(pthread_join(asker->thread, NULL), 0);
    return asker->r;
}

/* A thread that waits for another of its process is interrupted, and its deadline counts. */
static void a_thread_that_waits_may_leave(void **state)
{
    (void)state;
    struct setup setup;
    struct asker asker;
    set_up_held(&setup, &asker);
    struct caller caller = finder(&setup, is_cancelled_always, NULL);
    assert_int_equal(reach_with(&setup, &caller, &setup.whole, partition(2)), -EINTR);
    caller = finder(&setup, NULL, NULL);
    caller.call.deadline_ms = setup.fetching->now_ms;
    assert_int_equal(reach_with(&setup, &caller, &setup.whole, partition(2)), -ETIMEDOUT);
    assert_int_equal(let_go(&setup, &asker), 1);
    tear_down(&setup);
}

/* ... which is put off by what the other has reached. */
static void what_another_thread_reaches_is_progress(void **state)
{
    (void)state;
    struct setup setup;
    struct asker asker;
    set_up_held(&setup, &asker);
    struct toll toll = {.fetching = setup.fetching};
    struct caller caller = finder(&setup, let_next, &toll); /* turns the clock */
    assert_in_range(reach_with(&setup, &caller, &setup.whole, partition(19)), 0, 1);
    assert_true(caller.call.deadline_ms >= setup.fetching->now_ms);
    assert_int_equal(let_go(&setup, &asker), 1);
    tear_down(&setup);
}

/* One after the other: else several pages may come at once, and count as one. */
static bool let_what_is_at_the_gate(void *context)
{
    struct setup *setup = context;
    gate_store_let(setup->fetching->store, gate_store_arrived(setup->fetching->store));
    return false;
}

static void a_traversal_that_reached_nothing_is_no_progress(void **state)
{
    (void)state;
    struct setup setup;
    struct asker asker;
    set_up(&setup, 1);
    prefetching_add(&setup.prefetching, 20, 1000);
    assert_int_equal(reach(&setup, FIND, partition(0)), REACH_IN_CACHE);
    hold(&setup, B("p0019\0"), &asker); /* that far it does not go */
    struct caller caller = finder(&setup, let_what_is_at_the_gate, &setup); /* once it waits */
    int64_t deadline_ms = caller.call.deadline_ms;
    assert_int_equal(reach_with(&setup, &caller, &setup.whole, partition(0)), REACH_IN_CACHE);
    assert_int_equal(caller.call.deadline_ms, deadline_ms);
    assert_int_equal(let_go(&setup, &asker), 0);
    tear_down(&setup);
}

struct passer_by {
    struct setup *setup;
    pthread_t thread;
    atomic_bool is_over;
};

/* Another process's traversal is used all the time. */
static void *pass_by(void *context)
{
    struct passer_by *passer_by = context;
    while (!atomic_load(&passer_by->is_over))
        traversals_follow(passer_by->setup->traversals, OTHER, "t", B("p0010\0"));
    return NULL;
}

struct looks {
    struct setup *setup;
    int n;
};

/* At each of 100 looks 100 ms have gone by. */
static bool grow_tired(void *context)
{
    struct looks *looks = context;
    looks->setup->fetching->now_ms += 100;
    return ++looks->n == 100;
}

static void another_process_is_no_progress(void **state)
{
    (void)state;
    struct setup setup;
    struct asker asker;
    struct passer_by passer_by = {.setup = &setup};
    set_up(&setup, 2);
    prefetching_add(&setup.prefetching, 20, 1000);
    assert_int_equal(reach(&setup, OTHER, partition(10)), REACH_IN_CACHE);
    hold(&setup, B("p0002\0"), &asker);
    assert_int_equal(pthread_create(&passer_by.thread, NULL, pass_by, &passer_by), 0);
    struct looks looks = {.setup = &setup};
    struct caller caller = finder(&setup, grow_tired, &looks);
    assert_int_equal(reach_with(&setup, &caller, &setup.whole, partition(2)), -ETIMEDOUT);
    assert_in_range(looks.n, 10, 11);
    atomic_store(&passer_by.is_over, true);
    assert_int_equal(pthread_join(passer_by.thread, NULL), 0);
    assert_int_equal(let_go(&setup, &asker), 1);
    tear_down(&setup);
}

struct traverser {
    struct setup *setup;
    uint64_t process;
    pthread_t thread;
    unsigned seed;
    size_t served, asked;
};

static void *traverse(void *context)
{
    struct traverser *traverser = context;
    for (int i = 0; i < 300; i++) {
        char key[8];
        (void)snprintf(key, sizeof(key), "p%04d", (i / 5 + rand_r(&traverser->seed) % 3) % 60);
        int r = reach(traverser->setup, traverser->process, (struct bytes){key, 6});
        assert_in_range(r, 0, 1);
        traverser->served += r == 1;
        traverser->asked += r == 0;
        if (i % 50 == 0)
            traverser->setup->fetching->now_ms += 20000;
    }
    return NULL;
}

static void many_threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup, 4);
    prefetching_add(&setup.prefetching, 60, 1000);
    struct traverser traversers[8];
    size_t served = 0;
    for (unsigned i = 0; i < 8; i++) {
        traversers[i] = (struct traverser){.setup = &setup, .process = 1 + i / 2, .seed = i};
        assert_int_equal(pthread_create(&traversers[i].thread, NULL, traverse, &traversers[i]), 0);
    }
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(pthread_join(traversers[i].thread, NULL), 0);
        assert_int_equal(traversers[i].served + traversers[i].asked, 300);
        served += traversers[i].served;
    }
    assert_true(served > 0);
    tear_down(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_of_one_process_share_a_traversal),
        cmocka_unit_test(a_thread_that_waits_may_leave),
        cmocka_unit_test(what_another_thread_reaches_is_progress),
        cmocka_unit_test(a_traversal_that_reached_nothing_is_no_progress),
        cmocka_unit_test(another_process_is_no_progress),
        cmocka_unit_test(many_threads_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
