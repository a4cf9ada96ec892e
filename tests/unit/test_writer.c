#include "fs/files/writer.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define OPENER 7
#define CHILD  8

static const struct address name_a = {"T", B("p\0a")}, name_b = {"T", B("p\0b")};

/* What writers store through: remembers the last store, fails as told, and can stand still. */
struct sink {
    struct writers *writers;
    int error; /* of the next stores; 0: they succeed */
    bool is_ambiguous;
    int stores, touches, given_up, given_up_error;
    char text[256], snapshot[32], last_stored[32], lost[256], position[32];
    enum edit_begin begin;
    bool may_be_stored;
    char reason[256];
    _Atomic bool is_closed, is_inside; /* a gate */
    bool is_shared;                    /* by threads: nothing is remembered */
};

static void copy_text(char *ret, size_t size, struct bytes text)
{
    (void)snprintf(ret, size, "%.*s", (int)text.size, text.data ? text.data : "");
}

static struct entity entity_of(int number)
{
    _cleanup_(page_builder_destroyp) struct page_builder *builder = NULL;
    struct page *page;
    char etag[16];
    (void)snprintf(etag, sizeof(etag), "e%d", number);
    assert_int_equal(page_builder_create(1000, &builder), 0);
    (void)buffer_append_string(page_builder_text(builder), "{\"old\": 1}");
    assert_int_equal(page_builder_end_row(builder, B("p\0a"), bytes_of(etag), 1), 0);
    assert_int_equal(page_builder_finish(builder, RANGE_ALL, false, &page), 0);
    return (struct entity){page, 0};
}

static int sink_store(void *context, struct caller *caller, const struct writer_text *text,
                      struct entity *ret)
{
    struct sink *sink = context;
    if (sink->is_shared) {
        (void)sched_yield();
        *ret = entity_of(1);
        return 0;
    }
    sink->is_inside = true;
    while (sink->is_closed)
        (void)usleep(1000);
    sink->stores++;
    copy_text(sink->text, sizeof(sink->text), text->text);
    copy_text(sink->snapshot, sizeof(sink->snapshot), text->snapshot);
    copy_text(sink->last_stored, sizeof(sink->last_stored), text->last_stored);
    sink->begin = text->begin;
    sink->may_be_stored = text->may_be_stored;
    if (sink->error < 0) {
        (void)call_fail(&caller->call, sink->error, "refused");
        caller->call.failure.is_ambiguous = sink->is_ambiguous;
        return sink->error;
    }
    *ret = entity_of(sink->stores);
    return 0;
}

static int sink_touch(void *context, struct caller *caller, struct address address,
                      struct entity *ret)
{
    struct sink *sink = context;
    (void)caller;
    assert_bytes(address.position, name_a.position);
    sink->touches++;
    *ret = entity_of(100);
    return 0;
}

static void sink_give_up(void *context, struct caller *caller, struct address address,
                         struct bytes text, int error)
{
    struct sink *sink = context;
    (void)address;
    sink->given_up++;
    sink->given_up_error = error;
    copy_text(sink->lost, sizeof(sink->lost), text);
    (void)snprintf(sink->reason, sizeof(sink->reason), "%s", caller->call.failure.message);
}

static struct sink new_sink(void)
{
    return (struct sink){0};
}

static void begin_writers(struct sink *sink)
{
    struct writer_store store = {sink_store, sink_touch, sink_give_up, sink};
    assert_int_equal(writers_create(&clock_system, &store, &sink->writers), 0);
}

static struct caller caller_of(uint64_t process)
{
    return (struct caller){.call = {.deadline_ms = INT64_MAX}, .process = process};
}

static struct writer_handle *open_writer(struct sink *sink, const struct writer_begin *begin)
{
    struct writer_handle *handle;
    assert_int_equal(writers_open(sink->writers, begin, OPENER, &handle), 0);
    return handle;
}

static struct writer_handle *open_new(struct sink *sink, struct address address)
{
    return open_writer(
        sink, &(struct writer_begin){.address = address, .begin = EDIT_NEW, .is_new = true});
}

/* reason: a part of it; NULL: it succeeds */
static void write_at(struct writer_handle *handle, const char *text, uint64_t offset, int expected,
                     const char *reason)
{
    struct caller caller = caller_of(OPENER);
    assert_int_equal(writer_write(handle, &caller, bytes_of(text), offset), expected);
    if (reason && !strstr(caller.call.failure.message, reason))
        fail_msg("%s", caller.call.failure.message);
}

static int flush_as(struct writer_handle *handle, uint64_t process)
{
    struct caller caller = caller_of(process);
    return writer_flush(handle, &caller);
}

static void close_handle(struct writer_handle *handle)
{
    struct caller caller = caller_of(OPENER);
    writer_close_handle(handle, &caller);
}

static bool is_found(struct sink *sink, struct address address)
{
    struct writer *writer = writers_find_new(sink->writers, address);
    writer_unref(writer);
    return writer;
}

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

static void a_refused_write_leaves_the_text_as_it_was(void **state)
{
    (void)state;
    struct sink sink = new_sink();
    begin_writers(&sink);
    struct writer_handle *handle = open_new(&sink, name_a);
    write_at(handle, "hello", 0, -EINVAL, "line 1, column 1");
    assert_int_equal(writer_size(handle->writer), 0);
    write_at(handle, "{\n\"a\":", 0, 0, NULL);
    write_at(handle, "?", 6, -EINVAL, "line 2, column 5");
    sink.error = -EACCES;
    write_at(handle, "1}", 6, -EACCES, "refused");
    assert_int_equal(writer_size(handle->writer), 6);
    assert_true(is_found(&sink, name_a));
    sink.error = -ETIMEDOUT;
    sink.is_ambiguous = true;
    assert_false(sink.may_be_stored);
    write_at(handle, "1}", 6, -ETIMEDOUT, "refused");
    sink.error = 0;
    write_at(handle, "2}", 6, 0, NULL);
    assert_true(sink.may_be_stored); /* the store before may have been made */
    assert_string_equal(sink.text, "{\n\"a\":2}");
    close_handle(handle);
    assert_int_equal(sink.given_up, 0);
    writers_destroy(sink.writers);
}

static void the_last_release_stores_or_gives_up(void **state)
{
    (void)state;
    struct sink sink = new_sink();
    begin_writers(&sink);
    close_handle(open_new(&sink, name_a)); /* touch, `: > f` */
    assert_int_equal(sink.stores, 1);
    assert_string_equal(sink.text, "{}");

    struct writer_handle *handle = open_new(&sink, name_a);
    write_at(handle, "{\"a\": ", 0, 0, NULL);
    assert_int_equal(flush_as(handle, CHILD), 0);
    assert_int_equal(flush_as(handle, OPENER), -EINVAL);
    close_handle(handle);
    assert_int_equal(sink.given_up, 1);
    assert_int_equal(sink.given_up_error, -EINVAL);
    assert_string_equal(sink.lost, "{\"a\": ");
    assert_non_null(strstr(sink.reason, "the text ends before its JSON object does"));

    handle = open_new(&sink, name_a);
    sink.error = -EHOSTUNREACH;
    close_handle(handle);
    assert_int_equal(sink.given_up_error, -EHOSTUNREACH);
    sink.error = 0;

    handle = open_new(&sink, name_a); /* echo hello > new.json */
    write_at(handle, "hello", 0, -EINVAL, NULL);
    close_handle(handle);
    assert_int_equal(sink.given_up, 3);
    assert_int_equal(sink.stores, 2);

    writer_drop_handle(open_new(&sink, name_a)); /* the kernel did not take the open */
    assert_int_equal(sink.stores, 2);
    assert_false(is_found(&sink, name_a));
    writers_destroy(sink.writers);
}

static void handles_of_a_new_file_share_its_text(void **state)
{
    (void)state;
    struct sink sink = new_sink();
    begin_writers(&sink);
    struct writer_handle *first = open_new(&sink, name_a), *second, *none = NULL;
    struct writer_begin again = {.address = name_a, .begin = EDIT_EXCLUSIVE, .is_new = true};
    assert_int_equal(writers_open(sink.writers, &again, CHILD, &none), -EEXIST);
    struct writer *writer = writers_find_new(sink.writers, name_a);
    assert_ptr_equal(writer, first->writer);
    assert_int_equal(writer_open_handle(writer, CHILD, &second), 0);
    write_at(first, "{\"a\": ", 0, 0, NULL);
    close_handle(first);
    assert_int_equal(sink.stores + sink.given_up, 0);
    struct caller caller = caller_of(CHILD);
    struct buffer text;
    buffer_init(&text, 100);
    assert_int_equal(writer_read(second, &caller, 1, 3, &text), 0);
    assert_bytes(buffer_bytes(&text), B("\"a\""));
    assert_int_equal(writer_read(second, &caller, 99, 3, &text), 0);
    assert_int_equal(text.size, 3);
    write_at(second, "1}", 6, 0, NULL);
    close_handle(second);
    assert_string_equal(sink.text, "{\"a\": 1}");
    assert_int_equal(writer_open_handle(writer, CHILD, &none), -ESTALE);
    writer_unref(writer);
    buffer_finish(&text);
    writers_destroy(sink.writers);
}

static void each_open_of_a_stored_entity_has_its_own_text(void **state)
{
    (void)state;
    struct sink sink = new_sink();
    begin_writers(&sink);
    struct entity snapshot = entity_of(50);
    struct writer_begin changed = {.address = name_a, .begin = EDIT_CHANGED, .snapshot = snapshot};
    struct writer_handle *handle = open_writer(&sink, &changed), *other;
    struct caller caller = caller_of(OPENER);
    assert_int_equal(writer_size(handle->writer), 10);
    assert_false(is_found(&sink, name_a));
    write_at(handle, "2", 8, 0, NULL);
    assert_int_equal(sink.stores, 0); /* judged at flush */
    other = open_writer(&sink, &changed);
    assert_true(other->writer != handle->writer);
    assert_int_equal(flush_as(handle, OPENER), 0);
    assert_string_equal(sink.text, "{\"old\": 2}");
    assert_string_equal(sink.snapshot, "e50");
    assert_int_equal(sink.begin, EDIT_CHANGED);
    close_handle(handle);
    close_handle(other); /* nothing was changed */
    assert_int_equal(sink.stores, 1);

    struct writer_begin appended = changed;
    appended.begin = EDIT_APPENDED;
    handle = open_writer(&sink, &appended);
    struct buffer text;
    buffer_init(&text, 100);
    assert_int_equal(writer_read(handle, &caller, 0, 9, &text), -EBADF);
    buffer_finish(&text);
    write_at(handle, "{\"b\": 1}\n", 0, 0, NULL);
    assert_int_equal(sink.begin, EDIT_APPENDED);
    assert_int_equal(writer_size(handle->writer), 19);
    assert_int_equal(writer_resize(handle->writer, &caller, 3), -EINVAL);
    assert_string_equal(caller.call.failure.message,
                        "the size of a file that is open for appending can only become 0");
    assert_int_equal(writer_resize(handle->writer, &caller, 0), 0);
    write_at(handle, "{}", 0, 0, NULL);
    assert_int_equal(sink.begin, EDIT_OVER); /* size 0: the text replaces what is stored */
    close_handle(handle);

    struct writer_begin truncated = changed;
    truncated.begin = EDIT_OVER;
    truncated.is_truncated = true;
    handle = open_writer(&sink, &truncated);
    assert_int_equal(flush_as(handle, OPENER), -EINVAL);
    close_handle(handle); /* changes nothing on the service */
    assert_int_equal(sink.stores, 3);
    assert_int_equal(sink.given_up, 1);
    entity_finish(&snapshot);
    writers_destroy(sink.writers);
}

static void a_removed_name_has_no_writers(void **state)
{
    (void)state;
    struct sink sink = new_sink();
    begin_writers(&sink);
    struct writer_handle *a = open_new(&sink, name_a), *b = open_new(&sink, name_b);
    struct caller caller = caller_of(OPENER), late = {.call = {.deadline_ms = 0}};
    struct held_writers *held, *second;
    assert_int_equal(writers_hold(sink.writers, name_a, &caller.call, &held), 0);
    assert_int_equal(writers_hold(sink.writers, name_a, &late.call, &second), -ETIMEDOUT);
    assert_int_equal(writer_write(a, &late, B("{}"), 0), -ETIMEDOUT);
    write_at(b, "{}", 0, 0, NULL);
    writers_let_go(held, false);
    write_at(a, "{", 0, 0, NULL);
    assert_true(is_found(&sink, name_a));
    assert_int_equal(writers_hold(sink.writers, name_a, &caller.call, &held), 0);
    writers_let_go(held, true);
    assert_false(is_found(&sink, name_a));
    struct writer_handle *next = open_new(&sink, name_a); /* the name is free */
    write_at(a, "}", 1, 0, NULL);
    assert_int_equal(writer_touch(a->writer, &caller), 0);
    assert_int_equal(sink.stores, 1);
    assert_int_equal(sink.touches, 0);
    close_handle(a);
    close_handle(b);
    close_handle(next);
    assert_int_equal(sink.stores, 2);
    assert_int_equal(sink.given_up, 0);
    writers_destroy(sink.writers);
}

static void *write_object(void *handle)
{
    write_at(handle, "{}", 0, 0, NULL);
    return NULL;
}

/* A store that was under way does not bring the name back. */
static void unlink_waits_for_a_store(void **state)
{
    (void)state;
    struct sink sink = new_sink();
    begin_writers(&sink);
    struct writer_handle *a = open_new(&sink, name_a);
    struct caller caller = caller_of(OPENER), late = {.call = {.deadline_ms = 0}};
    struct held_writers *held;
    pthread_t thread;
    sink.is_closed = true;
    assert_int_equal(pthread_create(&thread, NULL, write_object, a), 0);
    while (!sink.is_inside)
        (void)usleep(1000);
    assert_int_equal(writers_hold(sink.writers, name_a, &late.call, &held), -ETIMEDOUT);
    assert_int_equal(writer_flush(a, &late), -ETIMEDOUT);
    assert_int_equal(writer_size(a->writer), 0); /* nobody sees what may be refused */
    sink.is_closed = false;
    assert_int_equal(writers_hold(sink.writers, name_a, &caller.call, &held), 0);
    assert_int_equal(sink.stores, 1);
    writers_let_go(held, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    close_handle(a);
    writers_destroy(sink.writers);
}

static void a_listing_shows_new_files_in_order(void **state)
{
    (void)state;
    struct sink sink = new_sink();
    begin_writers(&sink);
    static const struct address addresses[] = {
        {"T", B("p\0b")}, {"T", B("o\0x")}, {"T", B("p\0")}, {"U", B("p\0a")}, {"T", B("p\0c")}};
    struct writer_handle *handles[ARRAY_SIZE(addresses)];
    for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
        handles[i] = open_new(&sink, addresses[i]);
    write_at(handles[4], "{}", 0, 0, NULL); /* stored: it is no longer new */
    struct directory directory = {DIRECTORY_ENTITIES, "T", {B("p\0"), B("p\x01")}};
    struct buffer position;
    buffer_init(&position, 100);
    assert_true(writers_next_new(sink.writers, &directory, B(""), &position));
    assert_bytes(buffer_bytes(&position), B("p\0"));
    buffer_clear(&position);
    assert_true(writers_next_new(sink.writers, &directory, B("p\0"), &position));
    assert_bytes(buffer_bytes(&position), B("p\0b"));
    assert_false(writers_next_new(sink.writers, &directory, B("p\0b"), &position));
    buffer_finish(&position);
    for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
        close_handle(handles[i]);
    writers_destroy(sink.writers);
}

static void at_unmount_every_handle_is_released(void **state)
{
    (void)state;
    struct sink sink = new_sink();
    begin_writers(&sink);
    struct writer_handle *a = open_new(&sink, name_a), *b = open_new(&sink, name_b), *second;
    assert_int_equal(writer_open_handle(a->writer, CHILD, &second), 0);
    write_at(b, "{\"half\"", 0, 0, NULL);
    struct writer *kept = writer_ref(b->writer); /* a node */
    struct caller caller = caller_of(0);
    writers_release_all(sink.writers, &caller);
    assert_int_equal(sink.stores, 1);
    assert_int_equal(sink.given_up, 1);
    assert_string_equal(sink.lost, "{\"half\"");
    writers_destroy(sink.writers);
    writer_unref(kept);
}

static void a_node_keeps_a_writer(void **state)
{
    (void)state;
    struct sink sink = new_sink();
    begin_writers(&sink);
    struct writer_handle *a = open_new(&sink, name_a);
    struct node_file *file = writer_node_file(a->writer);
    assert_ptr_equal(writer_of_node_file(file), a->writer);
    file->ops->ref(file);
    close_handle(a);
    struct writer_handle *none;
    assert_int_equal(writer_open_handle(writer_of_node_file(file), OPENER, &none), -ESTALE);
    file->ops->unref(file);
    writers_destroy(sink.writers);
}

static void without_memory_no_writer_begins(void **state)
{
    (void)state;
    struct sink sink = new_sink();
    begin_writers(&sink);
    struct entity snapshot = entity_of(50);
    struct writer_begin begin = {.address = name_a, .begin = EDIT_CHANGED, .snapshot = snapshot};
    struct writer_handle *handle = NULL;
    bool is_reached = true;
    for (long n = 1; is_reached; n++) {
        allocations_until_failure = n;
        int r = writers_open(sink.writers, &begin, OPENER, &handle);
        is_reached = allocations_until_failure == 0;
        allocations_until_failure = 0;
        assert_int_equal(r, is_reached ? -ENOMEM : 0);
    }
    close_handle(handle);
    entity_finish(&snapshot);
    writers_destroy(sink.writers);
}

/* 8 threads create, write, unlink and close one name again and again. */
static void *write_again_and_again(void *context)
{
    struct sink *sink = context;
    struct writer_begin begin = {.address = name_a, .begin = EDIT_NEW, .is_new = true};
    for (int i = 0; i < 500; i++) {
        struct caller caller = caller_of(OPENER);
        struct writer_handle *handle = NULL;
        if (writers_open(sink->writers, &begin, OPENER, &handle) == -EEXIST) {
            struct writer *writer = writers_find_new(sink->writers, name_a);
            if (writer)
                (void)writer_open_handle(writer, OPENER, &handle);
            writer_unref(writer);
        }
        if (!handle)
            continue;
        (void)writer_write(handle, &caller, B("{\"a\": 1}"), 0);
        struct held_writers *held;
        if (i % 8 == 0 && writers_hold(sink->writers, name_a, &caller.call, &held) == 0)
            writers_let_go(held, i % 16 == 0);
        (void)writer_flush(handle, &caller);
        writer_close_handle(handle, &caller);
    }
    return NULL;
}

static void threads_share_writers(void **state)
{
    (void)state;
    struct sink sink = new_sink();
    pthread_t threads[8];
    begin_writers(&sink);
    sink.is_shared = true;
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_again_and_again, &sink), 0);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_false(is_found(&sink, name_a));
    writers_destroy(sink.writers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_write_that_completes_an_object_stores_it),
        cmocka_unit_test(a_refused_write_leaves_the_text_as_it_was),
        cmocka_unit_test(the_last_release_stores_or_gives_up),
        cmocka_unit_test(handles_of_a_new_file_share_its_text),
        cmocka_unit_test(each_open_of_a_stored_entity_has_its_own_text),
        cmocka_unit_test(a_removed_name_has_no_writers),
        cmocka_unit_test(unlink_waits_for_a_store),
        cmocka_unit_test(a_listing_shows_new_files_in_order),
        cmocka_unit_test(at_unmount_every_handle_is_released),
        cmocka_unit_test(a_node_keeps_a_writer),
        cmocka_unit_test(without_memory_no_writer_begins),
        cmocka_unit_test(threads_share_writers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
