/* SPDX-License-Identifier: MIT */
#include "tests/unit/cache/ahead/idle_pool.h"
#include "tests/unit/refused_threads.h"

#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

/* A task that counts itself, and waits at the gate where there is one. */
struct counted {
    struct worker_task task; /* first: run gets it */
    struct tally *tally;
    atomic_int runs;
};

struct tally {
    atomic_int running, most, done;
    sem_t begun, *gate;
};

static void raise_to(atomic_int *most, int value)
{
    int seen = atomic_load(most);
    while (seen < value && !atomic_compare_exchange_weak(most, &seen, value))
        ;
}

static void run_counted(struct worker_task *task)
{
    struct counted *self = (struct counted *)task;
    struct tally *tally = self->tally;
    raise_to(&tally->most, atomic_fetch_add(&tally->running, 1) + 1);
    (void)sem_post(&tally->begun);
    if (tally->gate)
        (void)sem_wait(tally->gate);
    (void)atomic_fetch_add(&self->runs, 1);
    (void)atomic_fetch_sub(&tally->running, 1);
    (void)atomic_fetch_add(&tally->done, 1);
}

static void open_gate(sem_t *gate, size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void)sem_post(gate);
}

static void wait_for(sem_t *begun, size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void)sem_wait(begun);
}

static void tally_init(struct tally *tally, sem_t *gate)
{
    memset(tally, 0, sizeof(*tally));
    tally->gate = gate;
    (void)sem_init(&tally->begun, 0, 0);
    if (gate)
        (void)sem_init(gate, 0, 0);
}

static void submit_lane(struct worker_pool *pool, struct counted *tasks, size_t n, unsigned lane,
                        struct tally *tally)
{
    for (size_t i = 0; i < n; i++) {
        tasks[i] = (struct counted){.task = {.run = run_counted, .lane = lane}, .tally = tally};
        assert_int_equal(worker_pool_submit(pool, &tasks[i].task), 0);
    }
}

static void submit_all(struct worker_pool *pool, struct counted *tasks, size_t n,
                       struct tally *tally)
{
    submit_lane(pool, tasks, n, 0, tally);
}

static void assert_each_ran_once(const struct counted *tasks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(tasks[i].runs, 1);
}

static struct worker_pool *new_pool(int max_threads)
{
    struct worker_pool *pool;
    assert_int_equal(worker_pool_create(max_threads, &pool), 0);
    return pool;
}

static bool is_scan_worker(const char *thread)
{
    char path[320], name[32] = "";
    (void)snprintf(path, sizeof(path), "/proc/self/task/%s/comm", thread);
    FILE *file = fopen(path, "re");
    if (!file)
        return false; /* it has just ended */
    bool is_read = fgets(name, sizeof(name), file) != NULL;
    (void)fclose(file);
    return is_read && strcmp(name, "scan-worker\n") == 0;
}

static int count_threads(bool only_scan_workers)
{
    DIR *folder = opendir("/proc/self/task");
    assert_non_null(folder);
    int n = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] != '.' && (!only_scan_workers || is_scan_worker(entry->d_name)))
            n++;
    }
    (void)closedir(folder);
    return n;
}

/* A thread that was joined may still be seen for a moment. */
static void wait_for_no_scan_worker(void)
{
    for (int i = 0; i < 5000 && count_threads(true) > 0; i++)
        (void)usleep(1000);
    assert_int_equal(count_threads(true), 0);
}

static void a_pool_has_at_least_one_thread(void **state)
{
    (void)state;
    struct worker_pool *pool = NULL;
    assert_int_equal(worker_pool_create(0, &pool), -EINVAL);
    assert_int_equal(worker_pool_create(-1, &pool), -EINVAL);
    assert_null(pool);
    worker_pool_destroy(NULL);
}

static void no_thread_is_made_before_the_first_task(void **state)
{
    (void)state;
    int before = count_threads(false);
    struct worker_pool *pool = new_pool(8);
    assert_int_equal(count_threads(false), before);
    worker_pool_destroy(pool);
}

static void threads_are_made_as_they_are_needed_and_stay(void **state)
{
    (void)state;
    struct tally tally;
    struct counted tasks[5];
    sem_t gate;
    tally_init(&tally, &gate);
    wait_for_no_scan_worker();
    struct worker_pool *pool = new_pool(3);
    for (int i = 0; i < 3; i++) {
        submit_all(pool, &tasks[i], 1, &tally);
        wait_for(&tally.begun, 1);
        assert_int_equal(count_threads(true), i + 1);
    }
    submit_all(pool, &tasks[3], 2, &tally);
    open_gate(&gate, 5);
    wait_for(&tally.begun, 2);
    assert_int_equal(count_threads(true), 3);
    worker_pool_destroy(pool);
    assert_each_ran_once(tasks, 5);
    assert_int_equal(tally.most, 3);
    wait_for_no_scan_worker();
}

static void a_thread_that_idles_is_used_again(void **state)
{
    (void)state;
    struct tally tally;
    struct counted tasks[40];
    tally_init(&tally, NULL);
    wait_for_no_scan_worker();
    struct worker_pool *pool = new_pool(40);
    for (int i = 0; i < 40; i++) {
        submit_all(pool, &tasks[i], 1, &tally);
        wait_for_idle_pool(pool);
    }
    assert_int_equal(count_threads(true), 1);
    worker_pool_destroy(pool);
    assert_each_ran_once(tasks, 40);
}

struct chained {
    struct worker_task task;
    struct worker_pool *pool;
    int left;
    sem_t done;
};

static void run_chained(struct worker_task *task)
{
    struct chained *self = (struct chained *)task;
    if (--self->left == 0 || worker_pool_submit(self->pool, task) < 0)
        (void)sem_post(&self->done);
}

/* Idle: every task has run, also those that tasks submitted; without a task at once.
 */
static void a_pool_is_idle_when_all_tasks_have_run(void **state)
{
    (void)state;
    struct tally tally;
    struct counted tasks[20];
    _cleanup_(worker_pool_destroyp) struct worker_pool *pool = new_pool(2);
    struct chained chained = {{.run = run_chained}, .pool = pool, .left = 1000};
    tally_init(&tally, NULL);
    (void)sem_init(&chained.done, 0, 0);
    wait_for_idle_pool(pool);
    assert_int_equal(worker_pool_submit(pool, &chained.task), 0);
    submit_all(pool, tasks, 20, &tally);
    wait_for_idle_pool(pool);
    assert_int_equal(chained.left, 0);
    assert_int_equal(tally.done, 20);
    wait_for_idle_pool(pool);
}

/* One idles, two tasks come before it wakes: the second must not wait for the first. */
static void a_thread_that_idles_is_counted_on_once(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        struct tally first, tally;
        struct counted tasks[3];
        sem_t gate;
        tally_init(&first, NULL);
        tally_init(&tally, &gate);
        struct worker_pool *pool = new_pool(2);
        submit_all(pool, tasks, 1, &first);
        wait_for_idle_pool(pool);
        submit_all(pool, &tasks[1], 2, &tally);
        wait_for(&tally.begun, 2);
        open_gate(&gate, 2);
        worker_pool_destroy(pool);
        assert_each_ran_once(tasks, 3);
    }
}

struct end { /* of a pool, by the main thread */
    sem_t gate;
    atomic_bool has_begun;
};

static bool main_thread_sleeps(void)
{
    char path[64], line[512] = "";
    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    (void)fclose(file);
    return strncmp(strrchr(line, ')'), ") S", 3) == 0;
}

/* Until the main thread waits in worker_pool_destroy. */
static void wait_for_end(const struct end *end)
{
    while (!end->has_begun || !main_thread_sleeps())
        (void)usleep(500);
}

static void end_pool(struct worker_pool *pool, struct end *end)
{
    end->has_begun = true;
    worker_pool_destroy(pool);
}

static void *open_gate_at_end(void *context)
{
    struct end *end = context;
    wait_for_end(end);
    open_gate(&end->gate, 10);
    return NULL;
}

static void the_end_waits_for_every_task(void **state)
{
    (void)state;
    struct tally tally;
    struct counted tasks[10];
    pthread_t opener;
    struct end end = {.has_begun = false};
    tally_init(&tally, &end.gate);
    struct worker_pool *pool = new_pool(2);
    submit_all(pool, tasks, 10, &tally);
    assert_int_equal(pthread_create(&opener, NULL, open_gate_at_end, &end), 0);
    end_pool(pool, &end);
    assert_each_ran_once(tasks, 10);
    assert_int_equal(tally.done, 10);
    assert_int_equal(pthread_join(opener, NULL), 0);
}

struct numbered {
    struct worker_task task;
    int number, *last;
};

static void run_numbered(struct worker_task *task)
{
    struct numbered *self = (struct numbered *)task;
    if (*self->last == self->number - 1)
        *self->last = self->number;
    free(self); /* as owners do: the pool looks at no task after it has run */
}

static void tasks_begin_in_the_order_they_were_given(void **state)
{
    (void)state;
    int last = 0;
    struct worker_pool *pool = new_pool(1);
    for (int i = 1; i <= 1000; i++) {
        struct numbered *task = malloc(sizeof(*task));
        *task = (struct numbered){{.run = run_numbered}, i, &last};
        assert_int_equal(worker_pool_submit(pool, &task->task), 0);
    }
    worker_pool_destroy(pool);
    assert_int_equal(last, 1000);
}

struct submitter {
    struct worker_pool *pool;
    struct tally *tally;
    struct counted tasks[2000];
};

static void *submit_many(void *context)
{
    struct submitter *self = context;
    for (size_t i = 0; i < ARRAY_SIZE(self->tasks); i++)
        submit_all(self->pool, &self->tasks[i], 1, self->tally);
    return NULL;
}

static void any_thread_may_submit(void **state)
{
    (void)state;
    static struct submitter submitters[4];
    pthread_t threads[ARRAY_SIZE(submitters)];
    struct tally tally;
    tally_init(&tally, NULL);
    struct worker_pool *pool = new_pool(5);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
        submitters[i].pool = pool;
        submitters[i].tally = &tally;
        assert_int_equal(pthread_create(&threads[i], NULL, submit_many, &submitters[i]), 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    worker_pool_destroy(pool);
    for (size_t i = 0; i < ARRAY_SIZE(submitters); i++)
        assert_each_ran_once(submitters[i].tasks, ARRAY_SIZE(submitters[i].tasks));
    assert_int_equal(tally.done, 8000);
    assert_in_range(tally.most, 1, 5);
}

struct looker {
    struct worker_task task;
    char name[16];
    sigset_t blocked;
};

static void look_at_thread(struct worker_task *task)
{
    struct looker *self = (struct looker *)task;
    (void)pthread_getname_np(pthread_self(), self->name, sizeof(self->name));
    (void)pthread_sigmask(SIG_SETMASK, NULL, &self->blocked);
}

static void workers_have_names_and_no_signals(void **state)
{
    (void)state;
    static const int signals[] = {SIGHUP,  SIGINT,  SIGTERM, SIGQUIT, SIGUSR1,
                                  SIGUSR2, SIGPIPE, SIGALRM, SIGCHLD, SIGTSTP};
    struct looker scan = {.task = {.run = look_at_thread}};
    sigset_t none, after;
    (void)sigemptyset(&none);
    (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
    struct worker_pool *pool = new_pool(1);
    assert_int_equal(worker_pool_submit(pool, &scan.task), 0);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &after);
    worker_pool_destroy(pool);
    assert_string_equal(scan.name, "scan-worker");
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
        assert_int_equal(sigismember(&scan.blocked, signals[i]), 1);
        assert_int_equal(sigismember(&after, signals[i]), 0); /* the submitter's are its own */
    }
}

/* Of 20 tasks of one lane that hang as many run as there are slots; another lane has as many. */
static void a_lane_that_hangs_takes_nothing_from_others(void **state)
{
    (void)state;
    struct tally hanging, others;
    struct counted tasks[20], well[20];
    sem_t gate, other_gate;
    tally_init(&hanging, &gate);
    tally_init(&others, &other_gate);
    struct worker_pool *pool = new_pool(8);
    submit_lane(pool, tasks, ARRAY_SIZE(tasks), 1, &hanging);
    wait_for(&hanging.begun, 8);
    submit_all(pool, well, ARRAY_SIZE(well), &others); /* after 12 of the lane that hangs */
    wait_for(&others.begun, 8);
    assert_int_equal(hanging.running, 8);
    open_gate(&other_gate, ARRAY_SIZE(well));
    wait_for(&others.begun, ARRAY_SIZE(well) - 8);
    open_gate(&gate, ARRAY_SIZE(tasks));
    worker_pool_destroy(pool);
    assert_each_ran_once(tasks, ARRAY_SIZE(tasks));
    assert_each_ran_once(well, ARRAY_SIZE(well));
    assert_int_equal(others.most, 8);
}

/* Threads are bounded: of many lanes that all hang, some wait for a thread. */
static void many_lanes_have_four_threads_a_slot(void **state)
{
    (void)state;
    struct tally tally;
    struct counted tasks[12];
    sem_t gate;
    tally_init(&tally, &gate);
    wait_for_no_scan_worker();
    struct worker_pool *pool = new_pool(2);
    for (unsigned lane = 0; lane < 6; lane++)
        submit_lane(pool, &tasks[(size_t)2 * lane], 2, lane, &tally);
    wait_for(&tally.begun, 8);
    assert_int_equal(count_threads(true), 8);
    open_gate(&gate, ARRAY_SIZE(tasks));
    worker_pool_destroy(pool);
    assert_each_ran_once(tasks, ARRAY_SIZE(tasks));
    assert_int_equal(tally.most, 8);
}

static void a_task_without_a_thread_is_refused(void **state)
{
    (void)state;
    struct tally tally;
    struct rlimit before;
    struct counted refused = {.task = {.run = run_counted}, .tally = &tally};
    struct counted taken;
    tally_init(&tally, NULL);
    struct worker_pool *pool = new_pool(2);
    if (!refuse_threads(&before))
        skip();
    int r = worker_pool_submit(pool, &refused.task);
    allow_threads(&before);
    assert_int_equal(r, -EAGAIN);
    submit_all(pool, &taken, 1, &tally); /* a later one finds no trace of it */
    worker_pool_destroy(pool);
    assert_int_equal(refused.runs, 0);
    assert_each_ran_once(&taken, 1);
}

static void the_threads_that_are_there_must_do(void **state)
{
    (void)state;
    struct tally tally;
    struct rlimit before;
    struct counted tasks[6];
    sem_t gate;
    tally_init(&tally, &gate);
    struct worker_pool *pool = new_pool(4);
    submit_all(pool, tasks, 1, &tally);
    wait_for(&tally.begun, 1);
    if (!refuse_threads(&before)) {
        open_gate(&gate, 1);
        worker_pool_destroy(pool);
        skip();
    }
    submit_all(pool, &tasks[1], 5, &tally);
    allow_threads(&before);
    open_gate(&gate, 6);
    worker_pool_destroy(pool);
    assert_int_equal(tally.most, 1);
    assert_each_ran_once(tasks, 6);
}

struct late { /* a task that submits another while the pool ends */
    struct worker_task task;
    struct worker_pool *pool;
    struct counted other;
    struct end end;
    int r;
};

static void submit_late(struct worker_task *task)
{
    struct late *late = (struct late *)task;
    wait_for_end(&late->end);
    late->r = worker_pool_submit(late->pool, &late->other.task);
}

static void what_tasks_submit_in_the_end_is_run(void **state)
{
    (void)state;
    struct tally tally;
    tally_init(&tally, NULL);
    struct late late = {.task = {.run = submit_late},
                        .pool = new_pool(2),
                        .other = {.task = {.run = run_counted}, .tally = &tally},
                        .r = -1};
    assert_int_equal(worker_pool_submit(late.pool, &late.task), 0);
    end_pool(late.pool, &late.end);
    assert_int_equal(late.r, 0);
    assert_each_ran_once(&late.other, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            no_thread_is_made_before_the_first_task), /* while none has ended, either */
        cmocka_unit_test(a_pool_has_at_least_one_thread),
        cmocka_unit_test(threads_are_made_as_they_are_needed_and_stay),
        cmocka_unit_test(a_thread_that_idles_is_used_again),
        cmocka_unit_test(a_pool_is_idle_when_all_tasks_have_run),
        cmocka_unit_test(a_thread_that_idles_is_counted_on_once),
        cmocka_unit_test(the_end_waits_for_every_task),
        cmocka_unit_test(tasks_begin_in_the_order_they_were_given),
        cmocka_unit_test(what_tasks_submit_in_the_end_is_run),
        cmocka_unit_test(any_thread_may_submit),
        cmocka_unit_test(workers_have_names_and_no_signals),
        cmocka_unit_test(a_lane_that_hangs_takes_nothing_from_others),
        cmocka_unit_test(many_lanes_have_four_threads_a_slot),
        cmocka_unit_test(a_task_without_a_thread_is_refused),
        cmocka_unit_test(the_threads_that_are_there_must_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
