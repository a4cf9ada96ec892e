/* SPDX-License-Identifier: MIT */
#include "cache/write/confirmed_drops.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/threads.h"

#define DROP 7 /* a process */
#define RM   8

static struct confirmed_drops *new_drops(void)
{
    struct confirmed_drops *drops;
    assert_int_equal(confirmed_drops_create(&drops), 0);
    return drops;
}

static void a_confirmation_is_of_one_process_and_one_table(void **state)
{
    (void)state;
    struct confirmed_drops *drops = new_drops();
    assert_true(confirmed_drops_add(drops, DROP, "table", 0));
    assert_false(confirmed_drops_take(drops, RM, "table", 0));
    assert_false(confirmed_drops_take(drops, DROP, "tables", 0));
    assert_false(confirmed_drops_take(drops, DROP, "Table", 0));
    assert_true(confirmed_drops_take(drops, DROP, "table", 0));
    confirmed_drops_destroy(drops);
    confirmed_drops_destroy(NULL);
}

static void it_counts_once(void **state)
{
    (void)state;
    struct confirmed_drops *drops = new_drops();
    assert_true(confirmed_drops_add(drops, DROP, "table", 0));
    assert_true(confirmed_drops_add(drops, DROP, "table", 0)); /* still one */
    assert_true(confirmed_drops_add(drops, DROP, "other", 0));
    assert_true(confirmed_drops_take(drops, DROP, "table", 0));
    assert_false(confirmed_drops_take(drops, DROP, "table", 0));
    assert_true(confirmed_drops_take(drops, DROP, "other", 0));
    assert_false(confirmed_drops_take(drops, DROP, "other", 0));
    confirmed_drops_destroy(drops);
}

static void it_ends_after_30_s(void **state)
{
    (void)state;
    struct confirmed_drops *drops = new_drops();
    assert_true(confirmed_drops_add(drops, DROP, "table", 1000));
    assert_true(confirmed_drops_take(drops, DROP, "table", 1000 + CONFIRMED_DROPS_MS - 1));
    assert_true(confirmed_drops_add(drops, DROP, "table", 1000));
    assert_false(confirmed_drops_take(drops, DROP, "table", 1000 + CONFIRMED_DROPS_MS));
    assert_true(confirmed_drops_add(drops, DROP, "table", 1000));
    assert_true(confirmed_drops_add(drops, DROP, "table", 2000)); /* it begins again */
    assert_true(confirmed_drops_take(drops, DROP, "table", 1000 + CONFIRMED_DROPS_MS));
    confirmed_drops_destroy(drops);
}

static void the_oldest_of_17_is_forgotten(void **state)
{
    (void)state;
    struct confirmed_drops *drops = new_drops();
    for (uint64_t process = 1; process <= CONFIRMED_DROPS_SIZE + 1; process++)
        assert_true(confirmed_drops_add(drops, process, "table", 0));
    assert_false(confirmed_drops_take(drops, 1, "table", 0));
    for (uint64_t process = 2; process <= CONFIRMED_DROPS_SIZE + 1; process++)
        assert_true(confirmed_drops_take(drops, process, "table", 0));
    confirmed_drops_destroy(drops);
}

static void one_that_is_used_up_makes_room(void **state)
{
    (void)state;
    struct confirmed_drops *drops = new_drops();
    assert_true(confirmed_drops_add(drops, DROP, "table", 0));
    for (int i = 0; i < 2 * CONFIRMED_DROPS_SIZE; i++) {
        assert_true(confirmed_drops_add(drops, RM, "table", i));
        assert_true(confirmed_drops_take(drops, RM, "table", i));
    }
    assert_true(confirmed_drops_take(drops, DROP, "table", 0));
    confirmed_drops_destroy(drops);
}

static void an_unknown_process_is_not_remembered(void **state)
{
    (void)state;
    struct confirmed_drops *drops = new_drops();
    assert_false(confirmed_drops_add(drops, 0, "table", 0));
    assert_false(confirmed_drops_take(drops, 0, "table", 0));
    assert_false(confirmed_drops_take(drops, 0, "", 0)); /* as a free place has it */
    confirmed_drops_destroy(drops);
}

static void a_name_has_at_most_63_bytes(void **state)
{
    (void)state;
    struct confirmed_drops *drops = new_drops();
    char name[65];
    memset(name, 't', sizeof(name));
    name[64] = '\0';
    assert_false(confirmed_drops_add(drops, DROP, name, 0));
    name[63] = '\0';
    assert_true(confirmed_drops_add(drops, DROP, name, 0));
    assert_true(confirmed_drops_take(drops, DROP, name, 0));
    confirmed_drops_destroy(drops);
}

static void *confirm_and_take(void *argument)
{
    struct confirmed_drops **drops = argument;
    static _Atomic uint64_t last_process;
    uint64_t process = ++last_process;
    for (int i = 0; i < 1000; i++) {
        assert_true(confirmed_drops_add(*drops, process, "table", i));
        assert_true(confirmed_drops_take(*drops, process, "table", i));
    }
    return NULL;
}

static void threads_have_their_own(void **state)
{
    (void)state;
    struct confirmed_drops *drops = new_drops();
    run_in_threads(2, confirm_and_take, (void *)&drops, 0);
    confirmed_drops_destroy(drops);
}

static void without_memory_there_is_none(void **state)
{
    (void)state;
    struct confirmed_drops *drops = NULL;
    allocations_until_failure = 1;
    assert_int_equal(confirmed_drops_create(&drops), -ENOMEM);
    assert_null(drops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_confirmation_is_of_one_process_and_one_table),
        cmocka_unit_test(it_counts_once),
        cmocka_unit_test(it_ends_after_30_s),
        cmocka_unit_test(the_oldest_of_17_is_forgotten),
        cmocka_unit_test(one_that_is_used_up_makes_room),
        cmocka_unit_test(an_unknown_process_is_not_remembered),
        cmocka_unit_test(a_name_has_at_most_63_bytes),
        cmocka_unit_test(threads_have_their_own),
        cmocka_unit_test(without_memory_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
