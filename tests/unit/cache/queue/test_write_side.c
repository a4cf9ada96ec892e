/* SPDX-License-Identifier: MIT */
/* Claims of entities and of their table. */
#include "cache/queue/write_side.h"
#include "tests/stores/pending_check.h"
#include "tests/unit/fetching.h"

#define ROW ((struct address){"t", B("p\0r")})

struct setup {
    struct fetching fetching;
    struct write_side side;
    _Atomic bool has_claim;
};

static void set_up(struct setup *setup)
{
    *setup = (struct setup){0};
    fetching_set_up(&setup->fetching, (struct fetching_options){0});
    struct committer_source source = {.store = setup->fetching.store,
                                      .cache = setup->fetching.cache,
                                      .fetcher = setup->fetching.fetcher,
                                      .clock = &setup->fetching.clock,
                                      .orders = &setup->fetching.orders};
    struct batch_committer queued = {.clock = &setup->fetching.clock};
    assert_int_equal(write_side_init(&setup->side, &source, &queued, 1 << 20), 0);
}

static void tear_down(struct setup *setup)
{
    write_side_finish(&setup->side);
    fetching_tear_down(&setup->fetching);
}

static void *claim_row(void *argument)
{
    struct setup *setup = argument;
    struct caller caller = fetching_caller(&setup->fetching);
    assert_int_equal(write_side_claim(&setup->side, ROW, &caller.call), 0);
    atomic_store(&setup->has_claim, true);
    return NULL;
}

static size_t waiting(struct setup *setup)
{
    struct pending_stats stats;
    pending_stats(setup->side.pending, &stats);
    return stats.waiting;
}

DEFINE_FIXTURE(write_side, struct setup, set_up(test), tear_down(test))

static void a_change_waits_while_its_table_is_claimed(void **state)
{
    struct setup *setup = *state;
    pthread_t thread;
    struct caller caller = fetching_caller(&setup->fetching);
    assert_int_equal(write_side_claim_table(&setup->side, "t", &caller.call), 0);
    assert_int_equal(pthread_create(&thread, NULL, claim_row, setup), 0);
    while (waiting(setup) == 0)
        (void)usleep(500);
    assert_false(atomic_load(&setup->has_claim));
    assert_false(
        pending_is_changing_in(setup->side.pending, "t")); /* it waits without the position */
    struct address other = {"other", ROW.position};
    assert_int_equal(write_side_claim(&setup->side, other, &caller.call), 0);
    assert_false(pending_is_changing_in(setup->side.pending, "t"));
    assert_true(pending_is_changing_in(setup->side.pending, "other"));
    write_side_release(&setup->side, other);
    write_side_release_table(&setup->side, "t");
    (void)pthread_join(thread, NULL);
    assert_true(pending_is_changing_in(setup->side.pending, "t"));
    write_side_release(&setup->side, ROW);
    assert_false(pending_is_changing_in(setup->side.pending, "t"));
    assert_true(pending_is_consistent(setup->side.pending));
}

static void a_change_that_waits_in_vain_has_no_claim(void **state)
{
    struct setup *setup = *state;
    struct caller caller = fetching_caller(&setup->fetching);
    assert_int_equal(write_side_claim_table(&setup->side, "t", &caller.call), 0);
    caller.call.deadline_ms = setup->fetching.now_ms;
    assert_int_equal(write_side_claim(&setup->side, ROW, &caller.call), -ETIMEDOUT);
    assert_false(pending_is_changing_in(setup->side.pending, "t"));
    write_side_release_table(&setup->side, "t");
}

/* Of a thread that claims the row and one that claims the table, never do both think that they are
 * alone. */
#define TURNS 3000

static _Atomic int rows_at_work, tables_at_work;

static void *change_rows(void *argument)
{
    struct setup *setup = argument;
    for (int i = 0; i < TURNS; i++) {
        struct caller caller = fetching_caller(&setup->fetching);
        assert_int_equal(write_side_claim(&setup->side, ROW, &caller.call), 0);
        rows_at_work++;
        assert_int_equal(tables_at_work, 0);
        rows_at_work--;
        write_side_release(&setup->side, ROW);
    }
    return NULL;
}

static void a_table_and_its_entities_exclude_each_other(void **state)
{
    struct setup *setup = *state;
    pthread_t threads[2];
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, change_rows, setup), 0);
    for (int i = 0; i < TURNS; i++) {
        struct caller caller = fetching_caller(&setup->fetching);
        assert_int_equal(write_side_claim_table(&setup->side, "t", &caller.call), 0);
        if (!pending_is_changing_in(setup->side.pending, "t")) {
            tables_at_work++;
            assert_int_equal(rows_at_work, 0);
            tables_at_work--;
        }
        write_side_release_table(&setup->side, "t");
    }
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        (void)pthread_join(threads[i], NULL);
}

static _Atomic int renaming;

static void *claim_both(void *argument)
{
    static const struct address rows[] = {
        {"t", BYTES_LITERAL("p\0r")}, {"u", BYTES_LITERAL("a\0r")}, {"t", BYTES_LITERAL("p\0s")}};
    struct setup *setup = argument;
    int first = atomic_fetch_add(&renaming, 1);
    for (int i = 0; i < TURNS; i++) {
        struct caller caller = fetching_caller(&setup->fetching);
        struct address a = rows[(i + first) % 3], b = rows[(i + 1 + i % 2 + first) % 3];
        assert_int_equal(write_side_claim_both(&setup->side, a, b, &caller.call), 0);
        assert_true(pending_is_changing(setup->side.pending, a.table, a.position));
        assert_true(pending_is_changing(setup->side.pending, b.table, b.position));
        write_side_release(&setup->side, a);
        write_side_release(&setup->side, b);
    }
    return NULL;
}

static void renames_in_both_directions_do_not_wait_for_each_other(void **state)
{
    struct setup *setup = *state;
    pthread_t threads[3];
    renaming = 0;
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, claim_both, setup), 0);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        (void)pthread_join(threads[i], NULL);
    assert_true(pending_is_consistent(setup->side.pending));
}

static void both_or_none_is_claimed(void **state)
{
    struct setup *setup = *state;
    struct address first = {"a", ROW.position};
    struct caller caller = fetching_caller(&setup->fetching);
    assert_int_equal(write_side_claim(&setup->side, ROW, &caller.call), 0);
    caller.call.deadline_ms = setup->fetching.now_ms;
    assert_int_equal(write_side_claim_both(&setup->side, ROW, first, &caller.call), -ETIMEDOUT);
    assert_false(pending_is_changing_in(setup->side.pending, "a"));
    write_side_release(&setup->side, ROW);
    assert_int_equal(write_side_claim_table(&setup->side, "t", &caller.call), 0);
    assert_int_equal(write_side_claim_both(&setup->side, first, ROW, &caller.call), -ETIMEDOUT);
    assert_false(pending_is_changing_in(setup->side.pending, "a"));
    write_side_release_table(&setup->side, "t");
    assert_int_equal(write_side_claim_both(&setup->side, first, ROW, &caller.call), 0);
    write_side_release(&setup->side, ROW);
    write_side_release(&setup->side, first);
    assert_true(pending_is_consistent(setup->side.pending));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(write_side, a_change_waits_while_its_table_is_claimed),
        TEST_WITH(write_side, a_change_that_waits_in_vain_has_no_claim),
        TEST_WITH(write_side, renames_in_both_directions_do_not_wait_for_each_other),
        TEST_WITH(write_side, both_or_none_is_claimed),
        TEST_WITH(write_side, a_table_and_its_entities_exclude_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
