/* SPDX-License-Identifier: MIT */
/* Pending's queue in every order: schedule_queue [SEED [COUNT]].
 *
 * Threads claim rows of two partitions, and queue a change or release the claim; others take the
 * batches, and end each change as a service might: it is made, it fails, it is sent again, or the
 * service does not answer. Others drain. The queue has room for few changes, and a batch for two.
 * Three threads hold changes, and keep or end the hold. Two threads write texts, which take their
 * room beside the queue.
 *
 * No row is claimed and queued at once, or in two batches; at most two batches of a partition are
 * out; what is acknowledged ends exactly once; a drain returns when everything has ended that was
 * acknowledged before it; what is held is sent without a call when its time has come. In some of
 * the runs the end comes at once, and the rest is abandoned. */
#include "cache/queue/pending_hold.h"
#include "cache/queue/pending_room.h"
#include "tests/schedule/schedule.h"
#include "tests/stores/pending_check.h"

#include <pthread.h>

#define CHANGERS  3
#define HOLDERS   3
#define TAKERS    3
#define WRITERS   2
#define ROUNDS    4
#define ROWS      4
#define BATCH     2
#define MAX_BYTES 1150 /* four changes in two partitions */

static const struct bytes positions[ROWS] = {BYTES_LITERAL("p\0a"), BYTES_LITERAL("p\0b"),
                                             BYTES_LITERAL("p\0c"), BYTES_LITERAL("q\0a")};
static const struct range ranges[] = {{BYTES_LITERAL("p\0"), BYTES_LITERAL("p\x01")},
                                      {BYTES_LITERAL("p\0b"), BYTES_LITERAL("p\0b\x01")},
                                      {BYTES_LITERAL(""), BYTES_LITERAL("\xff")}};

static struct test { /* the thread functions have no other context */
    struct pending *pending;
    struct {
        bool is_claimed, is_out;
        unsigned acknowledged, ended;
    } rows[ROWS];
    int out[2]; /* batches of a partition */
    unsigned failed;
    struct write_batch batches[TAKERS];
} test;

enum ending { END_SOON, END_AT_ONCE, END_BY_ITSELF };

static size_t row_of(struct bytes position)
{
    size_t row = 0;
    while (!bytes_equal(positions[row], position))
        row++;
    return row;
}

static struct call new_call(void)
{
    return (struct call){.deadline_ms = clock_now_ms(&clock_system) + 1000000000};
}

static void check_refused(const struct call *call)
{
    SCHEDULE_CHECK(call->failure.error == -EIO && call->failure.is_unanswered);
    SCHEDULE_CHECK(!call->failure.is_ambiguous);
}

/* True: the queue has the claim. Process 0 holds nothing. */
static bool queue_change(uint64_t process, size_t row)
{
    struct call call = new_call();
    struct queued_change change = {.write = {.kind = WRITE_DELETE,
                                             .position = positions[row],
                                             .if_match = BYTES_LITERAL("etag")},
                                   .request_bytes = 1,
                                   .process = process,
                                   .is_held = process > 0};
    test.rows[row].is_claimed = false; /* it may end before the call returns */
    if (pending_queue(test.pending, "T", &change, &call) == 0)
        return true;
    check_refused(&call);
    test.rows[row].is_claimed = true;
    return false;
}

static void change(uint64_t process)
{
    size_t row = schedule_random(ROWS);
    struct call call = new_call();
    if (pending_claim(test.pending, "T", &positions[row], 1, &call) < 0) {
        check_refused(&call);
        return;
    }
    SCHEDULE_CHECK(!test.rows[row].is_claimed && !test.rows[row].is_out);
    test.rows[row].is_claimed = true;
    schedule_step();
    if (schedule_random(4) > 0 && queue_change(process, row)) {
        test.rows[row].acknowledged++;
        return;
    }
    test.rows[row].is_claimed = false;
    pending_release(test.pending, "T", &positions[row], 1);
}

static void *change_again_and_again(void *context)
{
    (void)context;
    for (int i = 0; i < ROUNDS; i++) {
        if (schedule_random(3) == 0)
            clock_system.sleep_ms(NULL, (int64_t)schedule_random(1500));
        change(0);
    }
    return NULL;
}

/* What the rmdir of the table does, and a delete without room. */
static void use_hold(void)
{
    bool has_ended;
    switch (schedule_random(8)) {
    case 0:
        pending_hold_again(test.pending, "T", clock_now_ms(&clock_system) + 30000);
        break;
    case 1:
        pending_end_hold(test.pending, "T");
        break;
    case 2:
        (void)pending_may_hold(test.pending, "T", &has_ended);
        break;
    default:
        break;
    }
}

static void *hold_again_and_again(void *context)
{
    uint64_t process = *(const uint64_t *)context;
    for (int i = 0; i < ROUNDS; i++) {
        if (schedule_random(3) == 0)
            clock_system.sleep_ms(NULL, (int64_t)schedule_random(1500));
        change(process);
        use_hold();
        SCHEDULE_CHECK(pending_is_consistent(test.pending));
    }
    return NULL;
}

/* A text gets longer twice, and ends. It waits for the queue, and for no other text. */
static void *write_again_and_again(void *context)
{
    (void)context;
    for (int i = 0; i < ROUNDS; i++) {
        size_t size = 0;
        for (int piece = 0; piece < 2; piece++) {
            size_t more = 1 + schedule_random(MAX_BYTES / 2);
            struct call call = new_call();
            int r = pending_reserve(test.pending, size, more, &call);
            SCHEDULE_CHECK(r == 0 || r == -ENOSPC || call.failure.is_unanswered);
            size += r == 0 ? more : 0;
            schedule_step();
        }
        SCHEDULE_CHECK(pending_is_consistent(test.pending));
        pending_set_reserved(test.pending, size, 0);
    }
    return NULL;
}

/* What is queued has its end without another call. */
static void wait_for_holds(void)
{
    struct pending_stats stats;
    int64_t until_ms = clock_now_ms(&clock_system) + PENDING_HOLD_MAX_MS + 100000;
    do {
        clock_system.sleep_ms(NULL, 1000);
        pending_stats(test.pending, &stats);
    } while ((stats.queued > 0 || pending_has_hold(test.pending, "T")) &&
             clock_now_ms(&clock_system) < until_ms);
    SCHEDULE_CHECK(stats.queued == 0 && !pending_has_hold(test.pending, "T"));
}

static void begin_batch(const struct write_batch *batch)
{
    SCHEDULE_CHECK(batch->n >= 1 && batch->n <= BATCH);
    for (size_t i = 0; i < batch->n; i++) {
        size_t row = row_of(batch->writes[i].position);
        SCHEDULE_CHECK(i == 0 || row > row_of(batch->writes[i - 1].position));
        SCHEDULE_CHECK(row < 3 || batch->n == 1);
        SCHEDULE_CHECK(!test.rows[row].is_out && !test.rows[row].is_claimed);
        test.rows[row].is_out = true;
    }
    SCHEDULE_CHECK(++test.out[row_of(batch->writes[0].position) == 3] <= PENDING_BATCHES_OUT);
}

static void end_change(struct write_batch *batch, size_t i, bool is_again)
{
    size_t row = row_of(batch->writes[i].position);
    test.rows[row].is_out = false;
    batch->changes[i].end = BATCH_AGAIN;
    if (is_again && schedule_random(3) > 0)
        return;
    test.rows[row].ended++;
    batch->changes[i].end = schedule_random(4) > 0 ? BATCH_MADE : BATCH_FAILED;
    batch->changes[i].failure = (struct failure){.error = -EACCES};
    test.failed += batch->changes[i].end == BATCH_FAILED;
}

static void *take_again_and_again(void *context)
{
    struct write_batch *batch = context;
    while (pending_take(test.pending, batch)) {
        begin_batch(batch);
        if (schedule_random(2) == 0)
            clock_system.sleep_ms(NULL, (int64_t)schedule_random(700));
        else
            schedule_step();
        bool is_again = schedule_random(3) == 0;
        test.out[row_of(batch->writes[0].position) == 3]--;
        if (is_again)
            batch->again = (struct failure){
                .error = -EIO, .is_unanswered = schedule_random(2), .is_ambiguous = true};
        for (size_t i = 0; i < batch->n; i++)
            end_change(batch, i, is_again);
        pending_end(test.pending, batch);
        SCHEDULE_CHECK(pending_is_consistent(test.pending));
    }
    return NULL;
}

static void drain(void)
{
    size_t kind = schedule_random(ARRAY_SIZE(ranges) + 1);
    struct range range = ranges[MIN(kind, ARRAY_SIZE(ranges) - 1)];
    struct call call = new_call();
    unsigned before[ROWS];
    for (size_t row = 0; row < ROWS; row++)
        before[row] = test.rows[row].acknowledged;
    const char *table = kind < ARRAY_SIZE(ranges) ? "T" : NULL;
    int r = pending_drain(test.pending, table, range, 0, &call);
    if (r < 0) {
        check_refused(&call);
        return;
    }
    if (pending_report(test.pending, REPORT_ALL, table, range, &call) > 0)
        SCHEDULE_CHECK(call.failure.error == -EACCES && test.failed > 0);
    for (size_t row = 0; row < ROWS; row++)
        SCHEDULE_CHECK(!range_holds(range, positions[row]) || test.rows[row].ended >= before[row]);
}

static void *drain_again_and_again(void *context)
{
    (void)context;
    for (int i = 0; i < ROUNDS; i++) {
        if (schedule_random(2) == 0)
            clock_system.sleep_ms(NULL, (int64_t)schedule_random(1500));
        drain();
    }
    return NULL;
}

static void count_abandoned(void *context, struct address address, const struct batched *change)
{
    (void)context;
    SCHEDULE_CHECK(change->failure.error < 0);
    test.rows[row_of(address.position)].ended++;
}

static void end_all(bool at_once)
{
    pending_close(test.pending);
    if (at_once)
        pending_stop(test.pending);
    else
        pending_wait_empty(test.pending, INT64_MAX);
    pending_stop(test.pending);
}

static void check_end(void)
{
    struct pending_stats stats;
    pending_abandon(test.pending, count_abandoned, NULL);
    pending_stats(test.pending, &stats);
    SCHEDULE_CHECK(stats.claims == 0 && stats.waiting == 0 && stats.queued == 0);
    SCHEDULE_CHECK(stats.queued_bytes == 0 && pending_partitions(test.pending) == 0);
    SCHEDULE_CHECK(stats.reserved == 0);
    SCHEDULE_CHECK(pending_is_consistent(test.pending));
    for (size_t row = 0; row < ROWS; row++)
        SCHEDULE_CHECK(test.rows[row].acknowledged == test.rows[row].ended);
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

static void body(void *context)
{
    static const uint64_t processes[HOLDERS] = {1, 1, 2};
    enum ending ending = *(enum ending *)context;
    struct pending_limits limits = {MAX_BYTES, BATCH, SIZE_MAX};
    pthread_t changers[CHANGERS], holders[HOLDERS], takers[TAKERS], writers[WRITERS], drainer;
    SCHEDULE_CHECK(pending_create(&limits, &clock_system, &test.pending) == 0);
    int count = 1 + (int)schedule_random(TAKERS);
    for (int i = 0; i < count; i++)
        SCHEDULE_CHECK(pthread_create(&takers[i], NULL, take_again_and_again, &test.batches[i]) ==
                       0);
    start(changers, CHANGERS, change_again_and_again);
    for (int i = 0; i < HOLDERS; i++)
        SCHEDULE_CHECK(
            pthread_create(&holders[i], NULL, hold_again_and_again, (void *)&processes[i]) == 0);
    start(&drainer, 1, drain_again_and_again);
    start(writers, WRITERS, write_again_and_again);
    join(changers, CHANGERS);
    join(holders, HOLDERS);
    join(&drainer, 1);
    join(writers, WRITERS);
    if (ending == END_BY_ITSELF)
        wait_for_holds();
    end_all(ending == END_AT_ONCE);
    join(takers, count);
    check_end();
    pending_destroy(test.pending);
}

static void run(uint64_t seed)
{
    struct schedule_outcome outcome;
    enum ending ending = seed % 5 == 0 ? END_AT_ONCE : seed % 5 == 1 ? END_BY_ITSELF : END_SOON;
    test = (struct test){0};
    schedule_run(&(struct schedule_options){.seed = seed, .is_time_free = seed % 2}, body, &ending,
                 &outcome);
}

int main(int argc, char **argv)
{
    return schedule_main(argc, argv, run);
}
