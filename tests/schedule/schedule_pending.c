/* SPDX-License-Identifier: MIT */
/* Claims and masks in every order: schedule_pending [SEED [COUNT]].
 *
 * Threads claim up to three positions of one of two tables, some of them both tables, change what
 * the claims guard, and release them. In half of the runs some callers are cancelled or have a
 * deadline, and time may pass at any moment. In the other half no caller gives up, and no time may
 * pass: then no thread was left waiting for a wakeup that was lost. */
#include "cache/queue/pending.h"
#include "tests/schedule/schedule.h"
#include "tests/stores/pending_check.h"
#include "tests/unit/pending_limits.h"

#include <pthread.h>

#define THREADS   4
#define ROUNDS    3
#define POSITIONS 3
#define TABLES    2

static const char *const tables[TABLES] = {"T", "U"};
static const struct bytes all_positions[POSITIONS] = {BYTES_LITERAL("a"), BYTES_LITERAL("b"),
                                                      BYTES_LITERAL("c")};

struct test;

struct claimer {
    struct test *test;
    pthread_t thread;
    bool is_cancelled;
    unsigned claimed[TABLES]; /* a bit for each position */
};

struct test {
    struct pending *pending;
    bool may_give_up;
    struct claimer claimers[THREADS];
    const struct claimer *owners[TABLES][POSITIONS]; /* of what is claimed */
    int changes, given_up;
};

static bool is_cancelled(void *context)
{
    return ((struct claimer *)context)->is_cancelled;
}

static struct call call_of(struct claimer *claimer)
{
    int64_t patience_ms = claimer->test->may_give_up && schedule_random(3) == 0 ? 100 : 1000000;
    return (struct call){.deadline_ms = clock_now_ms(&clock_system) + patience_ms,
                         .is_cancelled = is_cancelled,
                         .context = claimer};
}

static size_t positions_of(unsigned set, struct bytes ret[POSITIONS])
{
    size_t n = 0;
    for (unsigned i = 0; i < POSITIONS; i++)
        if (set & 1U << i)
            ret[n++] = all_positions[i];
    return n;
}

/* False: it gave up. */
static bool claim(struct claimer *claimer, int table, unsigned set)
{
    struct test *test = claimer->test;
    struct bytes positions[POSITIONS];
    struct call call = call_of(claimer);
    size_t n = positions_of(set, positions);
    int r = pending_claim(test->pending, tables[table], positions, n, &call);
    SCHEDULE_CHECK(r == call.failure.error);
    SCHEDULE_CHECK(r == 0 || (test->may_give_up && (r == -EINTR || r == -ETIMEDOUT)));
    if (r < 0) {
        test->given_up++;
        claimer->is_cancelled = false;
        return false;
    }
    claimer->claimed[table] = set;
    for (unsigned i = 0; i < POSITIONS; i++) {
        if (!(set & 1U << i))
            continue;
        SCHEDULE_CHECK(!test->owners[table][i]);
        test->owners[table][i] = claimer;
    }
    return true;
}

static void release(struct claimer *claimer, int table)
{
    struct test *test = claimer->test;
    struct bytes positions[POSITIONS];
    unsigned set = claimer->claimed[table];
    for (unsigned i = 0; i < POSITIONS; i++) {
        if (!(set & 1U << i))
            continue;
        SCHEDULE_CHECK(test->owners[table][i] == claimer);
        test->owners[table][i] = NULL;
    }
    claimer->claimed[table] = 0;
    pending_release(test->pending, tables[table], positions, positions_of(set, positions));
}

/* Under its claims: what takes time, and what others do meanwhile. */
static void change(struct claimer *claimer)
{
    struct test *test = claimer->test;
    schedule_step();
    if (test->may_give_up && schedule_random(2) == 0)
        test->claimers[schedule_random(THREADS)].is_cancelled = true;
    if (test->may_give_up && schedule_random(4) == 0)
        clock_system.sleep_ms(NULL, (int64_t)schedule_random(200));
    SCHEDULE_CHECK(pending_is_consistent(test->pending));
    test->changes++;
}

static void *claim_again_and_again(void *context)
{
    struct claimer *claimer = context;
    for (int i = 0; i < ROUNDS; i++) {
        int first = (int)schedule_random(TABLES), last = schedule_random(3) ? first : TABLES - 1;
        int table = first;
        while (table <= last && claim(claimer, table, 1 + (unsigned)schedule_random(7)))
            table++;
        if (table > last)
            change(claimer);
        while (table-- > first)
            release(claimer, table);
    }
    return NULL;
}

/* A reader beside them: what is masked is gone, and nothing else is. */
static void mask_and_look(struct pending *pending)
{
    struct position found;
    struct etag etag;
    struct entity row;
    for (int i = 0; i < ROUNDS; i++) {
        SCHEDULE_CHECK(pending_next(pending, "T", RANGE_ALL, &row, &found) == OVERLAID_NOT);
        SCHEDULE_CHECK(pending_mask(pending, "T", all_positions[i], BYTES_LITERAL("etag")) == 0);
        SCHEDULE_CHECK(pending_next(pending, "T", RANGE_ALL, &row, &found) == OVERLAID_GONE);
        SCHEDULE_CHECK(bytes_equal(position_bytes(&found), all_positions[i]));
        SCHEDULE_CHECK(pending_masked(pending, "T", all_positions[i], &etag));
        SCHEDULE_CHECK(bytes_equal(etag_bytes(&etag), BYTES_LITERAL("etag")));
        pending_unmask(pending, "T", all_positions[i]);
    }
}

static void body(void *context)
{
    struct test *test = context;
    struct pending_stats stats;
    SCHEDULE_CHECK(pending_create(&no_limits, &clock_system, &test->pending) == 0);
    for (int i = 0; i < THREADS; i++) {
        struct claimer *claimer = &test->claimers[i];
        claimer->test = test;
        SCHEDULE_CHECK(pthread_create(&claimer->thread, NULL, claim_again_and_again, claimer) == 0);
    }
    mask_and_look(test->pending);
    for (int i = 0; i < THREADS; i++)
        SCHEDULE_CHECK(pthread_join(test->claimers[i].thread, NULL) == 0);
    pending_stats(test->pending, &stats);
    SCHEDULE_CHECK(stats.claims == 0 && stats.waiting == 0 && stats.masks == 0);
    SCHEDULE_CHECK(pending_is_consistent(test->pending));
    SCHEDULE_CHECK(test->changes + test->given_up == THREADS * ROUNDS);
    pending_destroy(test->pending);
}

static void run(uint64_t seed)
{
    struct test test = {.may_give_up = seed % 2};
    struct schedule_outcome outcome;
    schedule_run(&(struct schedule_options){.seed = seed, .is_time_free = test.may_give_up}, body,
                 &test, &outcome);
    if (!test.may_give_up && outcome.elapsed_ms > 0)
        schedule_fail("a thread waited until time passed");
}

int main(int argc, char **argv)
{
    return schedule_main(argc, argv, run);
}
