/* SPDX-License-Identifier: MIT */
/* A look at a table that does not come to its end: it fails, takes too long, or is interrupted. */
#include "tests/unit/cache/change/looking.h"

static int refuse(struct memory_store *memory, size_t number, struct call *call)
{
    (void)memory;
    return number == setup.before ? call_fail(call, -EACCES, "refused") : 0;
}

static void a_page_that_fails(void **state)
{
    (void)state;
    for (size_t number = 1; number <= 2; number++) {
        set_up(1);
        add_removed(3, 1000);
        setup.before = number;
        setup.parts.memory->fault = refuse;
        assert_look(-EACCES, number);
        assert_string_equal(setup.caller.call.failure.message, "refused");
        assert_look(TABLE_REMOVED, 3);
        tear_down();
    }
}

static void assert_late(int r)
{
    const struct failure *failure = &setup.caller.call.failure;
    assert_int_equal(r, -EBUSY);
    assert_string_equal(failure->message,
                        "the entities of the table could not be compared in time");
    assert_string_equal(
        failure->advice,
        "what the program has deleted there is sent: try again, or use `tablefuse drop DIR/TABLE`");
}

static int take_time(struct memory_store *memory, size_t number, struct call *call)
{
    (void)memory;
    (void)number;
    (void)call;
    setup.parts.now_ms += setup.page_ms;
    return 0;
}

/* Though every page puts the caller's own deadline off. */
static void pages_do_not_put_the_deadline_off(void **state)
{
    (void)state;
    set_up(1);
    add_removed(3, 1000);
    setup.page_ms = LOOK_MS / 2;
    setup.parts.memory->fault = take_time;
    assert_late(look());
    (void)gate_store_settle(setup.parts.gate); /* a page may still be asked for */
    setup.page_ms = LOOK_MS / 4;
    assert_int_equal(look(), TABLE_REMOVED);
    setup.caller = *parts_caller(&setup.parts);
    size_t asked = parts_asked(&setup.parts);
    assert_late(look_until(setup.parts.now_ms)); /* it has passed: nothing is sent */
    assert_int_equal(parts_asked(&setup.parts), asked);
    tear_down();
}

/* While a request is kept at the gate. */
static bool let_a_second_pass(void *context)
{
    (void)context;
    if (gate_store_arrived(setup.parts.gate) > setup.before)
        setup.parts.now_ms += 1000;
    return false;
}

/* From the first, second or third page on. It is the reason, and not the number of rows. */
static void a_service_that_falls_silent(void **state)
{
    (void)state;
    static const char message[] = "the service did not answer for ";
    const struct failure *failure = &setup.caller.call.failure;
    for (size_t pages = 0; pages <= 2; pages++) {
        set_up(1);
        add_removed(3, 1000);
        setup.before = pages;
        gate_store_let(setup.parts.gate, pages);
        setup.caller = *parts_caller(&setup.parts);
        setup.caller.end_ms = setup.parts.now_ms + 2 * LOOK_MS;
        setup.caller.call.is_cancelled = let_a_second_pass;
        assert_int_equal(look_until(setup.parts.now_ms + LOOK_MS), -ETIMEDOUT);
        assert_memory_equal(failure->message, message, sizeof(message) - 1);
        assert_ptr_equal(failure->advice, call_advice_late);
        gate_store_let(setup.parts.gate, GATE_OPEN);
        assert_int_equal(look(), TABLE_REMOVED);
        tear_down();
    }
}

static bool let_ten_seconds_pass(void *context)
{
    (void)context;
    setup.parts.now_ms += 10000;
    return false;
}

static void an_answer_that_does_not_come(void **state)
{
    (void)state;
    set_up(1);
    add_removed(1, 1);
    gate_store_let(setup.parts.gate, 0);
    setup.caller = *parts_caller(&setup.parts);
    setup.caller.call.is_cancelled = let_ten_seconds_pass;
    assert_int_equal(look_until(setup.parts.now_ms + LOOK_MS), -ETIMEDOUT);
    assert_ptr_equal(setup.caller.call.failure.advice, call_advice_late);
    gate_store_let(setup.parts.gate, 1);
    /* the caller's patience ends before */
    setup.caller = *parts_caller(&setup.parts);
    setup.caller.call.is_cancelled = let_ten_seconds_pass;
    assert_int_equal(look_until(setup.parts.now_ms + INT64_C(10) * PATIENCE_MS), -ETIMEDOUT);
    assert_ptr_equal(setup.caller.call.failure.advice, call_advice_late);
    gate_store_let(setup.parts.gate, GATE_OPEN);
    tear_down();
}

static bool is_interrupted(void *context)
{
    (void)context;
    return true;
}

static void an_interrupted_look(void **state)
{
    (void)state;
    set_up(1);
    add_removed(1, 1);
    gate_store_let(setup.parts.gate, 0);
    setup.caller = *parts_caller(&setup.parts);
    setup.caller.call.is_cancelled = is_interrupted;
    assert_int_equal(look_until(setup.parts.now_ms + LOOK_MS), -EINTR);
    gate_store_let(setup.parts.gate, GATE_OPEN);
    tear_down();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_that_fails),
        cmocka_unit_test(pages_do_not_put_the_deadline_off),
        cmocka_unit_test(a_service_that_falls_silent),
        cmocka_unit_test(an_answer_that_does_not_come),
        cmocka_unit_test(an_interrupted_look),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
