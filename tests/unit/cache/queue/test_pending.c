/* SPDX-License-Identifier: MIT */
#include "cache/queue/pending.h"
#include "tests/stores/pending_check.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/pending_limits.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define DEADLINE_MS INT64_C(60000)
#define THREADS     8

static _Atomic int64_t now_ms;

static int64_t turned_ms(void *context)
{
    (void)context;
    return now_ms;
}

static const struct clock turned = {.monotonic_ms = turned_ms};

static struct pending *new_pending(void)
{
    struct pending *pending;
    now_ms = 0;
    assert_int_equal(pending_create(&no_limits, &turned, &pending), 0);
    return pending;
}

static struct pending_stats stats_of(struct pending *pending)
{
    struct pending_stats stats;
    pending_stats(pending, &stats);
    return stats;
}

/* Nothing is left of what was claimed. */
static void end(struct pending *pending)
{
    assert_int_equal(stats_of(pending).claims, 0);
    assert_int_equal(stats_of(pending).waiting, 0);
    assert_true(pending_is_consistent(pending));
    pending_destroy(pending);
}

static int claim(struct pending *pending, const char *table, const char *position)
{
    struct call call = {.deadline_ms = DEADLINE_MS};
    struct bytes bytes = bytes_of(position);
    return pending_claim(pending, table, &bytes, 1, &call);
}

static void release(struct pending *pending, const char *table, const char *position)
{
    struct bytes bytes = bytes_of(position);
    pending_release(pending, table, &bytes, 1);
}

struct claimer { /* a thread that claims, and holds its claims until it is told to release them */
    pthread_t thread;
    struct pending *pending;
    struct bytes positions[3];
    size_t n;
    struct call call;
    int r;
    _Atomic bool is_done, may_release, is_cancelled;
};

static bool is_cancelled(void *context)
{
    return *(_Atomic bool *)context;
}

static void *claim_and_hold(void *argument)
{
    struct claimer *self = argument;
    self->r = pending_claim(self->pending, "T", self->positions, self->n, &self->call);
    self->is_done = true;
    while (!self->may_release)
        (void)sched_yield();
    if (self->r == 0)
        pending_release(self->pending, "T", self->positions, self->n);
    return NULL;
}

/* `positions` have one letter each. */
static void start_until(struct claimer *claimer, struct pending *pending, const char *positions,
                        int64_t deadline_ms)
{
    *claimer = (struct claimer){.pending = pending, .n = strlen(positions)};
    for (size_t i = 0; i < claimer->n; i++)
        claimer->positions[i] = (struct bytes){positions + i, 1};
    claimer->call = (struct call){.deadline_ms = deadline_ms,
                                  .is_cancelled = is_cancelled,
                                  .context = &claimer->is_cancelled};
    assert_int_equal(pthread_create(&claimer->thread, NULL, claim_and_hold, claimer), 0);
}

static void wait_for_waiting(struct pending *pending, size_t waiting)
{
    while (stats_of(pending).waiting != waiting)
        (void)sched_yield();
}

/* It waits for its claim. `waiting`: with those that waited before. */
static void start_waiting(struct claimer *claimer, struct pending *pending, const char *positions,
                          size_t waiting)
{
    start_until(claimer, pending, positions, DEADLINE_MS);
    wait_for_waiting(pending, waiting);
}

static void wait_until_done(const struct claimer *claimer)
{
    while (!claimer->is_done)
        (void)sched_yield();
}

static void finish(struct claimer *claimer)
{
    claimer->may_release = true;
    assert_int_equal(pthread_join(claimer->thread, NULL), 0);
}

static void a_position_is_claimed_once(void **state)
{
    (void)state;
    struct pending *pending = new_pending();
    struct claimer other;
    assert_int_equal(claim(pending, "T", "a"), 0);
    assert_int_equal(claim(pending, "T", "b"), 0);
    assert_int_equal(claim(pending, "U", "a"), 0);
    assert_int_equal(stats_of(pending).claims, 3);
    start_waiting(&other, pending, "a", 1);
    release(pending, "T", "b");
    release(pending, "U", "a");
    assert_int_equal(stats_of(pending).waiting, 1);
    assert_false(other.is_done);
    release(pending, "T", "a");
    wait_until_done(&other);
    assert_int_equal(other.r, 0);
    assert_int_equal(stats_of(pending).claims, 1);
    finish(&other);
    end(pending);
    pending_destroy(NULL);
}

DEFINE_OBJECT_FIXTURE(pending, new_pending(), end)

static void callers_get_a_position_in_the_order_in_which_they_came(void **state)
{
    struct pending *pending = *state;
    struct claimer claimers[THREADS];
    assert_int_equal(claim(pending, "T", "a"), 0);
    for (size_t i = 0; i < THREADS; i++)
        start_waiting(&claimers[i], pending, "a", i + 1);
    release(pending, "T", "a");
    for (size_t i = 0; i < THREADS; i++) {
        wait_until_done(&claimers[i]);
        assert_int_equal(claimers[i].r, 0);
        wait_for_waiting(pending, THREADS - 1 - i);
        for (size_t k = i + 1; k < THREADS; k++)
            assert_false(claimers[k].is_done);
        finish(&claimers[i]);
    }
}

static void a_cancelled_caller_claims_nothing(void **state)
{
    struct pending *pending = *state;
    struct claimer cancelled, next;
    assert_int_equal(claim(pending, "T", "b"), 0);
    start_waiting(&cancelled, pending, "abc", 1);
    assert_int_equal(stats_of(pending).claims, 2); /* it has a */
    start_waiting(&next, pending, "ab", 2);
    cancelled.is_cancelled = true;
    wait_until_done(&cancelled);
    assert_int_equal(cancelled.r, -EINTR);
    assert_int_equal(cancelled.call.failure.error, -EINTR);
    assert_string_equal(cancelled.call.failure.message, "interrupted");
    finish(&cancelled);
    wait_for_waiting(pending, 1);
    assert_int_equal(stats_of(pending).claims, 2); /* now next has a */
    release(pending, "T", "b");
    wait_until_done(&next);
    assert_int_equal(next.r, 0);
    finish(&next);
}

static void a_caller_waits_up_to_its_deadline(void **state)
{
    struct pending *pending = *state;
    struct claimer late, patient;
    assert_int_equal(claim(pending, "T", "a"), 0);
    start_waiting(&late, pending, "a", 1);
    start_until(&patient, pending, "a", 2 * DEADLINE_MS);
    wait_for_waiting(pending, 2);
    now_ms = DEADLINE_MS - 1;
    assert_true(pending_is_consistent(pending));
    now_ms = DEADLINE_MS;
    wait_until_done(&late);
    assert_int_equal(late.r, -ETIMEDOUT);
    assert_string_equal(late.call.failure.message,
                        "another change of the entity did not end in time");
    finish(&late);
    assert_false(patient.is_done);
    release(pending, "T", "a");
    wait_until_done(&patient);
    assert_int_equal(patient.r, 0);
    finish(&patient);
}

struct writer { /* a thread of the next test */
    pthread_t thread;
    struct pending *pending;
    int *texts; /* guarded by the claims alone */
    int id;
};

/* Two texts become what they were, plus one: any two of three, in either of two tables. */
static void *change_two(void *argument)
{
    static const char *const tables[] = {"T", "U"};
    struct writer *self = argument;
    for (int i = 0; i < 2000; i++) {
        int a = (i + self->id) % 3, b = (a + 1 + i % 2) % 3;
        char letters[] = {(char)('a' + MIN(a, b)), (char)('a' + MAX(a, b))};
        struct bytes positions[] = {{letters, 1}, {letters + 1, 1}};
        struct call call = {.deadline_ms = DEADLINE_MS};
        const char *table = tables[i % 2];
        int *texts = i % 2 ? self->texts + 3 : self->texts;
        assert_int_equal(pending_claim(self->pending, table, positions, 2, &call), 0);
        texts[a]++;
        texts[b]++;
        pending_release(self->pending, table, positions, 2);
    }
    return NULL;
}

static void threads_change_two_positions_at_once(void **state)
{
    (void)state;
    struct pending *pending = new_pending();
    int texts[6] = {0}, sum = 0;
    struct writer writers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        writers[i] = (struct writer){.pending = pending, .texts = texts, .id = i};
        assert_int_equal(pthread_create(&writers[i].thread, NULL, change_two, &writers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_true(pending_is_consistent(pending));
        assert_int_equal(pthread_join(writers[i].thread, NULL), 0);
    }
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        sum += texts[i];
    assert_int_equal(sum, THREADS * 2000 * 2);
    end(pending);
}

/* All masked positions of the range, a blank after each. */
static void assert_gone(struct pending *pending, const char *table, struct range range,
                        const char *expected)
{
    _cleanup_(buffer_finish) struct buffer shown;
    struct position position, lo;
    struct entity row;
    enum overlaid overlaid;
    buffer_init(&shown, 1000);
    while ((overlaid = pending_next(pending, table, range, &row, &position)) == OVERLAID_GONE) {
        (void)buffer_append(&shown, position_bytes(&position));
        (void)buffer_append_char(&shown, ' ');
        range.lo = position_behind(position_bytes(&position), &lo);
    }
    assert_int_equal(overlaid, OVERLAID_NOT);
    assert_string_equal(buffer_string(&shown), expected);
}

/* expected NULL: it is not masked */
static void assert_mask(struct pending *pending, const char *table, const char *position,
                        const char *expected)
{
    struct etag etag;
    etag_set(&etag, B("what was there before"));
    assert_int_equal(pending_masked(pending, table, bytes_of(position), &etag), expected != NULL);
    assert_bytes(etag_bytes(&etag), bytes_of(expected ? expected : ""));
}

static void mask(struct pending *pending, const char *table, const char *position, const char *etag)
{
    assert_int_equal(pending_mask(pending, table, bytes_of(position), bytes_of(etag)), 0);
}

static void a_masked_position_is_gone(void **state)
{
    (void)state;
    struct pending *pending = new_pending();
    assert_gone(pending, "T", RANGE_ALL, "");
    mask(pending, "T", "b", "one");
    mask(pending, "T", "d", "two");
    mask(pending, "T", "a", "three");
    mask(pending, "Tt", "c", "four");
    assert_int_equal(stats_of(pending).masks, 4);
    assert_gone(pending, "T", RANGE_ALL, "a b d ");
    assert_gone(pending, "T", (struct range){B("b"), B("d")}, "b ");
    assert_gone(pending, "T", (struct range){B("b\x01"), B("d\x01")}, "d ");
    assert_gone(pending, "T", (struct range){B("d\x01"), B("z")}, "");
    assert_gone(pending, "Tt", RANGE_ALL, "c ");
    assert_gone(pending, "S", RANGE_ALL, "");
    assert_gone(pending, NULL, RANGE_ALL, "");
    assert_mask(pending, "T", "b", "one");
    assert_mask(pending, "T", "c", NULL);
    mask(pending, "T", "b", "five"); /* in place of the first */
    assert_mask(pending, "T", "b", "five");
    pending_unmask(pending, "T", B("b"));
    pending_unmask(pending, "T", B("b"));
    pending_unmask(pending, "T", B("x"));
    assert_mask(pending, "T", "b", NULL);
    assert_gone(pending, "T", RANGE_ALL, "a d ");
    assert_int_equal(stats_of(pending).masks, 3);
    end(pending); /* with its masks */
}

static void a_dropped_table_is_masked_by_its_name(void **state)
{
    struct pending *pending = *state;
    mask(pending, NULL, "Orders", "");
    assert_gone(pending, NULL, RANGE_ALL, "Orders ");
    assert_gone(pending, "Orders", RANGE_ALL, "");
    assert_mask(pending, NULL, "Orders", "");
    assert_mask(pending, NULL, "Order", NULL);
    pending_unmask(pending, NULL, B("Orders"));
    assert_gone(pending, NULL, RANGE_ALL, "");
    mask(pending, NULL, "Orders", "2");
    pending_unmask_version(pending, NULL, B("Orders"), B("1")); /* an earlier drop */
    assert_mask(pending, NULL, "Orders", "2");
    pending_unmask_version(pending, NULL, B("Orders"), B("2"));
    pending_unmask_version(pending, NULL, B("Orders"), B("2"));
    assert_gone(pending, NULL, RANGE_ALL, "");
}

static void of_many_dropped_tables_the_last_are_masked(void **state)
{
    struct pending *pending = *state;
    char name[16];
    mask(pending, "T", "a", "entity");
    for (int i = 0; i < PENDING_TABLES_MAX; i++) {
        (void)snprintf(name, sizeof(name), "T%05d", i);
        mask(pending, NULL, name, "1");
    }
    mask(pending, NULL, "T00000", "2"); /* again: it is the last */
    mask(pending, NULL, "Z", "1");
    assert_int_equal(stats_of(pending).masks, PENDING_TABLES_MAX + 1);
    assert_mask(pending, NULL, "T00000", "2");
    assert_mask(pending, NULL, "T00001", NULL);
    assert_mask(pending, NULL, "T00002", "1");
    assert_mask(pending, "T", "a", "entity");
}

/* The new version of a masked entity is stored under a claim. */
static void masks_and_claims_do_not_touch_each_other(void **state)
{
    struct pending *pending = *state;
    mask(pending, "T", "b", "one");
    assert_int_equal(claim(pending, "T", "a"), 0);
    assert_int_equal(claim(pending, "T", "b"), 0);
    assert_gone(pending, "T", RANGE_ALL, "b "); /* a claim is nothing to readers */
    release(pending, "T", "b");
    assert_mask(pending, "T", "b", "one");
    assert_int_equal(claim(pending, "T", "b"), 0);
    pending_unmask(pending, "T", B("b"));
    assert_int_equal(stats_of(pending).claims, 2);
    mask(pending, "T", "a", "two");
    release(pending, "T", "b");
    release(pending, "T", "a");
    assert_gone(pending, "T", RANGE_ALL, "a ");
    assert_true(pending_is_consistent(pending));
    pending_unmask(pending, "T", B("a"));
}

static void without_memory_nothing_changes(void **state)
{
    (void)state;
    struct pending *pending = NULL;
    struct call call = {.deadline_ms = DEADLINE_MS};
    const struct bytes positions[] = {B("a"), B("b")};
    allocations_until_failure = 1;
    assert_int_equal(pending_create(&no_limits, &turned, &pending), -ENOMEM);
    assert_null(pending);
    pending = new_pending();
    for (int failing = 1; failing <= 2; failing++) {
        allocations_until_failure = failing;
        assert_int_equal(pending_claim(pending, "T", positions, 2, &call), -ENOMEM);
        assert_int_equal(call.failure.error, -ENOMEM);
        assert_int_equal(stats_of(pending).claims, 0);
    }
    mask(pending, "T", "a", "one");
    for (int failing = 1; failing <= 2; failing++) {
        allocations_until_failure = failing;
        assert_int_equal(pending_mask(pending, "T", B("b"), B("two")), -ENOMEM);
        assert_gone(pending, "T", RANGE_ALL, "a ");
    }
    allocations_until_failure = 1;
    assert_int_equal(pending_mask(pending, "T", B("a"), B("a longer one")), -ENOMEM);
    assert_mask(pending, "T", "a", "one");
    end(pending);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_position_is_claimed_once),
        TEST_WITH(pending, callers_get_a_position_in_the_order_in_which_they_came),
        TEST_WITH(pending, a_cancelled_caller_claims_nothing),
        TEST_WITH(pending, a_caller_waits_up_to_its_deadline),
        cmocka_unit_test(threads_change_two_positions_at_once),
        cmocka_unit_test(a_masked_position_is_gone),
        TEST_WITH(pending, a_dropped_table_is_masked_by_its_name),
        TEST_WITH(pending, of_many_dropped_tables_the_last_are_masked),
        TEST_WITH(pending, masks_and_claims_do_not_touch_each_other),
        cmocka_unit_test(without_memory_nothing_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
