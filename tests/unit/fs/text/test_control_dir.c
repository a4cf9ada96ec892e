/* SPDX-License-Identifier: MIT */
#include "fs/text/control_dir.h"
#include "tests/unit/unit.h"

static void assert_path(const char *table, struct bytes position, bool is_prefix, struct bytes path)
{
    struct failure_record record = {.operation = "readdir",
                                    .table = table,
                                    .position = position,
                                    .is_prefix = is_prefix,
                                    .failure = {.error = -EIO}};
    _cleanup_(buffer_finish) struct buffer line = {.max = 4096}, expected = {.max = 4096};
    (void)buffer_append_string(&expected, "1970-01-01T00:00:00.000Z readdir ");
    (void)buffer_append(&expected, path);
    (void)buffer_append_string(&expected, ": EIO");
    assert_int_equal(control_append_failure(&line, &record), 0);
    assert_bytes(buffer_bytes(&line), buffer_bytes(&expected));
}

static void an_outage_tells_how_many_failed(void **state)
{
    (void)state;
    struct failure_record record = {.operation = "lookup",
                                    .command = "cat",
                                    .failure = {.error = -EIO, .advice = "do", .outage = 1},
                                    .others = 998,
                                    .last_100ns = 2500 * TICKS_PER_MS};
    _cleanup_(buffer_finish) struct buffer line = {.max = 4096};
    assert_int_equal(control_append_failure(&line, &record), 0);
    assert_bytes(buffer_bytes(&line),
                 B("1970-01-01T00:00:00.000Z lookup /: EIO [cat] (and 998 more until "
                   "1970-01-01T00:00:02.500Z) -- do"));
}

static void equal_failures_tell_how_often_and_since_when(void **state)
{
    (void)state;
    struct failure_record record = {.operation = "lookup",
                                    .command = "cat",
                                    .failure = {.error = -EIO},
                                    .at_100ns = 2500 * TICKS_PER_MS,
                                    .times = 7,
                                    .first_100ns = 500 * TICKS_PER_MS};
    _cleanup_(buffer_finish) struct buffer line = {.max = 4096};
    assert_int_equal(control_append_failure(&line, &record), 0);
    assert_bytes(buffer_bytes(&line),
                 B("1970-01-01T00:00:02.500Z lookup /: EIO [cat] (7 times since "
                   "1970-01-01T00:00:00.500Z)"));
}

static void a_loss_names_the_file(void **state)
{
    (void)state;
    struct failure_record record = {.operation = "release",
                                    .command = "sh",
                                    .kept_in = "/lost/f\n.json",
                                    .failure = {.error = -EINVAL, .message = "no"}};
    _cleanup_(buffer_finish) struct buffer line = {.max = 4096};
    assert_int_equal(control_append_failure(&line, &record), 0);
    assert_bytes(buffer_bytes(&line), B("1970-01-01T00:00:00.000Z release /: EINVAL: no [sh] -- "
                                        "the text is in /lost/f?.json"));
}

static void a_note_is_no_failure(void **state)
{
    (void)state;
    struct failure_record record = {
        .operation = "write", .command = "cp", .failure = {.message = "what is told"}};
    _cleanup_(buffer_finish) struct buffer line = {.max = 4096};
    assert_int_equal(control_append_failure(&line, &record), 0);
    assert_bytes(buffer_bytes(&line), B("1970-01-01T00:00:00.000Z write /: OK: what is told [cp]"));
}

static void a_failure_names_the_path(void **state)
{
    (void)state;
    assert_path(NULL, B(""), false, B("/"));
    assert_path("t", B(""), false, B("/t"));
    assert_path("t", B("a+"), false, B("/t/a#2B"));
    assert_path("t", B("a+"), true, B("/t/a#2B+"));
    assert_path("t", B("a+\0r+"), false, B("/t/a#2B/r+.json"));
    assert_path("t", B("a+\0r+"), true, B("/t/a#2B/r#2B+"));
    assert_path("t", ROW_AT("", "2024"), true, B("/t/#00/2024+"));
    /* of a cut name that cannot be a prefix's, what leads there */
    assert_path("t", B("a/b"), true, B("/t/"));
}

static int append_number(void *context, struct buffer *ret)
{
    return buffer_append_format(ret, "number %d\n", *(int *)context);
}

static void a_text_is_kept_until_it_changes(void **state)
{
    (void)state;
    struct failure_log *failures;
    struct control_dir *control;
    struct control_text *first, *again, *changed;
    int number = 1;
    assert_int_equal(failure_log_create(NULL, NULL, &failures), 0);
    assert_int_equal(
        control_dir_create(failures, "", append_number, append_number, &number, &control), 0);
    assert_int_equal(control_dir_text(control, CONTROL_STATS, false, 7, &first), 0);
    assert_int_equal(control_dir_text(control, CONTROL_STATS, false, 8, &again), 0);
    assert_ptr_equal(again, first);
    number = 2;
    assert_int_equal(control_dir_text(control, CONTROL_STATS, false, 9, &changed), 0);
    assert_ptr_not_equal(changed, first);
    assert_int_equal(first->made_at_100ns, 7);
    assert_int_equal(changed->made_at_100ns, 9);
    assert_memory_equal(first->text.data, "number 1\n", 9);
    assert_memory_equal(changed->text.data, "number 2\n", 9);
    control_dir_destroy(control);
    control_text_unref(first);
    control_text_unref(again);
    control_text_unref(changed);
    failure_log_destroy(failures);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_note_is_no_failure),
        cmocka_unit_test(a_failure_names_the_path),
        cmocka_unit_test(equal_failures_tell_how_often_and_since_when),
        cmocka_unit_test(a_loss_names_the_file),
        cmocka_unit_test(an_outage_tells_how_many_failed),
        cmocka_unit_test(a_text_is_kept_until_it_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
