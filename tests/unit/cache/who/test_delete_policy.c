/* SPDX-License-Identifier: MIT */
#include "cache/who/delete_policy.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/threads.h"

#define RM    7 /* a process */
#define FIND  8
#define FIRST DELETE_POLICY_FIRST
#define REST  DELETE_POLICY_REST_MS

static struct delete_policy *new_policy(void)
{
    struct delete_policy *policy;
    assert_int_equal(delete_policy_create(&policy), 0);
    return policy;
}

static void assert_unlink(struct delete_policy *policy, uint64_t process, bool has_listed,
                          int64_t now_ms, enum delete_decision expected)
{
    assert_int_equal(delete_policy_unlink(policy, process, has_listed, now_ms), expected);
}

/* Deletes that are sent at once, each with its answer. */
static void send_some(struct delete_policy *policy, uint64_t process, int n, bool is_deleted,
                      int64_t now_ms)
{
    for (int i = 0; i < n; i++) {
        assert_unlink(policy, process, false, now_ms, DELETE_NOW);
        delete_policy_answered(policy, process, is_deleted, now_ms);
    }
}

/* A process whose unlinks are queued, whether it has listed or not. */
static void fill(struct delete_policy *policy, uint64_t process, int64_t now_ms)
{
    send_some(policy, process, FIRST, true, now_ms);
    assert_unlink(policy, process, false, now_ms, DELETE_QUEUED);
    assert_unlink(policy, process, true, now_ms, DELETE_QUEUED);
}

/* The process has no success after it: unlinks are sent at once. */
static void assert_begins(struct delete_policy *policy, uint64_t process, int64_t now_ms)
{
    assert_unlink(policy, process, true, now_ms, DELETE_NOW);
    assert_unlink(policy, process, true, now_ms, DELETE_NOW);
}

static void the_first_16_of_a_process_that_has_not_listed_are_sent_at_once(void **state)
{
    (void)state;
    struct delete_policy *policy = new_policy();
    send_some(policy, RM, FIRST, true, 0);
    for (int i = 0; i < 1000; i++)
        assert_unlink(policy, RM, false, i, DELETE_QUEUED);
    delete_policy_destroy(policy);
    delete_policy_destroy(NULL);
}

static void assert_cell(bool has_failed, int successes, bool has_listed)
{
    _cleanup_(delete_policy_destroyp) struct delete_policy *policy = new_policy();
    bool is_queued = successes >= (has_listed ? 1 : FIRST);
    if (has_failed)
        send_some(policy, RM, 5, false, 0);
    send_some(policy, RM, MIN(successes, FIRST), true, 0);
    if (successes > FIRST)
        assert_unlink(policy, RM, false, 0, DELETE_QUEUED);
    assert_unlink(policy, RM, has_listed, 0, is_queued ? DELETE_QUEUED : DELETE_NOW);
}

static void every_cell_of_the_table_is_so(void **state)
{
    (void)state;
    for (int successes = 0; successes <= FIRST + 1; successes++) {
        for (unsigned facts = 0; facts < 4; facts++)
            assert_cell(facts & 1, successes, facts & 2);
    }
}

DEFINE_OBJECT_FIXTURE(policy, new_policy(), delete_policy_destroy)

/* Also one that a drain reports of queued deletes. */
static void after_a_failure_the_count_begins_again(void **state)
{
    struct delete_policy *policy = *state;
    fill(policy, RM, 0);
    delete_policy_answered(policy, RM, false, 0);
    assert_begins(policy, RM, 0);
    delete_policy_answered(policy, RM, false, 0);
    delete_policy_answered(policy, RM, false, 0);
    fill(policy, RM, 0);
    delete_policy_answered(policy, RM, true, 0);
    assert_unlink(policy, RM, false, 0, DELETE_QUEUED);
}

static void each_process_has_a_burst_of_its_own(void **state)
{
    struct delete_policy *policy = *state;
    fill(policy, RM, 0);
    assert_begins(policy, FIND, 0);
    delete_policy_answered(policy, FIND, false, 0);
    assert_unlink(policy, RM, false, 0, DELETE_QUEUED);
}

/* It may be any process of another pid namespace. */
static void process_0_is_not_remembered(void **state)
{
    struct delete_policy *policy = *state;
    send_some(policy, 0, 1000, true, 0);
    assert_unlink(policy, 0, true, 0, DELETE_NOW);
    for (uint64_t process = 1; process <= DELETE_POLICY_PROCESSES; process++)
        fill(policy, process, 0);
    send_some(policy, 0, 1, true, 0);
    for (uint64_t process = 1; process <= DELETE_POLICY_PROCESSES; process++)
        assert_unlink(policy, process, false, 0, DELETE_QUEUED); /* none had to go */
}

static void the_65th_process_takes_the_place_of_the_longest_unused(void **state)
{
    struct delete_policy *policy = *state;
    const uint64_t last = DELETE_POLICY_PROCESSES;
    for (uint64_t process = 1; process <= last; process++)
        fill(policy, process, 0);
    assert_unlink(policy, 1, true, 0, DELETE_QUEUED); /* each of these is a use */
    delete_policy_answered(policy, 2, true, 0);
    delete_policy_answered(policy, 3, true, 0);
    delete_policy_answered(policy, last + 1, true, 0); /* no unlink: not remembered */
    for (uint64_t process = 5; process <= last; process++)
        assert_unlink(policy, process, false, 0, DELETE_QUEUED);
    assert_begins(policy, last + 1, 0);
    for (uint64_t process = 1; process <= last; process++)
        if (process != 4)
            assert_unlink(policy, process, false, 0, DELETE_QUEUED);
    delete_policy_answered(policy, 4, true, 0);
    assert_begins(policy, 4, 0);
    assert_unlink(policy, 1, false, 0, DELETE_QUEUED);
}

static void a_burst_ends_with_a_rest(void **state)
{
    struct delete_policy *policy = *state;
    fill(policy, RM, 0);
    assert_unlink(policy, RM, false, REST - 1, DELETE_QUEUED);
    assert_unlink(policy, RM, false, 2 * REST - 2, DELETE_QUEUED);
    assert_begins(policy, RM, 3 * REST - 2);
}

/* A service that takes 5 s for each delete. */
static void a_slow_answer_is_no_rest(void **state)
{
    struct delete_policy *policy = *state;
    int64_t now_ms = 0;
    for (int i = 0; i < FIRST; i++) {
        assert_unlink(policy, RM, false, now_ms, DELETE_NOW);
        now_ms += 5000;
        delete_policy_answered(policy, RM, true, now_ms);
    }
    assert_unlink(policy, RM, false, now_ms, DELETE_QUEUED);
    assert_begins(policy, RM, now_ms + REST);
}

/* Threads that unlink in several directories: until the first answer each waits for its own. */
static void unlinks_without_an_answer_count(void **state)
{
    struct delete_policy *policy = *state;
    for (int thread = 0; thread < 10; thread++)
        assert_unlink(policy, RM, thread % 2, 0, DELETE_NOW);
    delete_policy_answered(policy, RM, true, 0);
    assert_unlink(policy, RM, true, 0, DELETE_QUEUED);
    for (int thread = 10; thread < FIRST; thread++)
        assert_unlink(policy, RM, false, 0, DELETE_NOW);
    assert_unlink(policy, RM, false, 0, DELETE_QUEUED);
    for (int thread = 0; thread < 100; thread++)
        assert_unlink(policy, FIND, false, 0, DELETE_NOW);
    delete_policy_answered(policy, FIND, true, 0);
    assert_unlink(policy, FIND, false, 0, DELETE_QUEUED);
}

static void without_memory_there_is_none(void **state)
{
    (void)state;
    struct delete_policy *policy = NULL;
    allocations_until_failure = 1;
    assert_int_equal(delete_policy_create(&policy), -ENOMEM);
    assert_null(policy);
}

/* A model that keeps every event and decides by reading them backwards. */

enum { UNLINK_NOW, UNLINK_QUEUED, DELETED, FAILED };

struct event {
    int kind;
    uint64_t process;
    int64_t now_ms;
    bool is_begin; /* of a burst */
};

#define EVENTS_MAX 30000

struct model {
    struct event events[EVENTS_MAX]; /* those that were uses of a remembered process */
    int n;
};

/* -1: the process is not remembered. */
static int last_use(const struct model *model, uint64_t process)
{
    uint64_t others[DELETE_POLICY_PROCESSES];
    size_t n = 0;
    for (int i = model->n - 1; i >= 0; i--) {
        uint64_t other = model->events[i].process;
        if (other == process)
            return i;
        bool is_new = true;
        for (size_t k = 0; k < n; k++)
            is_new = is_new && others[k] != other;
        if (is_new)
            others[n++] = other;
        if (n == DELETE_POLICY_PROCESSES)
            return -1;
    }
    return -1;
}

/* Of the burst whose last event this is. */
static int64_t latest_ms(const struct model *model, int last)
{
    int64_t latest = model->events[last].now_ms;
    for (int i = last;; i--) {
        const struct event *event = &model->events[i];
        if (event->process != model->events[last].process)
            continue;
        latest = MAX(latest, event->now_ms);
        if (event->is_begin)
            return latest;
    }
}

static enum delete_decision model_decide(const struct model *model, uint64_t process, int last,
                                         bool has_listed)
{
    int sent = 0;
    bool has_succeeded = false, is_over = last < 0;
    for (int i = last; !is_over; i--) {
        const struct event *event = &model->events[i];
        if (event->process != process)
            continue;
        if (event->kind == FAILED)
            break;
        sent += event->kind == UNLINK_NOW;
        has_succeeded = has_succeeded || event->kind == DELETED;
        is_over = event->is_begin;
    }
    return has_succeeded && (has_listed || sent >= FIRST) ? DELETE_QUEUED : DELETE_NOW;
}

static void model_add(struct model *model, int kind, uint64_t process, int64_t now_ms,
                      bool is_begin)
{
    assert_in_range(model->n, 0, EVENTS_MAX - 1);
    model->events[model->n++] = (struct event){kind, process, now_ms, is_begin};
}

static enum delete_decision model_unlink(struct model *model, uint64_t process, bool has_listed,
                                         int64_t now_ms)
{
    int last = process == 0 ? -1 : last_use(model, process);
    if (last >= 0 && now_ms - latest_ms(model, last) >= REST)
        last = -1;
    enum delete_decision decision = model_decide(model, process, last, has_listed);
    if (process != 0)
        model_add(model, decision == DELETE_NOW ? UNLINK_NOW : UNLINK_QUEUED, process, now_ms,
                  last < 0);
    return decision;
}

static void model_event(struct model *model, int kind, uint64_t process, int64_t now_ms)
{
    if (last_use(model, process) >= 0)
        model_add(model, kind, process, now_ms, false);
}

static unsigned next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

/* One random event, to both. Some processes come often; few deletes fail. */
static void step(struct delete_policy *policy, struct model *model, uint64_t *seed, int64_t now_ms)
{
    uint64_t process = next_random(seed) % (next_random(seed) % 2 ? 100 : 4);
    unsigned kind = next_random(seed) % 15;
    if (kind < 9) {
        bool has_listed = kind < 3;
        assert_unlink(policy, process, has_listed, now_ms,
                      model_unlink(model, process, has_listed, now_ms));
    } else {
        bool is_deleted = next_random(seed) % 30 != 0;
        delete_policy_answered(policy, process, is_deleted, now_ms);
        model_event(model, is_deleted ? DELETED : FAILED, process, now_ms);
    }
}

static void random_events_are_decided_as_by_a_model(void **state)
{
    (void)state;
    static struct model model;
    for (uint64_t run = 1; run <= 5; run++) {
        struct delete_policy *policy = new_policy();
        uint64_t seed = run;
        int64_t now_ms = 0;
        model.n = 0;
        for (int i = 0; i < EVENTS_MAX; i++) {
            now_ms += next_random(&seed) % 3;
            if (next_random(&seed) % 200 == 0)
                now_ms += next_random(&seed) % (2 * REST);
            step(policy, &model, &seed, now_ms - next_random(&seed) % 100);
        }
        delete_policy_destroy(policy);
    }
}

struct thread {
    struct delete_policy *policy;
    uint64_t process;
    int sent;
};

/* A process of its own, and one that all share: of that each sends one at a time. */
static void *delete_all(void *argument)
{
    struct thread *self = argument;
    for (int i = 0; i < 10000; i++) {
        enum delete_decision own = i < FIRST ? DELETE_NOW : DELETE_QUEUED;
        assert_unlink(self->policy, self->process, false, 0, own);
        delete_policy_answered(self->policy, self->process, true, 0);
        if (delete_policy_unlink(self->policy, RM, false, 0) == DELETE_NOW) {
            self->sent++;
            delete_policy_answered(self->policy, RM, true, 0);
        }
    }
    return NULL;
}

static void threads_send_no_more_than_the_first(void **state)
{
    (void)state;
    struct thread threads[4];
    _cleanup_(delete_policy_destroyp) struct delete_policy *policy = new_policy();
    int sent = 0;
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        threads[i] = (struct thread){.policy = policy, .process = 100 + i};
    run_in_threads(ARRAY_SIZE(threads), delete_all, threads, sizeof(threads[0]));
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        sent += threads[i].sent;
    assert_int_equal(sent, FIRST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_16_of_a_process_that_has_not_listed_are_sent_at_once),
        cmocka_unit_test(every_cell_of_the_table_is_so),
        TEST_WITH(policy, after_a_failure_the_count_begins_again),
        TEST_WITH(policy, each_process_has_a_burst_of_its_own),
        TEST_WITH(policy, process_0_is_not_remembered),
        TEST_WITH(policy, the_65th_process_takes_the_place_of_the_longest_unused),
        TEST_WITH(policy, a_burst_ends_with_a_rest),
        TEST_WITH(policy, a_slow_answer_is_no_rest),
        TEST_WITH(policy, unlinks_without_an_answer_count),
        cmocka_unit_test(random_events_are_decided_as_by_a_model),
        cmocka_unit_test(threads_send_no_more_than_the_first),
        cmocka_unit_test(without_memory_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
