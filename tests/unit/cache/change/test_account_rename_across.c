/* SPDX-License-Identifier: MIT */
/* A rename to another partition: it is stored there, and then deleted. Whichever request fails, the
 * entity is somewhere. */
#include "tests/unit/cache/change/account_renaming.h"

#define Z B("q\0z")
/* The canonical text of z with one property. */
#define Z_OF(value) "{\n  \"PartitionKey\": \"q\",\n  \"RowKey\": \"z\",\n  \"a\": " value "\n}\n"
#define BOTH_EXIST                                                                                 \
    "it is stored under the new name, and under the old one, too: compare both, and delete one"

/* z is 9 if there is one. */
static void set_up_names(struct setup *setup, const char *faults, bool has_z)
{
    set_up_both(setup, (struct setup_options){.faults = faults}, Z, has_z ? Z_OF("9") : NULL);
}

static void it_is_stored_then_deleted(void **state)
{
    (void)state;
    static const enum edit_begin begins[] = {EDIT_NEW, EDIT_EXCLUSIVE, EDIT_OVER};
    for (size_t i = 0; i < ARRAY_SIZE(begins); i++) {
        struct setup setup;
        set_up_names(&setup, NULL, begins[i] == EDIT_OVER);
        assert_int_equal(rename_to(&setup, A, Z, begins[i], Z_OF("1")), 0);
        assert_requests(&setup, "write q/z, write p/a");
        assert_both(&setup, NULL, Z, Z_OF("1"));
        tear_down(&setup);
    }
}

static void to_another_table(void **state)
{
    (void)state;
    struct setup setup;
    struct renamed renamed;
    set_up_names(&setup, NULL, false);
    setup.memory->checks_tables = true;
    struct rename rename = {.from = address_of(A), .to = {"u", Z}, .path = PATH};
    assert_int_equal(account_rename(setup.account, caller_of(&setup), &rename, &renamed), -ENOENT);
    assert_found(&setup, A, A_1);
    memory_store_forget_diary(setup.memory);
    memory_store_add_table(setup.memory, "u");
    assert_int_equal(account_rename(setup.account, caller_of(&setup), &rename, &renamed), 0);
    assert_requests(&setup, "write q/z, write p/a");
    renamed_finish(&renamed);
    tear_down(&setup);
}

static void another_version_is_copied_again(void **state)
{
    (void)state;
    for (size_t number = 1; number <= 2; number++) {
        struct setup setup;
        set_up_names(&setup, NULL, false);
        other.position = A;
        other.text = A_2;
        other.number = number;
        setup.memory->fault = change_before;
        assert_int_equal(rename_to(&setup, A, Z, EDIT_NEW, Z_OF("2")), 0);
        assert_requests(&setup, "write q/z, write p/a, get p/a, write q/z, write p/a");
        setup.memory->fault = NULL;
        assert_both(&setup, NULL, Z, Z_OF("2"));
        tear_down(&setup);
    }
}

/* Of two that rename one entity, one is told that it has it. */
static void an_entity_that_another_client_removed_is_reported(void **state)
{
    (void)state;
    struct setup setup;
    set_up_names(&setup, NULL, false);
    other.position = A;
    other.text = NULL;
    other.number = 2;
    setup.memory->fault = change_before;
    assert_int_equal(rename_to(&setup, A, Z, EDIT_NEW, NULL), -ENOENT);
    assert_string_equal(setup.caller.call.failure.advice,
                        "another client has deleted or renamed it; the copy under the new name "
                        "stays");
    setup.memory->fault = NULL;
    assert_both(&setup, NULL, Z, Z_OF("1"));
    tear_down(&setup);
}

static void a_name_that_is_taken_is_not_replaced(void **state)
{
    (void)state;
    struct setup setup;
    set_up_names(&setup, NULL, true);
    assert_int_equal(rename_to(&setup, A, Z, EDIT_EXCLUSIVE, NULL), -EEXIST);
    assert_requests(&setup, "write q/z, get q/z");
    assert_null(setup.caller.call.failure.advice);
    assert_both(&setup, A_1, Z, Z_OF("9"));
    tear_down(&setup);
}

static void a_version_that_was_not_read_is_not_replaced(void **state)
{
    (void)state;
    struct setup setup;
    set_up_names(&setup, NULL, true);
    setup.process = 7;
    open_row(&setup, Z);
    another_stores(&setup, Z, Z_OF("8"));
    assert_int_equal(rename_to(&setup, A, Z, EDIT_OVER, NULL), -ESTALE);
    assert_both(&setup, A_1, Z, Z_OF("8"));
    assert_int_equal(rename_to(&setup, A, Z, EDIT_OVER, Z_OF("1")), 0);
    tear_down(&setup);
}

static void what_a_failure_leaves(void **state)
{
    (void)state;
    static const struct {
        const char *faults;
        const char *requests;
        const char *a, *z, *advice; /* how it begins; NULL: not ours */
        bool is_made, is_ambiguous;
    } cases[] = {
        /* the first request */
        {"fail=write:1:403:AuthorizationFailure", "", A_1, NULL, NULL, false, false},
        {"fail=write:1:0:", "get q/z", A_1, NULL, "it has its old name alone, unless", false, true},
        {"lost=write:1", "write q/z, get q/z, write p/a", NULL, Z_OF("1"), NULL, true, false},
        {"lost=write:1,fail=delete:1:403:AuthorizationFailure", "write q/z, get q/z", A_1,
         Z_OF("1"), BOTH_EXIST, false, false},
        /* the second */
        {"fail=delete:1:403:AuthorizationFailure", "write q/z", A_1, Z_OF("1"), BOTH_EXIST, false,
         false},
        {"fail=delete:1:0:", "write q/z, get p/a", A_1, Z_OF("1"), BOTH_EXIST, false, true},
        {"lost=delete:1", "write q/z, write p/a, get p/a", NULL, Z_OF("1"), NULL, true, false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setup setup;
        set_up_names(&setup, cases[i].faults, false);
        int r = rename_to(&setup, A, Z, EDIT_NEW, cases[i].is_made ? cases[i].z : NULL);
        const struct failure *failure = &setup.caller.call.failure;
        assert_int_equal(r == 0, cases[i].is_made);
        assert_int_equal(failure->is_ambiguous, cases[i].is_ambiguous);
        struct bytes told = bytes_of(failure->advice ? failure->advice : "");
        struct bytes advice = bytes_of(cases[i].advice ? cases[i].advice : "it ");
        assert_int_equal(bytes_start_with(told, advice), cases[i].advice != NULL);
        assert_requests(&setup, cases[i].requests);
        assert_both(&setup, cases[i].a, Z, cases[i].z);
        tear_down(&setup);
    }
}

/* Nothing can be read after the answer was lost. */
static void what_is_not_known_is_told(void **state)
{
    (void)state;
    struct setup setup;
    set_up_names(&setup, "lost=write:1,fail=get:*:0:,fail=query:3:0:", false);
    assert_int_equal(rename_to(&setup, A, Z, EDIT_NEW, NULL), -EIO);
    assert_true(bytes_start_with(bytes_of(setup.caller.call.failure.advice),
                                 B("it has its old name; whether it is stored under the new one")));
    tear_down(&setup);
}

static void what_another_client_stored_is_told(void **state)
{
    (void)state;
    struct setup setup;
    set_up_names(&setup, "fail=write:1:0:", true);
    assert_int_equal(rename_to(&setup, A, Z, EDIT_OVER, NULL), -EIO);
    assert_string_equal(setup.caller.call.failure.advice,
                        "it has its old name; another text is under the new one");
    assert_both(&setup, A_1, Z, Z_OF("9"));
    tear_down(&setup);
}

static bool is_cancelled(void *context)
{
    const struct setup *setup = context;
    return setup->memory->asked > 0; /* from the first request on */
}

static void an_interrupt_between_the_two_requests_does_not_count(void **state)
{
    (void)state;
    struct setup setup;
    struct renamed renamed;
    struct rename rename = {.from = address_of(A), .to = address_of(Z), .path = PATH};
    set_up_names(&setup, NULL, false);
    struct caller *caller = caller_of(&setup);
    caller->call.is_cancelled = is_cancelled;
    caller->call.context = &setup;
    assert_int_equal(account_rename(setup.account, caller, &rename, &renamed), 0);
    assert_requests(&setup, "write q/z, write p/a");
    renamed_finish(&renamed);
    assert_true(caller->call.is_cancelled == is_cancelled);
    assert_both(&setup, NULL, Z, Z_OF("1"));
    tear_down(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_stored_then_deleted),
        cmocka_unit_test(to_another_table),
        cmocka_unit_test(another_version_is_copied_again),
        cmocka_unit_test(an_entity_that_another_client_removed_is_reported),
        cmocka_unit_test(a_name_that_is_taken_is_not_replaced),
        cmocka_unit_test(a_version_that_was_not_read_is_not_replaced),
        cmocka_unit_test(what_a_failure_leaves),
        cmocka_unit_test(what_is_not_known_is_told),
        cmocka_unit_test(what_another_client_stored_is_told),
        cmocka_unit_test(an_interrupt_between_the_two_requests_does_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
