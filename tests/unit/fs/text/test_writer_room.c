/* SPDX-License-Identifier: MIT */
/* The room in memory that the texts of writers take. */
#include "tests/unit/writer_fixture.h"

#define STORED "{\"old\": 1}" /* of entity_of */

static struct writer_handle *open_changed(struct sink *sink, enum edit_begin begin)
{
    struct entity stored = entity_of(1);
    struct writer_handle *handle = open_writer(
        sink, &(struct writer_begin){.address = name_a, .begin = begin, .snapshot = stored});
    entity_finish(&stored);
    return handle;
}

static void a_text_takes_room_for_its_length(void **state)
{
    (void)state;
    struct sink sink = new_sink();
    struct caller caller = caller_of(OPENER);
    begin_writers(&sink);
    struct writer_handle *handle = open_new(&sink, name_a), *other = open_new(&sink, name_b);
    assert_int_equal(sink.reserved, 0);
    write_at(handle, "{\"a\": ", 0, 0, NULL);
    write_at(other, "{", 0, 0, NULL);
    assert_int_equal(sink.reserved, 7);
    write_at(handle, "?", 6, -EINVAL, NULL);
    assert_int_equal(sink.reserved, 7);
    write_at(handle, "1}\n", 6, 0, NULL);
    assert_int_equal(sink.stores, 1);
    assert_int_equal(sink.reserved, 10); /* it can still be read */
    write_at(handle, "{\"b\": 2}", 0, 0, NULL);
    assert_int_equal(sink.reserved, 10);
    assert_int_equal(writer_resize(handle->writer, &caller, 20), 0);
    assert_int_equal(sink.reserved, 21);
    assert_int_equal(writer_resize(handle->writer, &caller, 3), 0);
    assert_int_equal(sink.reserved, 4);
    write_at(handle, "}", 100, 0, NULL);
    assert_int_equal(sink.reserved, 102);
    assert_int_equal(writer_resize(handle->writer, &caller, 0), 0);
    assert_int_equal(sink.reserved, 1);
    struct writer *writer = writer_ref(other->writer);
    close_handle(other);
    assert_int_equal(sink.reserved, 0);
    close_handle(handle);
    writers_destroy(sink.writers);
    writer_unref(writer); /* a node had it */
}

static void a_text_that_is_opened_takes_room(void **state)
{
    struct sink *sink = *state;
    struct writer_handle *handle = open_changed(sink, EDIT_CHANGED);
    assert_int_equal(sink->reserved, strlen(STORED));
    struct writer_handle *appended = open_changed(sink, EDIT_APPENDED);
    assert_int_equal(sink->reserved, strlen(STORED)); /* it is not held */
    write_at(appended, "{}", 0, 0, NULL);
    assert_int_equal(sink->reserved, strlen(STORED) + 2);
    close_handle(appended);
    sink->room = sink->reserved;
    struct entity stored = entity_of(1);
    struct writer_begin again = {.address = name_a, .begin = EDIT_CHANGED, .snapshot = stored};
    struct caller caller = caller_of(OPENER);
    struct writer_handle *none = NULL;
    assert_int_equal(writers_open(sink->writers, &again, &caller, &none), -ENOSPC);
    assert_string_equal(caller.call.failure.message, "no room");
    assert_int_equal(sink->reserved, strlen(STORED));
    entity_finish(&stored);
    close_handle(handle);
    assert_int_equal(sink->reserved, 0);
}

/* What was written before is kept, as after every write that fails. */
static void a_write_without_room_fails(void **state)
{
    (void)state;
    struct sink sink = new_sink();
    struct caller caller = caller_of(OPENER);
    begin_writers(&sink);
    sink.room = 8;
    struct writer_handle *handle = open_new(&sink, name_a);
    write_at(handle, "{\"a\": ", 0, 0, NULL);
    write_at(handle, "[1, 2", 6, -ENOSPC, ""); /* the release reports it */
    assert_int_equal(writer_size(handle->writer), 6);
    assert_int_equal(writer_resize(handle->writer, &caller, 9), -ENOSPC);
    assert_int_equal(sink.reserved, 6);
    write_at(handle, "1}", 6, 0, NULL);
    assert_int_equal(sink.stores, 1); /* the text is whole after all */
    assert_int_equal(flush_as(handle, OPENER), 0);
    close_handle(handle);
    assert_int_equal(sink.reserved, 0);

    handle = open_new(&sink, name_a);
    write_at(handle, "{\"a\": ", 0, 0, NULL);
    write_at(handle, "123}", 6, -ENOSPC, "");
    assert_int_equal(flush_as(handle, OPENER), -ENOSPC);
    close_handle(handle);
    assert_int_equal(sink.given_up_error, -ENOSPC);
    assert_string_equal(sink.lost, "{\"a\": ");
    assert_string_equal(sink.reason, "no room; the text lacks the write that failed");
    assert_int_equal(sink.reserved, 0);

    handle = open_new(&sink, name_a); /* nothing of it was written: no {} is stored */
    write_at(handle, "{\"a\": 123}", 0, -ENOSPC, "no room");
    close_handle(handle);
    assert_int_equal(sink.stores, 1);
    writers_destroy(sink.writers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_takes_room_for_its_length),
        TEST_WITH(sink, a_text_that_is_opened_takes_room),
        cmocka_unit_test(a_write_without_room_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
