/* SPDX-License-Identifier: MIT */
#include "fs/text/writer_parts.h"
#include "tests/unit/writer_fixture.h"

static void the_write_that_completes_an_object_stores_it(void **state)
{
    (void)state;
    struct sink sink = new_sink();
    begin_writers(&sink);
    struct writer_handle *handle = open_new(&sink, name_a);
    assert_true(is_found(&sink, name_a));
    assert_false(is_found(&sink, name_b));
    assert_int_equal(flush_as(handle, OPENER), 0); /* bash flushes before it writes */
    write_at(handle, "{\"a\": ", 0, 0, NULL);
    assert_int_equal(sink.stores, 0);
    assert_int_equal(writer_size(handle->writer), 6);
    assert_true(writer_is_new(handle->writer));
    write_at(handle, "1}", 6, 0, NULL);
    assert_int_equal(sink.stores, 1);
    assert_string_equal(sink.text, "{\"a\": 1}");
    assert_int_equal(sink.begin, EDIT_NEW);
    assert_string_equal(sink.last_stored, "");
    assert_false(writer_is_new(handle->writer));
    assert_false(is_found(&sink, name_a)); /* a lookup shows the stored entity */
    struct caller caller = caller_of(OPENER);
    assert_int_equal(writer_resize(handle->writer, &caller, 0), 0);
    write_at(handle, "{}\n", 0, 0, NULL);
    assert_string_equal(sink.last_stored, "e1");
    assert_int_equal(writer_touch(handle->writer, &caller), 0);
    assert_int_equal(sink.touches, 1);
    assert_int_equal(writer_resize(handle->writer, &caller, 0), 0);
    write_at(handle, "{ }", 0, 0, NULL);
    assert_string_equal(sink.last_stored, "e100");
    assert_int_equal(flush_as(handle, OPENER), 0);
    close_handle(handle);
    assert_int_equal(sink.stores, 3);
    assert_int_equal(sink.given_up, 0);
    writers_destroy(sink.writers);
    writers_destroy(NULL);
}

/* Another client has stored the entity since the CREATE. */
static void an_empty_file_replaces_nothing(void **state)
{
    struct sink *sink = *state;
    struct writer_handle *handle = open_new(sink, name_a);
    struct caller caller = caller_of(OPENER);
    sink->error = -EEXIST;
    assert_int_equal(writer_sync(handle, &caller), 0);
    assert_int_equal(caller.call.failure.error, 0);
    assert_int_equal(sink->begin, EDIT_EXCLUSIVE);
    assert_false(writer_is_new(handle->writer));
    sink->error = 0;
    write_at(handle, "{\"a\": 1}", 0, 0, NULL); /* a text does */
    assert_int_equal(sink->begin, EDIT_NEW);
    assert_int_equal(sink->stores, 2);
    close_handle(handle);
    assert_int_equal(sink->stores, 2);
    assert_int_equal(sink->given_up, 0);

    sink->error = -EEXIST; /* an exclusive create reports it */
    handle = open_writer(
        sink, &(struct writer_begin){.address = name_a, .begin = EDIT_EXCLUSIVE, .is_new = true});
    close_handle(handle);
    assert_int_equal(sink->given_up_error, -EEXIST);
}

static void a_writer_has_a_time_and_keeps_its_size(void **state)
{
    struct sink *sink = *state;
    assert_false(writers_is_open(sink->writers, name_a));
    struct writer_handle *handle = open_new(sink, name_a);
    struct writer *writer = writer_ref(handle->writer);
    assert_true(writers_is_open(sink->writers, name_a));
    assert_int_equal(writer_timestamp(writer), 0);
    write_at(handle, "{\"a\":", WRITER_AT_END, 0, NULL);
    write_at(handle, "1}", WRITER_AT_END, 0, NULL);
    assert_string_equal(sink->text, "{\"a\":1}");
    assert_int_equal(writer_timestamp(writer), 1);
    close_handle(handle);
    assert_int_equal(writer_size(writer), 7);
    assert_null(writer->draft.text.data); /* a node may keep the writer for long */
    assert_int_equal(writer_touch(writer, &(struct caller){.call.deadline_ms = INT64_MAX}), 0);
    assert_int_equal(sink->touches, 1);
    assert_int_equal(writer_size(writer), 7);
    assert_false(writers_is_open(sink->writers, name_a));
    writer_unref(writer);
}

/* Else the next store would overwrite what the other client has changed. */
static void a_touch_of_anothers_version_changes_no_precondition(void **state)
{
    struct sink *sink = *state;
    struct entity snapshot = entity_of(50);
    struct writer_begin changed = {.address = name_a, .begin = EDIT_CHANGED, .snapshot = snapshot};
    struct writer_handle *handle = open_writer(sink, &changed);
    struct caller caller = caller_of(OPENER);
    sink->is_changed_by_another = true;
    assert_int_equal(writer_touch(handle->writer, &caller), 0);
    assert_string_equal(sink->known, "e50");
    write_at(handle, "2", 8, 0, NULL);
    assert_int_equal(flush_as(handle, OPENER), 0);
    assert_string_equal(sink->snapshot, "e50");
    assert_string_equal(sink->last_stored, "");
    assert_int_equal(writer_touch(handle->writer, &caller), 0);
    assert_string_equal(sink->known, "e1"); /* what was stored */
    close_handle(handle);
    entity_finish(&snapshot);
}

/* Another process opens a new file while it is written. The kernel does not take that open, but
 * before this is known the file is closed. */
static void a_dropped_handle_loses_no_text(void **state)
{
    struct sink *sink = *state;
    struct writer_handle *first = open_new(sink, name_a), *second;
    assert_int_equal(writer_open_handle(first->writer, CHILD, &second), 0);
    write_at(first, "{\"half\"", 0, 0, NULL);
    close_handle(first);
    assert_int_equal(sink->given_up, 0);
    drop_handle(second);
    assert_int_equal(sink->given_up, 1);
    assert_int_equal(sink->given_up_error, -EINVAL);
    assert_string_equal(sink->lost, "{\"half\"");
}

static void each_open_of_a_stored_entity_has_its_own_text(void **state)
{
    struct sink *sink = *state;
    struct entity snapshot = entity_of(50);
    struct writer_begin changed = {.address = name_a, .begin = EDIT_CHANGED, .snapshot = snapshot};
    struct writer_handle *handle = open_writer(sink, &changed), *other;
    struct caller caller = caller_of(OPENER);
    assert_int_equal(writer_size(handle->writer), 10);
    assert_false(is_found(sink, name_a));
    write_at(handle, "2", 8, 0, NULL);
    assert_int_equal(sink->stores, 0); /* judged at flush */
    other = open_writer(sink, &changed);
    assert_true(other->writer != handle->writer);
    assert_int_equal(flush_as(handle, OPENER), 0);
    assert_string_equal(sink->text, "{\"old\": 2}");
    assert_string_equal(sink->snapshot, "e50");
    assert_int_equal(sink->begin, EDIT_CHANGED);
    close_handle(handle);
    close_handle(other); /* nothing was changed */
    assert_int_equal(sink->stores, 1);

    struct writer_begin appended = changed;
    appended.begin = EDIT_APPENDED;
    handle = open_writer(sink, &appended);
    struct buffer text;
    buffer_init(&text, 100);
    assert_int_equal(writer_read(handle, &caller, 0, 9, &text), -EBADF);
    buffer_finish(&text);
    write_at(handle, "{\"b\": 1}\n", 0, 0, NULL);
    assert_int_equal(sink->begin, EDIT_APPENDED);
    assert_int_equal(writer_size(handle->writer), 19);
    assert_int_equal(writer_resize(handle->writer, &caller, 3), -EINVAL);
    assert_string_equal(caller.call.failure.message,
                        "the size of a file that is open for appending can only become 0");
    assert_int_equal(writer_resize(handle->writer, &caller, 0), 0);
    write_at(handle, "{}", 0, 0, NULL);
    assert_int_equal(sink->begin, EDIT_OVER); /* size 0: the text replaces what is stored */
    close_handle(handle);

    struct writer_begin truncated = changed;
    truncated.begin = EDIT_OVER;
    truncated.is_truncated = true;
    handle = open_writer(sink, &truncated);
    assert_int_equal(flush_as(handle, OPENER), -EINVAL);
    close_handle(handle); /* changes nothing on the service */
    assert_int_equal(sink->stores, 3);
    assert_int_equal(sink->given_up, 1);
    assert_false(sink->is_new_given_up);
    entity_finish(&snapshot);
}

/* Another process queued it while an earlier one was sent for the open. */
static void a_text_that_is_queued_is_not_replaced_blindly(void **state)
{
    (void)state;
    static const enum edit_begin begins[] = {EDIT_CHANGED, EDIT_APPENDED, EDIT_OVER};
    struct entity queued = {0};
    assert_int_equal(page_create_queued(B("p\0a"), B("{\"old\": 1}"), 1, &queued.page), 0);
    for (size_t i = 0; i < ARRAY_SIZE(begins); i++) {
        struct sink sink = new_sink();
        begin_writers(&sink);
        bool is_over = begins[i] == EDIT_OVER;
        struct writer_handle *handle =
            open_writer(&sink, &(struct writer_begin){.address = name_a,
                                                      .begin = begins[i],
                                                      .is_truncated = is_over,
                                                      .snapshot = queued});
        write_at(handle, "{\"b\": 123}", 0, 0, NULL);
        assert_int_equal(flush_as(handle, OPENER), 0);
        assert_int_equal(sink.stores, 1);
        assert_string_equal(sink.snapshot, "");
        assert_int_equal(sink.has_queued, !is_over);
        write_at(handle, "{\"c\": 123}", 0, 0, NULL);
        assert_int_equal(flush_as(handle, OPENER), 0);
        assert_int_equal(sink.stores, 2);
        assert_false(sink.has_queued); /* the first store is the version now */
        assert_string_equal(sink.last_stored, "e1");
        close_handle(handle);
        writers_destroy(sink.writers);
    }
    entity_finish(&queued);
}

static int64_t jumping_ms(void *now_ms)
{
    return *(int64_t *)now_ms += 100000;
}

/* The text of a handle that waited for an unlink is not given up for that. */
static void the_wait_of_a_close_does_not_count(void **state)
{
    (void)state;
    struct sink sink = new_sink();
    int64_t now_ms = 0;
    struct clock clock = {.monotonic_ms = jumping_ms, .context = &now_ms};
    struct writer_store store = store_of(&sink);
    assert_int_equal(writers_create(&clock, &store, &sink.writers), 0);
    struct caller caller = {.call = {.deadline_ms = 60000}};
    writer_close_handle(open_new(&sink, name_a), &caller);
    assert_int_equal(sink.stores, 1);
    assert_int_equal(sink.deadline_ms, 160000);
    assert_int_equal(sink.process, OPENER); /* a RELEASE tells none */
    writers_destroy(sink.writers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_write_that_completes_an_object_stores_it),
        TEST_WITH(sink, an_empty_file_replaces_nothing),
        TEST_WITH(sink, a_writer_has_a_time_and_keeps_its_size),
        TEST_WITH(sink, a_touch_of_anothers_version_changes_no_precondition),
        TEST_WITH(sink, a_dropped_handle_loses_no_text),
        cmocka_unit_test(the_wait_of_a_close_does_not_count),
        TEST_WITH(sink, each_open_of_a_stored_entity_has_its_own_text),
        cmocka_unit_test(a_text_that_is_queued_is_not_replaced_blindly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
