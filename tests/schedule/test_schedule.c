/* SPDX-License-Identifier: MIT */
/* The scheduler itself: its orders, its time, and what it reports. */
#include "client/base/clock.h"
#include "client/base/condition.h"
#include "tests/schedule/schedule.h"
#include "tests/unit/unit.h"

#include <sys/wait.h>
#include <unistd.h>

#define SEEDS 200

static struct schedule_outcome run(uint64_t seed, void (*body)(void *), void *context)
{
    struct schedule_outcome outcome;
    schedule_run(&(struct schedule_options){.seed = seed}, body, context, &outcome);
    return outcome;
}

static void run_two(void *(*routine)(void *), void *context)
{
    pthread_t threads[2];
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        SCHEDULE_CHECK(pthread_create(&threads[i], NULL, routine, context) == 0);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        SCHEDULE_CHECK(pthread_join(threads[i], NULL) == 0);
}

struct counted { /* by two threads */
    pthread_mutex_t lock;
    bool uses_lock;
    int value;
    char order[64];
    size_t steps;
    int threads;
};

static void *count(void *context)
{
    struct counted *counted = context;
    char name = (char)('a' + counted->threads++);
    for (int i = 0; i < 4; i++) {
        if (counted->uses_lock)
            (void)pthread_mutex_lock(&counted->lock);
        int value = counted->value;
        schedule_step();
        counted->value = value + 1;
        counted->order[counted->steps++] = name;
        if (counted->uses_lock)
            (void)pthread_mutex_unlock(&counted->lock);
    }
    return NULL;
}

static void count_in_two(void *context)
{
    run_two(count, context);
}

static struct counted counted_with(uint64_t seed, bool uses_lock)
{
    struct counted counted = {.lock = PTHREAD_MUTEX_INITIALIZER, .uses_lock = uses_lock};
    (void)run(seed, count_in_two, &counted);
    return counted;
}

static void a_seed_gives_one_order_and_seeds_give_many(void **state)
{
    (void)state;
    static struct counted seen[SEEDS];
    size_t orders = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct counted once = counted_with(seed, false), again = counted_with(seed, false);
        assert_string_equal(once.order, again.order);
        size_t i = 0;
        while (i < orders && strcmp(seen[i].order, once.order) != 0)
            i++;
        if (i == orders)
            seen[orders++] = once;
    }
    assert_in_range(orders, 30, SEEDS);
}

static void what_no_mutex_guards_is_lost_in_some_orders(void **state)
{
    (void)state;
    int right = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        right += counted_with(seed, false).value == 8;
        assert_int_equal(counted_with(seed, true).value, 8);
    }
    assert_in_range(right, 1, SEEDS - 1);
}

static int64_t now_ms(void)
{
    return clock_now_ms(&clock_system);
}

static void sleep_ms(int64_t ms)
{
    clock_system.sleep_ms(clock_system.context, ms);
}

static void *sleep_for_hours(void *context)
{
    struct counted *counted = context;
    int64_t hours = ++counted->threads, began_ms = now_ms();
    sleep_ms(hours * 3600 * 1000);
    SCHEDULE_CHECK(now_ms() - began_ms == hours * 3600 * 1000);
    SCHEDULE_CHECK(++counted->value == hours); /* in this order */
    return NULL;
}

static void sleep_in_two(void *context)
{
    run_two(sleep_for_hours, context);
}

static void time_passes_when_all_wait(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct counted counted = {0};
        assert_int_equal(run(seed, sleep_in_two, &counted).elapsed_ms, 2 * 3600 * 1000);
        assert_int_equal(run(seed, count_in_two, &counted).elapsed_ms, 0);
    }
}

struct waiting {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_reported, tells, is_late, waits_for_ever;
};

static void *wait_to_be_told(void *context)
{
    struct waiting *waiting = context;
    struct timespec until = {.tv_sec = now_ms() / 1000 + 3600};
    (void)pthread_mutex_lock(&waiting->lock);
    while (!waiting->is_reported && !waiting->is_late) {
        if (waiting->waits_for_ever)
            (void)pthread_cond_wait(&waiting->changed, &waiting->lock);
        else
            waiting->is_late =
                pthread_cond_timedwait(&waiting->changed, &waiting->lock, &until) == ETIMEDOUT;
    }
    (void)pthread_mutex_unlock(&waiting->lock);
    return NULL;
}

static void wait_and_tell(void *context)
{
    struct waiting *waiting = context;
    pthread_t thread;
    SCHEDULE_CHECK(pthread_create(&thread, NULL, wait_to_be_told, waiting) == 0);
    schedule_step();
    (void)pthread_mutex_lock(&waiting->lock);
    waiting->is_reported = waiting->tells;
    (void)pthread_mutex_unlock(&waiting->lock);
    if (waiting->tells)
        (void)pthread_cond_signal(&waiting->changed);
    SCHEDULE_CHECK(pthread_join(thread, NULL) == 0);
}

static struct waiting waiting_with(bool tells, bool waits_for_ever)
{
    return (struct waiting){.lock = PTHREAD_MUTEX_INITIALIZER,
                            .changed = PTHREAD_COND_INITIALIZER,
                            .tells = tells,
                            .waits_for_ever = waits_for_ever};
}

static void a_wait_ends_by_a_signal_or_by_time(void **state)
{
    (void)state;
    int late = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct schedule_outcome outcome;
        struct waiting waiting = waiting_with(true, false);
        assert_int_equal(run(seed, wait_and_tell, &waiting).elapsed_ms, 0);
        assert_false(waiting.is_late);
        waiting = waiting_with(false, false);
        assert_int_equal(run(seed, wait_and_tell, &waiting).elapsed_ms, 3600 * 1000);
        assert_true(waiting.is_late);
        waiting = waiting_with(true, false);
        schedule_run(&(struct schedule_options){.seed = seed, .is_time_free = true}, wait_and_tell,
                     &waiting, &outcome);
        late += waiting.is_late;
    }
    assert_in_range(late, 1, SEEDS - 1); /* time passed although the signal was to come */
}

/* Runs the body in a process of its own. Returns its exit code, and what it printed. */
static int run_apart(uint64_t seed, void (*body)(void *), void *context, char ret_printed[4096])
{
    int pipes[2], status;
    size_t size = 0;
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)dup2(pipes[1], STDERR_FILENO);
        (void)run(seed, body, context);
        _exit(0);
    }
    (void)close(pipes[1]);
    for (ssize_t n; (n = read(pipes[0], ret_printed + size, 4095 - size)) > 0;)
        size += (size_t)n;
    ret_printed[size] = '\0';
    (void)close(pipes[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static void *lock_both(void *context)
{
    int first = (*(int *)context)++ % 2;
    (void)pthread_mutex_lock(&locks[first]);
    (void)pthread_mutex_lock(&locks[1 - first]);
    (void)pthread_mutex_unlock(&locks[1 - first]);
    (void)pthread_mutex_unlock(&locks[first]);
    return NULL;
}

static void lock_in_both_orders(void *context)
{
    int threads = 0;
    (void)context;
    run_two(lock_both, &threads);
}

static void a_deadlock_is_reported_and_comes_again(void **state)
{
    (void)state;
    int deadlocks = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        char printed[4096], again[4096], begin[64];
        int status = run_apart(seed, lock_in_both_orders, NULL, printed);
        assert_int_equal(run_apart(seed, lock_in_both_orders, NULL, again), status);
        assert_string_equal(again, printed);
        if (status == 0)
            continue;
        deadlocks++;
        assert_int_equal(status, SCHEDULE_FAILED);
        (void)snprintf(begin, sizeof(begin), "seed %d, step ", (int)seed);
        assert_memory_equal(printed, begin, strlen(begin));
        assert_non_null(strstr(printed, ": deadlock\nthread 0 waits for the end of thread 1\n"
                                        "thread 1 waits for the mutex "));
        assert_non_null(strstr(printed, " of thread 2\nthread 2 waits for the mutex "));
    }
    assert_in_range(deadlocks, 1, 39);
}

static void a_wait_that_no_thread_ends_is_a_deadlock(void **state)
{
    (void)state;
    char printed[4096];
    struct waiting waiting = waiting_with(false, true);
    assert_int_equal(run_apart(0, wait_and_tell, &waiting, printed), SCHEDULE_FAILED);
    assert_non_null(strstr(printed, "thread 1 waits for the condition "));
}

static void step_for_ever(void *context)
{
    (void)context;
    for (;;)
        schedule_step();
}

static void fail_a_check(void *context)
{
    SCHEDULE_CHECK(context != NULL);
}

static void leave_a_thread(void *context)
{
    pthread_t thread;
    (void)pthread_create(&thread, NULL, count, context);
}

static void unlock_what_is_not_locked(void *context)
{
    (void)context;
    (void)pthread_mutex_unlock(&locks[0]);
}

static void lock_twice(void *context)
{
    (void)context;
    (void)pthread_mutex_lock(&locks[0]);
    (void)pthread_mutex_lock(&locks[0]);
}

static void what_is_wrong_ends_the_program(void **state)
{
    (void)state;
    static const struct {
        void (*body)(void *context);
        const char *printed;
    } wrong[] = {
        {step_for_ever, "more than 1000000 steps"},
        {fail_a_check, "not so: context != NULL\nthread 0 runs\n"},
        {leave_a_thread, "not all threads were joined"},
        {unlock_what_is_not_locked, "a thread unlocks a mutex that it has not locked"},
        {lock_twice, "a thread locks its own mutex"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        char printed[4096];
        struct counted counted = {0};
        bool has_context = wrong[i].body != fail_a_check;
        assert_int_equal(run_apart(0, wrong[i].body, has_context ? &counted : NULL, printed),
                         SCHEDULE_FAILED);
        assert_non_null(strstr(printed, wrong[i].printed));
    }
}

static void nothing_is_scheduled_outside_a_run(void **state)
{
    (void)state;
    struct counted counted = {.lock = PTHREAD_MUTEX_INITIALIZER, .uses_lock = true};
    int64_t began_ms = now_ms();
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, count, &counted), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(counted.value, 4);
    schedule_step();
    sleep_ms(1);
    assert_true(now_ms() > began_ms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_gives_one_order_and_seeds_give_many),
        cmocka_unit_test(what_no_mutex_guards_is_lost_in_some_orders),
        cmocka_unit_test(time_passes_when_all_wait),
        cmocka_unit_test(a_wait_ends_by_a_signal_or_by_time),
        cmocka_unit_test(a_deadlock_is_reported_and_comes_again),
        cmocka_unit_test(a_wait_that_no_thread_ends_is_a_deadlock),
        cmocka_unit_test(what_is_wrong_ends_the_program),
        cmocka_unit_test(nothing_is_scheduled_outside_a_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
