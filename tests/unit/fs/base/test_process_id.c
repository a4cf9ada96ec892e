/* SPDX-License-Identifier: MIT */
#include "fs/base/process_id.h"
#include "tests/unit/unit.h"

#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEPT_MS 1000

struct setup {
    int64_t now_ms;
    struct clock clock;
    struct process_ids *ids;
};

static int set_up(void **state)
{
    struct setup *setup = calloc(1, sizeof(*setup));
    assert_non_null(setup);
    setup->clock = fake_clock(&setup->now_ms);
    assert_int_equal(process_ids_create(&setup->clock, &setup->ids), 0);
    *state = setup;
    return 0;
}

static int tear_down(void **state)
{
    struct setup *setup = *state;
    process_ids_destroy(setup->ids);
    free(setup);
    return 0;
}

static struct process find(struct setup *setup, pid_t thread)
{
    struct process process = {.number = UINT64_MAX, .command = "unset"};
    process_ids_find(setup->ids, thread, &process);
    return process;
}

static struct process find_flusher(struct setup *setup, pid_t thread, uint64_t opener)
{
    struct process process = {.number = UINT64_MAX, .command = "unset"};
    process_ids_find_flusher(setup->ids, thread, opener, &process);
    return process;
}

static void assert_unknown(struct process process)
{
    assert_int_equal(process.number, 0);
    assert_string_equal(process.command, "");
}

/* A child that waits for its end. */
static pid_t start_child(void)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)pause();
        _exit(0);
    }
    return child;
}

static void end_child(pid_t child)
{
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void *find_this_thread(void *context)
{
    static struct process process;
    (void)prctl(PR_SET_NAME, "a thread");
    process = find(context, gettid());
    return &process;
}

static void a_thread_is_known_by_its_process(void **state)
{
    struct setup *setup = *state;
    struct process own = find(setup, getpid());
    assert_string_equal(own.command, "test_process_id");
    assert_int_equal(own.number & ((1 << PROCESS_GROUP_BITS) - 1), getpid());
    pthread_t thread;
    void *found;
    assert_int_equal(pthread_create(&thread, NULL, find_this_thread, setup), 0);
    assert_int_equal(pthread_join(thread, &found), 0);
    assert_string_equal(((struct process *)found)->command, own.command);
    assert_int_equal(((struct process *)found)->number, own.number);
}

static uint64_t ticks_since_boot(void)
{
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_BOOTTIME, &now), 0);
    uint64_t ticks_a_sec = (uint64_t)sysconf(_SC_CLK_TCK);
    return (uint64_t)now.tv_sec * ticks_a_sec + (uint64_t)now.tv_nsec * ticks_a_sec / 1000000000;
}

static void a_number_holds_when_the_process_was_started(void **state)
{
    struct setup *setup = *state;
    uint64_t before = ticks_since_boot();
    pid_t child = start_child();
    struct process found = find(setup, child);
    uint64_t started = found.number >> PROCESS_GROUP_BITS;
    assert_in_range(started, before - 1, ticks_since_boot() + 1);
    assert_int_equal(found.number & ((1 << PROCESS_GROUP_BITS) - 1), child);
    end_child(child);
}

static void a_name_may_look_like_what_follows_it(void **state)
{
    struct setup *setup = *state;
    static const char *const names[] = {
        ") 1 2 3",  ") S 1 1 1 1 1 1", "a) (b",    "(((((((((((((((",
        "))))))))", "two words ",      "\xff\x01", ""};
    char before[PROCESS_COMMAND_SIZE];
    assert_int_equal(prctl(PR_GET_NAME, before), 0);
    struct process own = find(setup, getpid());
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        assert_int_equal(prctl(PR_SET_NAME, names[i]), 0);
        setup->now_ms += KEPT_MS;
        struct process renamed = find(setup, getpid());
        assert_string_equal(renamed.command, names[i]);
        assert_int_equal(renamed.number, own.number);
    }
    assert_int_equal(prctl(PR_SET_NAME, before), 0);
}

static void an_unknown_thread_has_no_process(void **state)
{
    struct setup *setup = *state;
    assert_unknown(find(setup, 0));
    assert_unknown(find(setup, -1));
    assert_unknown(find(setup, INT32_MAX));
    pid_t child = start_child();
    end_child(child);
    assert_unknown(find(setup, child));
}

static void a_thread_is_kept_for_a_second(void **state)
{
    struct setup *setup = *state;
    pid_t child = start_child();
    struct process alive = find(setup, child);
    end_child(child);
    setup->now_ms += KEPT_MS - 1;
    struct process kept = find(setup, child);
    assert_int_equal(kept.number, alive.number);
    assert_string_equal(kept.command, alive.command);
    setup->now_ms += 1;
    assert_unknown(find(setup, child));
}

/* Its start time is not read. */
static void a_flusher_is_the_opener_or_another(void **state)
{
    struct setup *setup = *state;
    pid_t child = start_child();
    uint64_t group = (uint64_t)child, started = (uint64_t)77 << PROCESS_GROUP_BITS;
    struct process opener = find_flusher(setup, child, started | group);
    assert_int_equal(opener.number, started | group);
    assert_string_equal(opener.command, "test_process_id");
    assert_int_equal(find_flusher(setup, child, started | (group + 1)).number, group);
    assert_int_equal(find_flusher(setup, child, 0).number, group);
    struct process known = find(setup, child);
    assert_int_not_equal(known.number, group);
    assert_int_equal(find_flusher(setup, child, started | group).number, known.number);
    setup->now_ms += KEPT_MS;
    assert_int_equal(find_flusher(setup, child, known.number).number, known.number);
    end_child(child);
    assert_unknown(find_flusher(setup, child, started | group));
    assert_unknown(find_flusher(setup, 0, 0));
}

static void assert_only_signals_that_end_count(void)
{
    sigset_t set, before;
    assert_int_equal(sigemptyset(&set), 0);
    assert_int_equal(sigaddset(&set, SIGURG), 0);
    assert_int_equal(sigaddset(&set, SIGINT), 0);
    assert_int_equal(sigprocmask(SIG_BLOCK, &set, &before), 0);
    assert_int_equal(process_end_of(gettid()), PROCESS_GOES_ON);
    assert_int_equal(raise(SIGURG), 0);
    assert_int_equal(process_end_of(gettid()), PROCESS_GOES_ON);
    assert_int_equal(raise(SIGINT), 0);
    assert_int_equal(process_end_of(gettid()), PROCESS_ENDS);
    int signal_number;
    assert_int_equal(sigwait(&set, &signal_number), 0);
    assert_int_equal(sigwait(&set, &signal_number), 0);
    assert_int_equal(process_end_of(gettid()), PROCESS_GOES_ON);
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
    assert_int_equal(process_end_of(0), PROCESS_UNSEEN);
    assert_int_equal(process_end_of(INT32_MAX), PROCESS_ENDS);
}

static void only_signals_that_end_count(void **state)
{
    (void)state;
    assert_only_signals_that_end_count();
}

static void join_groups(size_t count)
{
    gid_t *groups = calloc(MAX(count, 1), sizeof(*groups));
    assert_non_null(groups);
    for (size_t i = 0; i < count; i++)
        groups[i] = (gid_t)(1900000000 + i);
    assert_int_equal(setgroups(count, groups), 0);
    free(groups);
}

/* The groups stand before the signals in /proc/ID/status. */
static void a_signal_counts_for_a_member_of_many_groups(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    int before = getgroups(0, NULL);
    gid_t groups[1024];
    assert_in_range(before, 0, ARRAY_SIZE(groups));
    assert_int_equal(getgroups(before, groups), before);
    for (size_t count = 250; count <= 400; count++) { /* each line lies across 4,096 bytes once */
        join_groups(count);
        assert_only_signals_that_end_count();
    }
    join_groups(65536);
    assert_only_signals_that_end_count();
    assert_int_equal(setgroups((size_t)before, groups), 0);
}

static void without_a_descriptor_it_is_not_known_if_a_caller_can_be_seen(void **state)
{
    struct setup *setup = *state;
    struct rlimit before, none;
    struct process process;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){0, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int found = process_ids_find(setup->ids, getpid(), &process);
    int flusher = process_ids_find_flusher(setup->ids, getpid(), 1, &process);
    enum process_end end = process_end_of(getpid());
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(found, -EMFILE);
    assert_int_equal(flusher, -EMFILE);
    assert_int_equal(end, PROCESS_UNSEEN);
    assert_int_equal(process_ids_find(setup->ids, getpid(), &process), 0); /* it was not kept */
    assert_false(process.is_unseen);
    assert_int_equal(process_ids_find(setup->ids, 0, &process), 0);
    assert_true(process.is_unseen);
    assert_int_equal(process_ids_find(setup->ids, INT32_MAX, &process), 0);
    assert_false(process.is_unseen); /* it has ended */
    assert_int_equal(process.number, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_thread_is_known_by_its_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            without_a_descriptor_it_is_not_known_if_a_caller_can_be_seen, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_number_holds_when_the_process_was_started, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_name_may_look_like_what_follows_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_unknown_thread_has_no_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_thread_is_kept_for_a_second, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_flusher_is_the_opener_or_another, set_up, tear_down),
        cmocka_unit_test(only_signals_that_end_count),
        cmocka_unit_test(a_signal_counts_for_a_member_of_many_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
