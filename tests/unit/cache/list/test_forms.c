/* SPDX-License-Identifier: MIT */
/* Notes of tables whose directories list something else than before. */
#include "cache/failure_log.h"
#include "cache/list/forms.h"
#include "tests/unit/unit.h"

struct setup {
    struct failure_log *failures;
    struct forms *forms;
};

static void set_up(struct setup *setup)
{
    assert_int_equal(failure_log_create(NULL, NULL, &setup->failures), 0);
    assert_int_equal(forms_create(setup->failures, &clock_system, &setup->forms), 0);
}

static void tear_down(struct setup *setup)
{
    forms_destroy(setup->forms);
    failure_log_destroy(setup->failures);
}

static void note(struct setup *setup, const char *name, bool has_prefixes, int64_t requested_ms)
{
    struct caller caller = {.call = {.command = "ls"}};
    forms_note(setup->forms, &caller, name, has_prefixes, requested_ms);
}

/* The number of notes; the last is of this table, and says this. */
static void assert_notes(struct setup *setup, int expected, const char *name, const char *message)
{
    struct failure_record record, last = {0};
    _cleanup_(buffer_finish) struct buffer text = {.max = 1 << 16};
    int count = 0;
    for (uint64_t n = 0; (n = failure_log_next(setup->failures, n, &record, &text)) != 0; count++) {
        last = record;
        assert_true(!name || strcmp(record.table, name) == 0 || count + 1 < expected);
        assert_string_equal(record.command, "ls");
    }
    assert_int_equal(count, expected);
    if (message)
        assert_string_equal(last.failure.message, message);
    assert_int_equal(last.failure.error, 0);
    assert_int_equal(failure_log_count(setup->failures), 0); /* it is no failure */
}

static void each_change_is_told_once(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup);
    note(&setup, "a", false, 1);
    note(&setup, "b", true, 1);
    note(&setup, "a", false, 2);
    assert_notes(&setup, 0, NULL, NULL);
    note(&setup, "a", true, 3);
    assert_notes(&setup, 1, "a", "it lists prefixes now, and listed partitions before");
    note(&setup, "a", true, 4);
    note(&setup, "a", true, 5);
    assert_notes(&setup, 1, "a", NULL);
    note(&setup, "b", false, 5);
    assert_notes(&setup, 2, "b", "it lists partitions now, and listed prefixes before");
    note(&setup, "a", false, 5);
    assert_notes(&setup, 3, "a", "it lists partitions now, and listed prefixes before");
    tear_down(&setup);
}

/* A slow listing, and a walk that is served what it has read. */
static void what_is_older_tells_nothing(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup);
    note(&setup, "a", false, 10);
    note(&setup, "a", true, 20);
    note(&setup, "a", false, 19);
    note(&setup, "a", true, 21);
    assert_notes(&setup, 1, "a", "it lists prefixes now, and listed partitions before");
    tear_down(&setup);
}

static void many_tables_are_remembered(void **state)
{
    (void)state;
    struct setup setup;
    set_up(&setup);
    for (int i = 0; i <= FORMS_MAX; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "t%d", i);
        note(&setup, name, false, 1);
    }
    note(&setup, "t0", true, 2); /* it is forgotten */
    assert_notes(&setup, 0, NULL, NULL);
    note(&setup, "t2", true, 2);
    assert_notes(&setup, 1, "t2", NULL);
    tear_down(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_change_is_told_once),
        cmocka_unit_test(what_is_older_tells_nothing),
        cmocka_unit_test(many_tables_are_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
