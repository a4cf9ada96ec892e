/* SPDX-License-Identifier: MIT */
#include "tests/unit/writer_fixture.h"

static void a_refused_write_leaves_the_text_as_it_was(void **state)
{
    struct sink *sink = *state;
    struct writer_handle *handle = open_new(sink, name_a);
    write_at(handle, "hello", 0, -EINVAL, "line 1, column 1");
    assert_int_equal(writer_size(handle->writer), 0);
    write_at(handle, "{\n\"a\":", 0, 0, NULL);
    write_at(handle, "?", 6, -EINVAL, "");
    sink->error = -EACCES;
    write_at(handle, "1}", 6, -EACCES, "");
    assert_int_equal(writer_size(handle->writer), 6);
    assert_true(is_found(sink, name_a));
    sink->error = -ETIMEDOUT;
    sink->is_ambiguous = true;
    write_at(handle, "1}", 6, -ETIMEDOUT, "");
    sink->error = 0;
    write_at(handle, "2}", 6, 0, NULL);
    assert_string_equal(sink->text, "{\n\"a\":2}");
    assert_int_equal(sink->given_up, 0);
    assert_int_equal(writer_resize(handle->writer, &(struct caller){0}, 0), 0);
    assert_int_equal(sink->given_up, 1); /* the text is over: its last failure is reported */
    assert_string_equal(sink->operation, "write");
    assert_int_equal(sink->given_up_error, -ETIMEDOUT);
    assert_string_equal(sink->reason, "refused");
    assert_string_equal(sink->lost, "");
    write_at(handle, "{}", 0, 0, NULL);
    close_handle(handle);
    assert_int_equal(sink->given_up, 1);
}

static void the_last_release_stores_or_gives_up(void **state)
{
    struct sink *sink = *state;
    close_handle(open_new(sink, name_a)); /* touch, `: > f` */
    assert_int_equal(sink->stores, 1);
    assert_string_equal(sink->text, "{}");

    struct writer_handle *handle = open_new(sink, name_a);
    write_at(handle, "{\"a\": ", 0, 0, NULL);
    assert_int_equal(flush_as(handle, CHILD), 0);
    assert_int_equal(flush_as(handle, OPENER), -EINVAL);
    close_handle(handle);
    assert_int_equal(sink->given_up, 1);
    assert_int_equal(sink->given_up_error, -EINVAL);
    assert_string_equal(sink->lost, "{\"a\": ");
    assert_non_null(strstr(sink->reason, "the text ends before its JSON object does"));

    handle = open_new(sink, name_a);
    sink->error = -EHOSTUNREACH;
    close_handle(handle);
    assert_int_equal(sink->given_up_error, -EHOSTUNREACH);
    assert_string_equal(sink->lost, "");
    assert_true(sink->is_new_given_up);
    sink->error = 0;

    handle = open_new(sink, name_a); /* echo hello > new.json: the write has failed */
    write_at(handle, "hello", 0, -EINVAL, NULL);
    close_handle(handle);
    assert_int_equal(sink->given_up, 2);
    assert_int_equal(sink->stores, 2);

    drop_handle(open_new(sink, name_a)); /* the opener was interrupted */
    assert_int_equal(sink->stores, 2);
    assert_int_equal(sink->given_up, 2);
    assert_false(is_found(sink, name_a));

    const struct writer_begin provisional = {
        .address = name_a, .begin = EDIT_NEW, .is_new = true, .is_provisional = true};
    close_handle(open_writer(sink, &provisional));
    assert_int_equal(sink->stores, 2);
    assert_int_equal(sink->given_up, 2);
    handle = open_writer(sink, &provisional);
    write_at(handle, "{}", 0, 0, NULL);
    close_handle(handle);
    assert_int_equal(sink->stores, 3);
}

/* A call about the file has failed; else the loss is known only here. */
static void a_loss_is_reported_by_a_call_or_by_none(void **state)
{
    (void)state;
    struct sink sink = new_sink();
    struct caller caller = caller_of(OPENER);
    begin_writers(&sink);
    sink.error = -EACCES;
    struct writer_handle *handle = open_new(&sink, name_a);
    assert_int_equal(flush_as(handle, OPENER), 0);
    close_handle(handle);
    assert_int_equal(sink.given_up, 1);
    assert_false(sink.is_told_given_up);

    handle = open_new(&sink, name_a);
    assert_int_equal(writer_sync(handle, &caller), -EACCES);
    close_handle(handle);
    assert_int_equal(sink.given_up, 2);
    assert_true(sink.is_told_given_up);

    handle = open_new(&sink, name_a);
    write_at(handle, "{", 0, 0, NULL);
    assert_int_equal(flush_as(handle, CHILD), 0);
    close_handle(handle);
    assert_int_equal(sink.given_up, 3);
    assert_false(sink.is_told_given_up);

    handle = open_new(&sink, name_a);
    writer_miss_write(handle);
    write_at(handle, "{", 0, 0, NULL);
    close_handle(handle);
    assert_int_equal(sink.given_up, 4);
    assert_true(sink.is_told_given_up);

    handle = open_new(&sink, name_a);
    write_at(handle, "{}", 0, -EACCES, NULL);
    sink.error = 0;
    write_at(handle, "{}", 0, 0, NULL); /* stored: what was reported is over */
    assert_int_equal(writer_resize(handle->writer, &caller, 5), 0);
    close_handle(handle);
    assert_int_equal(sink.given_up, 5);
    assert_false(sink.is_told_given_up);
    writers_destroy(sink.writers);
}

/* A masked version, which the file replaces, was changed by another client. */
static void a_conflict_at_the_release_is_reported_by_no_call(void **state)
{
    struct sink *sink = *state;
    sink->error = -ESTALE;
    struct writer_handle *handle = open_new(sink, name_a);
    close_handle(handle);
    assert_int_equal(sink->given_up, 1);
    assert_string_equal(sink->lost, "{}");
    assert_false(sink->is_told_given_up);

    handle = open_new(sink, name_a);
    write_at(handle, "{}", 0, -ESTALE, NULL);
    assert_int_equal(sink->given_up, 2);
    assert_true(sink->is_told_given_up);
    close_handle(handle);
    assert_int_equal(sink->given_up, 2);
}

/* A text is one line of errors: a program may go on after a write that was refused. */
static void writes_that_are_refused_in_a_row_are_reported_once(void **state)
{
    struct sink *sink = *state;
    struct writer_handle *handle = open_new(sink, name_a);
    write_at(handle, "hello", 0, -EINVAL, "line 1, column 1");
    for (int i = 0; i < 4; i++) {
        struct caller caller = caller_of(OPENER);
        assert_int_equal(writer_write(handle, &caller, bytes_of("hello"), 0), -EINVAL);
        assert_int_equal(caller.call.failure.error, 0);
    }
    close_handle(handle);
    assert_int_equal(sink->given_up, 0);

    writers_note_removed(sink->writers, name_a); /* the text is to replace what was removed */
    handle = open_new(sink, name_a);
    for (int i = 0; i < 5; i++) {
        struct caller caller = caller_of(OPENER);
        assert_int_equal(writer_write(handle, &caller, bytes_of("hello"), 0), -EINVAL);
        assert_int_equal(caller.call.failure.error, 0);
    }
    close_handle(handle);
    assert_int_equal(sink->given_up, 1);
    assert_string_equal(sink->lost, "hello");
}

static void a_refusal_after_a_lost_answer_names_the_earlier_text(void **state)
{
    struct sink *sink = *state;
    struct writer_handle *handle = open_new(sink, name_a);
    static const struct {
        int error;
        bool is_ambiguous, has_advice;
    } stores[] = {{-EEXIST, false, false}, {-ETIMEDOUT, true, false}, {-EACCES, false, false},
                  {-EEXIST, false, true},  {0, false, false},         {-EEXIST, false, false}};
    for (size_t i = 0; i < ARRAY_SIZE(stores); i++) {
        struct caller caller = caller_of(OPENER);
        sink->error = stores[i].error;
        sink->is_ambiguous = stores[i].is_ambiguous;
        assert_int_equal(writer_write(handle, &caller, B("{}"), 0), stores[i].error);
        const char *advice = caller.call.failure.advice;
        assert_int_equal(advice && strstr(advice, "whose answer was lost"), stores[i].has_advice);
        assert_int_equal(writer_resize(handle->writer, &caller, 0), 0);
    }
    close_handle(handle);
}

static void a_release_reports_why_the_flush_was_refused(void **state)
{
    struct sink *sink = *state;
    struct entity entity = entity_of(0);
    struct writer_handle *handle = open_writer(
        sink, &(struct writer_begin){.address = name_a, .begin = EDIT_CHANGED, .snapshot = entity});
    write_at(handle, "7", 8, 0, NULL);
    sink->error = -EACCES;
    struct caller caller = caller_of(OPENER);
    assert_int_equal(writer_flush(handle, &caller), -EACCES);
    assert_int_equal(caller.call.failure.error, 0);
    close_handle(handle);
    assert_int_equal(sink->given_up_error, -EACCES);
    assert_string_equal(sink->reason, "refused");
    assert_string_equal(sink->lost, "{\"old\": 7}");

    handle = open_writer(
        sink, &(struct writer_begin){.address = name_a, .begin = EDIT_CHANGED, .snapshot = entity});
    write_at(handle, "8", 8, 0, NULL);
    close_handle(handle); /* killed: no FLUSH came */
    assert_int_equal(sink->given_up_error, -EIO);
    assert_string_equal(sink->reason, "the text was changed, and was not flushed");
    entity_finish(&entity);
}

/* A program may ignore the error of its last write. */
static void a_release_reports_that_a_write_is_missing(void **state)
{
    struct sink *sink = *state;
    struct writer_handle *handle = open_new(sink, name_a);
    write_at(handle, "{\"a\": ", 0, 0, NULL);
    sink->error = -ENOSPC;
    write_at(handle, "1}", 6, -ENOSPC, ""); /* the release reports it */
    assert_int_equal(sink->given_up, 0);
    close_handle(handle);
    assert_int_equal(sink->given_up, 1);
    assert_string_equal(sink->operation, "release");
    assert_int_equal(sink->given_up_error, -ENOSPC);
    assert_string_equal(sink->lost, "{\"a\": ");
    assert_string_equal(sink->reason, "refused; the text lacks the write that failed");

    handle = open_new(sink, name_a); /* too many callers waited */
    write_at(handle, "{\"a\": ", 0, 0, NULL);
    writer_miss_write(handle);
    close_handle(handle);
    assert_int_equal(sink->given_up_error, -EINVAL);
    assert_string_equal(sink->reason,
                        "line 1, column 7: the text ends before its JSON object does; the "
                        "text lacks the write that failed");

    handle = open_new(sink, name_a); /* the message is too long for the addition */
    write_at(handle, "{\"a\": ", 0, 0, NULL);
    sink->is_wordy = true;
    write_at(handle, "1}", 6, -ENOSPC, NULL);
    close_handle(handle);
    assert_int_equal(strlen(sink->reason), sizeof(sink->reason) - 1);
    assert_non_null(strstr(sink->reason, "   ; the text lacks the write that failed"));
}

static void a_lost_race_is_final(void **state)
{
    struct sink *sink = *state;
    struct entity entity = entity_of(0);
    struct writer_begin begin = {
        .address = name_a, .begin = EDIT_OVER, .is_truncated = true, .snapshot = entity};
    struct writer_handle *handle = open_writer(sink, &begin);
    sink->error = -ESTALE;
    write_at(handle, "{\"a\": 1}", 0, -ESTALE, NULL);
    assert_string_equal(sink->lost, "{\"a\": 1}");
    assert_string_equal(sink->operation, "write");
    assert_string_equal(sink->reason, "refused");
    sink->error = 0;
    write_at(handle, "{\"a\": 1}", 0, -ESTALE, NULL); /* by a library that closes the file */
    assert_int_equal(flush_as(handle, OPENER), -ESTALE);
    assert_int_equal(writer_resize(handle->writer, &(struct caller){0}, 0), 0);
    write_at(handle, "{}", 0, -ESTALE, NULL);
    assert_int_equal(sink->stores, 1);
    close_handle(handle);
    assert_int_equal(sink->given_up, 1); /* at the first write alone */

    handle = open_writer(sink, &begin); /* in two writes: the whole text is kept, and once */
    write_at(handle, "{\"a\":", 0, 0, NULL);
    sink->error = -ESTALE;
    write_at(handle, " 2}", 5, -ESTALE, NULL);
    write_at(handle, " 2}", 5, -ESTALE, NULL);
    close_handle(handle);
    assert_string_equal(sink->lost, "{\"a\": 2}");
    assert_int_equal(sink->given_up, 2);

    handle = open_writer(sink, &begin); /* but what is written then was not kept */
    write_at(handle, "{}", 0, -ESTALE, NULL);
    write_at(handle, "{\"b\"", 0, 0, NULL);
    close_handle(handle);
    assert_string_equal(sink->lost, "{\"b\"");
    assert_int_equal(sink->given_up, 4);
    sink->error = 0;

    handle = open_writer(sink, &begin); /* another open may */
    write_at(handle, "{}", 0, 0, NULL);
    close_handle(handle);
    entity_finish(&entity);
}

static void a_close_reports_what_the_write_did(void **state)
{
    struct sink *sink = *state;
    struct writer_handle *handle = open_new(sink, name_a);
    write_at(handle, "{\"a\":", 0, 0, NULL);
    write_at(handle, "1", (uint64_t)9 << 20, -EFBIG, "");
    struct caller caller = caller_of(OPENER);
    assert_int_equal(writer_flush(handle, &caller), -EFBIG);
    assert_int_equal(caller.call.failure.error, 0); /* the end of the text reports it */
    assert_int_equal(writer_resize(handle->writer, &caller, 0), 0);
    assert_int_equal(sink->given_up_error, -EFBIG);
    assert_non_null(strstr(sink->reason, "8 MiB"));
    write_at(handle, "{", 0, 0, NULL);
    assert_int_equal(writer_flush(handle, &caller), -EINVAL);
    assert_int_equal(caller.call.failure.error, 0); /* the release reports it */
    close_handle(handle);
    assert_int_equal(sink->given_up_error, -EINVAL);
    assert_non_null(strstr(sink->reason, "the text ends before its JSON object does"));
}

/* What failed after a beginning is reported once, however the text ends. */
static void a_failed_write_is_reported_once(void **state)
{
    (void)state;
    struct sink sink = new_sink();
    struct held_writers *held;
    begin_writers(&sink);
    struct writer_handle *handle = open_new(&sink, name_a); /* it succeeds at the second try */
    write_at(handle, "{\"a\": ", 0, 0, NULL);
    sink.error = -EACCES;
    write_at(handle, "1}", 6, -EACCES, "");
    sink.error = 0;
    write_at(handle, "1}", 6, 0, NULL);
    close_handle(handle);
    assert_int_equal(sink.given_up, 1);
    assert_string_equal(sink.operation, "write");
    assert_int_equal(sink.given_up_error, -EACCES);
    assert_string_equal(sink.lost, "");

    handle = open_new(&sink, name_a); /* the program removes what it has begun */
    write_at(handle, "{\"a\": ", 0, 0, NULL);
    write_at(handle, "?", 6, -EINVAL, "");
    assert_int_equal(writers_hold(sink.writers, name_a, NULL, &held), 0);
    writers_let_go(held, true);
    assert_int_equal(sink.given_up, 1);
    close_handle(handle);
    assert_int_equal(sink.given_up, 2);
    assert_string_equal(sink.operation, "write");
    assert_non_null(strstr(sink.reason, "line 1, column 7"));

    handle = open_new(&sink, name_a); /* a signal */
    write_at(handle, "{\"a\": ", 0, 0, NULL);
    sink.error = -EINTR;
    write_at(handle, "1}", 6, -EINTR, NULL);
    sink.error = 0;
    write_at(handle, "1}", 6, 0, NULL);
    close_handle(handle);
    assert_int_equal(sink.given_up, 2);
    writers_destroy(sink.writers);
}

/* The program has removed the entity of the name before. */
static void a_text_in_place_of_a_removed_one_is_kept(void **state)
{
    struct sink *sink = *state;
    writers_note_removed(sink->writers, name_a);
    struct writer_handle *handle = open_new(sink, name_a);
    write_at(handle, "hello", 0, -EINVAL, "");
    assert_int_equal(sink->given_up, 1);
    assert_string_equal(sink->operation, "write");
    assert_string_equal(sink->lost, "hello");
    assert_non_null(strstr(sink->reason, "not a JSON object"));
    close_handle(handle);
    assert_int_equal(sink->given_up, 1);

    handle = open_new(sink, name_a); /* in several writes, and the service refuses it */
    write_at(handle, "{\"a\": ", 0, 0, NULL);
    sink->error = -EACCES;
    write_at(handle, "1}", 6, -EACCES, "");
    assert_int_equal(flush_as(handle, OPENER), -EACCES);
    close_handle(handle);
    sink->error = 0;
    assert_int_equal(sink->given_up, 2);
    assert_string_equal(sink->lost, "{\"a\": 1}");
    assert_string_equal(sink->reason, "refused");

    handle = open_new(sink, name_a); /* once it is stored, it is a file like others */
    write_at(handle, "{}", 0, 0, NULL);
    assert_int_equal(writer_resize(handle->writer, &(struct caller){0}, 0), 0);
    write_at(handle, "hello", 0, -EINVAL, "not a JSON object");
    close_handle(handle);
    assert_int_equal(sink->given_up, 2);

    handle = open_new(sink, name_b);
    write_at(handle, "hello", 0, -EINVAL, "not a JSON object");
    close_handle(handle);
    assert_int_equal(sink->given_up, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(sink, a_refused_write_leaves_the_text_as_it_was),
        TEST_WITH(sink, the_last_release_stores_or_gives_up),
        cmocka_unit_test(a_loss_is_reported_by_a_call_or_by_none),
        TEST_WITH(sink, a_conflict_at_the_release_is_reported_by_no_call),
        TEST_WITH(sink, writes_that_are_refused_in_a_row_are_reported_once),
        TEST_WITH(sink, a_refusal_after_a_lost_answer_names_the_earlier_text),
        TEST_WITH(sink, a_release_reports_why_the_flush_was_refused),
        TEST_WITH(sink, a_release_reports_that_a_write_is_missing),
        TEST_WITH(sink, a_lost_race_is_final),
        TEST_WITH(sink, a_close_reports_what_the_write_did),
        cmocka_unit_test(a_failed_write_is_reported_once),
        TEST_WITH(sink, a_text_in_place_of_a_removed_one_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
