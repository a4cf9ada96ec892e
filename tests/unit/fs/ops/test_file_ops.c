/* SPDX-License-Identifier: MIT */
/* Open files of writers, as FUSE's handlers end them. */
#include "fs/ops/file_ops.h"
#include "tests/unit/writer_fixture.h"

static bool is_cancelled(void *context)
{
    (void)context;
    fail_msg("the request was replied to, and is freed");
    return true;
}

static void give_up_uninterrupted(void *context, struct caller *caller,
                                  const struct writer_loss *loss)
{
    assert_false(call_is_cancelled(&caller->call));
    sink_give_up(context, caller, loss);
}

/* libfuse frees a request with its reply, also if the kernel does not take it. */
static void a_dropped_file_does_not_ask_for_interrupts(void **state)
{
    (void)state;
    struct sink sink = new_sink();
    struct writer_store store = store_of(&sink);
    store.give_up = give_up_uninterrupted;
    assert_int_equal(writers_create(&clock_system, &store, &sink.writers), 0);
    struct writer_handle *first = open_new(&sink, name_a), *second;
    struct open_file *file;
    assert_int_equal(writer_open_handle(first->writer, CHILD, &second), 0);
    assert_int_equal(open_file_create_writer(second, false, "cat", &file), 0);
    write_at(first, "{\"half\"", 0, 0, NULL);
    close_handle(first);
    struct file_system fs = {.writers = sink.writers};
    struct request request = {.fs = &fs, .caller = caller_of(CHILD)};
    request.caller.call.is_cancelled = is_cancelled;
    file_ops_drop(&request, 2, file);
    assert_int_equal(sink.given_up, 1);
    assert_string_equal(sink.lost, "{\"half\"");
    writers_destroy(sink.writers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dropped_file_does_not_ask_for_interrupts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
