/* SPDX-License-Identifier: MIT */
/* Pending's queue with more partitions than it has places for, in some orders:
 * schedule_partitions [SEED [COUNT]].
 *
 * Almost all places are taken by changes that are not due. Threads queue changes in new partitions,
 * and wait for places; some claim what is queued already. A process holds changes, which need no
 * place. Others take the batches. One drains. Where every batch is made at once, no thread waits
 * for a change to become old: no time passes. Else batches are sent again, and time passes at any
 * moment.
 *
 * There are never more partitions than places; what is acknowledged ends exactly once; a drain
 * returns when everything has ended that was acknowledged before it. */
#include "cache/queue/pending_parts.h"
#include "tests/schedule/schedule.h"
#include "tests/stores/pending_check.h"

#include <pthread.h>

#define PARTITIONS 2100 /* more than PENDING_PARTITIONS_MAX */
#define QUEUED     1990 /* before the threads begin */
#define HELD       30   /* partitions of their own */
#define CHANGERS   4
#define TAKERS     3
#define DRAINS     3

static struct test { /* the thread functions have no other context */
    struct pending *pending;
    bool is_slow; /* batches are sent again, and time passes */
    struct {
        unsigned acknowledged, ended;
    } rows[PARTITIONS + HELD]; /* one of each partition */
    int next;                  /* the next new partition */
    struct write_batch batches[TAKERS];
} test;

static struct bytes position_of(int number, char ret[16])
{
    int size = snprintf(ret, 16, "%05d%cr", number, '\0');
    return (struct bytes){ret, (size_t)size};
}

static int number_of(struct bytes position)
{
    int number = 0;
    for (size_t i = 0; i < 5; i++)
        number = number * 10 + (position.data[i] - '0');
    return number;
}

static struct call new_call(void)
{
    return (struct call){.deadline_ms = clock_now_ms(&clock_system) + 1000000000};
}

static void change(int number, uint64_t process)
{
    char key[16];
    struct bytes position = position_of(number, key);
    struct call call = new_call();
    const struct queued_change deletion = {
        .write = {.kind = WRITE_DELETE, .position = position, .if_match = BYTES_LITERAL("etag")},
        .request_bytes = 1,
        .process = process,
        .is_held = process > 0};
    SCHEDULE_CHECK(pending_claim(test.pending, "T", &position, 1, &call) == 0);
    SCHEDULE_CHECK(pending_queue(test.pending, "T", &deletion, &call) == 0);
    test.rows[number].acknowledged++;
}

/* A new partition, or one that is there: then the change waits for the one that is queued. */
static void *change_again_and_again(void *context)
{
    (void)context;
    while (test.next < PARTITIONS) {
        bool is_new = schedule_random(4) > 0;
        change(is_new ? test.next++ : (int)schedule_random(QUEUED), 0);
    }
    return NULL;
}

static void *hold_again_and_again(void *context)
{
    (void)context;
    for (int i = 0; i < HELD; i++)
        change(PARTITIONS + i, 1);
    SCHEDULE_CHECK(pending_is_consistent(test.pending));
    return NULL;
}

/* Inside the monitor: a thread that queues a held change counts its partition first, and may be
 * stopped before it counts that it is held. */
static void check_places(void)
{
    const struct queue *queue = &test.pending->queue;
    monitor_enter(&test.pending->monitor);
    SCHEDULE_CHECK(queue->partition_count - queue->once_held <= PENDING_PARTITIONS_MAX);
    monitor_leave(&test.pending->monitor);
}

static void *take_again_and_again(void *context)
{
    struct write_batch *batch = context;
    while (pending_take(test.pending, batch)) {
        check_places();
        SCHEDULE_CHECK(batch->n == 1);
        bool is_again = test.is_slow && schedule_random(50) == 0;
        if (is_again)
            batch->again = (struct failure){.error = -EBUSY};
        else
            test.rows[number_of(batch->writes[0].position)].ended++;
        batch->changes[0].end = is_again ? BATCH_AGAIN : BATCH_MADE;
        pending_end(test.pending, batch);
    }
    return NULL;
}

static void *drain_again_and_again(void *context)
{
    static unsigned before[PARTITIONS + HELD];
    (void)context;
    for (int i = 0; i < DRAINS; i++) {
        struct call call = new_call();
        char from[16], to[16];
        int first = (int)schedule_random(PARTITIONS), end = first + (i == 0 ? 1 : 50);
        struct range range = {position_of(first, from), position_of(end, to)};
        for (int row = first; row < MIN(end, PARTITIONS); row++)
            before[row] = test.rows[row].acknowledged;
        SCHEDULE_CHECK(pending_drain(test.pending, "T", range, 0, &call) == 0);
        for (int row = first; row < MIN(end, PARTITIONS); row++)
            SCHEDULE_CHECK(test.rows[row].ended >= before[row]);
    }
    return NULL;
}

static void start(pthread_t *threads, int n, void *(*work)(void *))
{
    for (int i = 0; i < n; i++)
        SCHEDULE_CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
}

static void join(const pthread_t *threads, int n)
{
    for (int i = 0; i < n; i++)
        SCHEDULE_CHECK(pthread_join(threads[i], NULL) == 0);
}

static void check_end(void)
{
    struct pending_stats stats;
    pending_stats(test.pending, &stats);
    SCHEDULE_CHECK(stats.claims == 0 && stats.waiting == 0 && stats.queued == 0);
    SCHEDULE_CHECK(stats.queued_bytes == 0 && pending_partitions(test.pending) == 0);
    SCHEDULE_CHECK(pending_is_consistent(test.pending));
    for (int row = 0; row < PARTITIONS + HELD; row++)
        SCHEDULE_CHECK(test.rows[row].acknowledged == test.rows[row].ended &&
                       test.rows[row].ended > 0);
}

static void body(void *context)
{
    const struct pending_limits limits = {.max_bytes = SIZE_MAX, 2, SIZE_MAX};
    pthread_t changers[CHANGERS], takers[TAKERS], holder, drainer;
    int64_t began_ms = clock_now_ms(&clock_system);
    (void)context;
    SCHEDULE_CHECK(pending_create(&limits, &clock_system, &test.pending) == 0);
    while (test.next < QUEUED)
        change(test.next++, 0);
    int count = 1 + (int)schedule_random(TAKERS);
    for (int i = 0; i < count; i++)
        SCHEDULE_CHECK(pthread_create(&takers[i], NULL, take_again_and_again, &test.batches[i]) ==
                       0);
    start(changers, CHANGERS, change_again_and_again);
    start(&holder, 1, hold_again_and_again);
    start(&drainer, 1, drain_again_and_again);
    join(changers, CHANGERS);
    join(&holder, 1);
    join(&drainer, 1);
    SCHEDULE_CHECK(test.is_slow || clock_now_ms(&clock_system) == began_ms);
    pending_close(test.pending);
    pending_wait_empty(test.pending, INT64_MAX);
    pending_stop(test.pending);
    join(takers, count);
    check_end();
    pending_destroy(test.pending);
}

static void run(uint64_t seed)
{
    struct schedule_outcome outcome;
    test = (struct test){.is_slow = seed % 2};
    schedule_run(&(struct schedule_options){.seed = seed, .is_time_free = test.is_slow}, body, NULL,
                 &outcome);
}

int main(int argc, char **argv)
{
    return schedule_main(argc, argv, run);
}
