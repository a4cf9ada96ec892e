/* SPDX-License-Identifier: MIT */
#ifndef TESTS_SCHEDULE_SCHEDULED_ACCOUNT_H
#define TESTS_SCHEDULE_SCHEDULED_ACCOUNT_H
/* An account over a store in memory, for threads that change it and others that read it. Requests
 * and answers take their time on the way: an answer may be made before a change, and arrive after
 * it. In two thirds of the runs every third answer to a change is lost, in one of them under
 * retries. */
#include "cache/account.h"
#include "client/store/retrying_store.h"
#include "tests/schedule/history.h"
#include "tests/stores/hooked_store.h"
#include "tests/stores/memory_store.h"

#include <pthread.h>

#define CHANGERS    3
#define READERS     2
#define PATIENCE_MS INT64_C(1000000000)

static struct test { /* the thread functions have no other context */
    struct memory_store *memory;
    struct account *account;
    struct history history;
    unsigned changes;
    bool takes_time, loses, retries;
    /* deletes, and texts, may be queued; a lost answer counts as a service that does not answer */
    bool queues, writes_back, stalls;
    lost_change_sink *lost;
} test;

static inline void begin_test(uint64_t seed)
{
    test = (struct test){.memory = memory_store_create(),
                         .takes_time = seed % 2,
                         .loses = seed % 3 > 0,
                         .retries = seed % 3 == 1};
}

static inline void wait_some_time(void)
{
    if (test.takes_time)
        clock_system.sleep_ms(NULL, (int64_t)schedule_random(700));
    else
        for (uint64_t steps = schedule_random(8); steps > 0; steps--)
            schedule_step();
}

static inline void before_request(void *context)
{
    (void)context;
    wait_some_time();
    if (test.memory->drops_slowly && schedule_random(4) == 0)
        memory_store_end_drops(test.memory);
}

static inline int after_request(void *context, bool is_change, int r, struct call *call)
{
    (void)context;
    wait_some_time();
    if (!is_change || !test.loses || ++test.changes % 3 > 0)
        return r;
    r = hooked_store_lose(call, test.retries);
    call->failure.is_unanswered = test.stalls;
    return r;
}

static inline struct caller new_caller(void)
{
    return (struct caller){
        .call = {.deadline_ms = clock_now_ms(&clock_system) + PATIENCE_MS},
        .process = schedule_random(4),
        .patience_ms = PATIENCE_MS,
    };
}

static inline struct account *new_account(int parallelism, int fanout)
{
    static const int64_t ttls[] = {0, 1000, 1 << 30};
    static const size_t caches[] = {1, 1000, 1 << 20};
    const struct store_hooks hooks = {before_request, after_request, NULL};
    const struct retrying_store_options retrying = {.timeout_ms = PATIENCE_MS};
    struct account_options options = {.ttl_ms = ttls[schedule_random(ARRAY_SIZE(ttls))],
                                      .cache_bytes = caches[schedule_random(ARRAY_SIZE(caches))],
                                      .parallelism = parallelism,
                                      .pending_bytes = test.queues ? 1 + schedule_random(2000) : 0,
                                      .is_write_back = test.writes_back,
                                      .timeout_ms = PATIENCE_MS,
                                      .lost = test.lost,
                                      .fanout = fanout};
    struct table_store *store;
    struct account *account;
    SCHEDULE_CHECK(hooked_store_create(&test.memory->store, &hooks, &store) == 0);
    if (test.retries)
        SCHEDULE_CHECK(retrying_store_create(store, &clock_system, &retrying, &store) == 0);
    SCHEDULE_CHECK(account_create(store, &clock_system, &options, NULL, NULL, &account) == 0);
    return account;
}

static inline void run_threads(void *(*change)(void *), void *(*read)(void *))
{
    pthread_t threads[CHANGERS + READERS];
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        SCHEDULE_CHECK(pthread_create(&threads[i], NULL, i < CHANGERS ? change : read, NULL) == 0);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        SCHEDULE_CHECK(pthread_join(threads[i], NULL) == 0);
}

/* Runs the body, in an order that the seed picks. */
static inline void schedule_test(uint64_t seed, void (*body)(void *context))
{
    struct schedule_outcome outcome;
    schedule_run(&(struct schedule_options){.seed = seed, .is_time_free = seed % 4 == 1}, body,
                 NULL, &outcome);
}

#endif
