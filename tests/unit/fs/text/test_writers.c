/* SPDX-License-Identifier: MIT */
#include "tests/unit/failing_memory.h"
#include "tests/unit/threads.h"
#include "tests/unit/writer_fixture.h"

#include <pthread.h>

DEFINE_FIXTURE(writers, struct sink, (*test = new_sink(), begin_writers(test)),
               writers_destroy(test->writers))

static struct held_writers *hold(struct sink *sink, struct address address)
{
    struct call call = {.deadline_ms = INT64_MAX};
    struct held_writers *held = NULL;
    assert_int_equal(writers_hold(sink->writers, address, &call, &held), 0);
    return held;
}

static void handles_of_a_new_file_share_its_text(void **state)
{
    struct sink *sink = *state;
    struct writer_handle *first = open_new(sink, name_a), *second, *none = NULL;
    struct writer_begin again = {.address = name_a, .begin = EDIT_EXCLUSIVE, .is_new = true};
    struct caller caller = caller_of(CHILD);
    assert_int_equal(writers_open(sink->writers, &again, &caller, &none), -EEXIST);
    struct writer *writer = writers_find_new(sink->writers, name_a);
    assert_ptr_equal(writer, first->writer);
    assert_int_equal(writer_open_handle(writer, CHILD, &second), 0);
    write_at(first, "{\"a\": ", 0, 0, NULL);
    close_handle(first);
    assert_int_equal(sink->stores + sink->given_up, 0);
    _cleanup_(buffer_finish) struct buffer text = {.max = 100};
    assert_int_equal(writer_read(second, &caller, 1, 3, &text), 0);
    assert_bytes(buffer_bytes(&text), B("\"a\""));
    assert_int_equal(writer_read(second, &caller, 99, 3, &text), 0);
    assert_int_equal(text.size, 3);
    write_at(second, "1}", 6, 0, NULL);
    close_handle(second);
    assert_string_equal(sink->text, "{\"a\": 1}");
    assert_int_equal(writer_open_handle(writer, CHILD, &none), -ESTALE);
    writer_unref(writer);
}

static void an_appended_new_file_can_be_read(void **state)
{
    struct sink *sink = *state;
    struct caller caller = caller_of(CHILD);
    struct writer_begin begin = {.address = name_a, .begin = EDIT_APPENDED, .is_new = true};
    struct writer_handle *handle = open_writer(sink, &begin);
    _cleanup_(buffer_finish) struct buffer text = {.max = 100};
    write_at(handle, "{\"a\": ", WRITER_AT_END, 0, NULL);
    assert_int_equal(writer_read(handle, &caller, 0, 100, &text), 0);
    assert_bytes(buffer_bytes(&text), B("{\"a\": "));
    write_at(handle, "1}", WRITER_AT_END, 0, NULL);
    buffer_clear(&text);
    assert_int_equal(writer_read(handle, &caller, 5, 100, &text), 0);
    assert_bytes(buffer_bytes(&text), B(" 1}"));
    close_handle(handle);
    assert_int_equal(sink->stores, 1);
}

static void a_removed_name_has_no_writers(void **state)
{
    struct sink *sink = *state;
    struct writer_handle *a = open_new(sink, name_a), *b = open_new(sink, name_b);
    struct caller caller = caller_of(OPENER), late = {.call = {.deadline_ms = 0}};
    struct held_writers *second, *held = hold(sink, name_a);
    assert_int_equal(writers_hold(sink->writers, name_a, &late.call, &second), -ETIMEDOUT);
    assert_int_equal(writer_write(a, &late, B("{}"), 0), -ETIMEDOUT);
    write_at(b, "{}", 0, 0, NULL);
    writers_let_go(held, false);
    write_at(a, "{", 0, 0, NULL);
    assert_true(is_found(sink, name_a));
    writers_let_go(hold(sink, name_a), true);
    assert_false(is_found(sink, name_a) || writers_is_open(sink->writers, name_a));
    struct writer_handle *next = open_new(sink, name_a); /* the name is free */
    assert_true(writers_has_new(sink->writers, name_a));
    assert_true(writers_is_open(sink->writers, name_a));
    assert_int_equal(flush_as(a, OPENER), 0); /* half a text, of which nothing is kept */
    assert_int_equal(writer_sync(a, &caller), 0);
    write_at(a, "}", 1, 0, NULL);
    assert_int_equal(writer_touch(a->writer, &caller), 0);
    assert_int_equal(sink->stores, 1);
    assert_int_equal(sink->touches, 0);
    close_handle(a);
    close_handle(b);
    close_handle(next);
    assert_int_equal(sink->stores, 2);
    assert_int_equal(sink->given_up, 0);
}

/* a gets the name b. Versions: "e50" of a before, "e60" of it as b. */
static void rename_a(struct sink *sink, bool is_stored)
{
    _cleanup_(entity_finish) struct entity before = {0};
    _cleanup_(entity_finish) struct entity after = {0};
    if (is_stored) {
        before = entity_of(50);
        after = entity_of(60);
    }
    writers_let_go_renamed(hold(sink, name_a), hold(sink, name_b), &before, &after);
}

static void writers_follow_a_rename(void **state)
{
    (void)state;
    static const struct {
        struct writer_begin begin;
        int version;
        const char *snapshot, *last_stored; /* of the next store */
    } cases[] = {
        {{.begin = EDIT_CHANGED}, 50, "e60", ""},
        {{.begin = EDIT_CHANGED}, 40, "e40", ""}, /* an older one: its store is refused */
        {{.begin = EDIT_OVER, .is_truncated = true}, 50, "e60", ""},
        {{.begin = EDIT_NEW, .is_new = true}, 0, "", "e60"}, /* its store's answer was lost */
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct sink sink = new_sink();
        begin_writers(&sink);
        struct writer_begin begin = cases[i].begin;
        _cleanup_(entity_finish) struct entity snapshot = {0};
        if (cases[i].version > 0)
            snapshot = entity_of(cases[i].version);
        begin.address = name_a;
        begin.snapshot = snapshot;
        struct writer_handle *a = open_writer(&sink, &begin);
        struct writer_handle *replaced = open_new(&sink, name_b);
        rename_a(&sink, true);
        assert_false(is_found(&sink, name_a));
        assert_false(is_found(&sink, name_b));
        write_at(replaced, "{\"b\": 1}", 0, 0, NULL);
        close_handle(replaced);
        assert_int_equal(sink.stores, 0);
        write_at(a, "{\"new\": 1}", 0, 0, NULL);
        assert_int_equal(flush_as(a, OPENER), 0);
        close_handle(a);
        assert_string_equal(sink.position, "b");
        assert_string_equal(sink.snapshot, cases[i].snapshot);
        assert_string_equal(sink.last_stored, cases[i].last_stored);
        assert_int_equal(sink.given_up, 0);
        writers_destroy(sink.writers);
    }
}

static void a_new_file_that_is_renamed_stays_new(void **state)
{
    struct sink *sink = *state;
    struct writer_handle *a = open_new(sink, name_a);
    rename_a(sink, false);
    assert_false(is_found(sink, name_a));
    assert_true(is_found(sink, name_b));
    struct writer_handle *next = open_new(sink, name_a); /* the name is free */
    write_at(a, "{}", 0, 0, NULL);
    assert_string_equal(sink->position, "b");
    assert_int_equal(sink->begin, EDIT_NEW);
    assert_string_equal(sink->last_stored, "");
    close_handle(a);
    close_handle(next);
    assert_int_equal(sink->stores, 2);
}

/* By another spelling of the path, while the delete is under way. */
static void a_file_that_is_created_during_an_unlink_stays(void **state)
{
    struct sink *sink = *state;
    struct caller caller = caller_of(OPENER);
    _cleanup_(entity_finish) struct entity snapshot = entity_of(50);
    struct held_writers *held = hold(sink, name_a);
    struct writer_handle *stored = open_writer(
        sink,
        &(struct writer_begin){.address = name_a, .begin = EDIT_CHANGED, .snapshot = snapshot});
    struct writer_handle *created = open_new(sink, name_a);
    assert_false(writers_held_is_unstored(held)); /* the removed file may be stored */
    writers_let_go(held, true);
    assert_true(is_found(sink, name_a));
    write_at(stored, "{}", 0, 0, NULL); /* of the removed file */
    assert_int_equal(writer_sync(stored, &caller), 0);
    assert_int_equal(sink->stores, 0);
    write_at(created, "{\"a\": 1}", 0, 0, NULL);
    assert_int_equal(sink->stores, 1);
    close_handle(stored);
    close_handle(created);
}

/* What may be stored is to be deleted with the name. */
static void a_removed_name_may_be_stored(void **state)
{
    struct sink *sink = *state;
    struct held_writers *held = hold(sink, name_a);
    assert_false(writers_held_is_unstored(held)); /* no writer */
    writers_let_go(held, false);
    struct writer_handle *handle = open_new(sink, name_a);
    static const struct {
        int error;
        bool is_ambiguous, is_unstored;
    } stores[] = {{-EACCES, false, true}, {-ETIMEDOUT, true, false}, {0, false, false}};
    for (size_t i = 0; i < ARRAY_SIZE(stores); i++) {
        sink->error = stores[i].error;
        sink->is_ambiguous = stores[i].is_ambiguous;
        write_at(handle, "{}", 0, stores[i].error, NULL);
        held = hold(sink, name_a);
        assert_int_equal(writers_held_is_unstored(held), stores[i].is_unstored);
        writers_let_go(held, false);
    }
    close_handle(handle);
}

/* The write comes while an unlink holds the name, or its caller is refused before. */
static void a_missed_write_leaves_no_empty_entity(void **state)
{
    struct sink *sink = *state;
    struct caller caller = caller_of(OPENER), late = {.call = {.deadline_ms = 0}};
    struct held_writers *held;
    for (int i = 0; i < 2; i++) {
        struct writer_handle *handle = open_new(sink, name_a);
        held = hold(sink, name_a);
        if (i == 0)
            assert_int_equal(writer_write(handle, &late, B("{}"), 0), -ETIMEDOUT);
        else
            writer_miss_write(handle);
        writers_let_go(held, false);
        close_handle(handle);
    }
    struct writer_handle *handle = open_new(sink, name_a);
    writer_miss_write(handle);
    assert_int_equal(writer_resize(handle->writer, &caller, 0), 0); /* forgotten with the text */
    assert_int_equal(sink->stores + sink->given_up, 0);
    close_handle(handle);
    assert_int_equal(sink->stores, 1);
}

static void *write_object(void *handle)
{
    write_at(handle, "{}", 0, 0, NULL);
    return NULL;
}

/* A store that was under way does not bring the name back. */
static void unlink_waits_for_a_store(void **state)
{
    struct sink *sink = *state;
    struct writer_handle *a = open_new(sink, name_a);
    struct caller late = {.call = {.deadline_ms = 0}};
    struct held_writers *held;
    pthread_t thread;
    sink->is_closed = true;
    assert_int_equal(pthread_create(&thread, NULL, write_object, a), 0);
    while (!sink->is_inside)
        (void)usleep(1000);
    assert_int_equal(writers_hold(sink->writers, name_a, &late.call, &held), -ETIMEDOUT);
    assert_int_equal(writer_flush(a, &late), -ETIMEDOUT);
    assert_int_equal(writer_size(a->writer), 0); /* what may be refused is not shown */
    sink->is_closed = false;
    held = hold(sink, name_a);
    assert_int_equal(sink->stores, 1);
    writers_let_go(held, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    close_handle(a);
}

static void a_listing_shows_new_files_in_order(void **state)
{
    struct sink *sink = *state;
    static const struct address addresses[] = {
        {"T", B("p\0b")}, {"T", B("o\0x")}, {"T", B("p\0")}, {"U", B("p\0a")}, {"T", B("p\0c")}};
    struct writer_handle *handles[ARRAY_SIZE(addresses)];
    for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
        handles[i] = open_new(sink, addresses[i]);
    write_at(handles[4], "{}", 0, 0, NULL); /* stored: it is no longer new */
    struct directory directory = {
        .kind = DIRECTORY_ENTITIES, .table = "T", .range = {B("p\0"), B("p\x01")}};
    _cleanup_(buffer_finish) struct buffer position = {.max = 100};
    assert_true(writers_next_new(sink->writers, &directory, B(""), &position));
    assert_bytes(buffer_bytes(&position), B("p\0"));
    buffer_clear(&position);
    assert_true(writers_next_new(sink->writers, &directory, B("p\0"), &position));
    assert_bytes(buffer_bytes(&position), B("p\0b"));
    assert_false(writers_next_new(sink->writers, &directory, B("p\0b"), &position));
    for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
        close_handle(handles[i]);
}

struct visited {
    int count;
    char text[64], row[2];
};

static void note_visited(void *context, struct address address, struct bytes text)
{
    struct visited *visited = context;
    visited->count++;
    copy_text(visited->text, sizeof(visited->text), text);
    copy_text(visited->row, sizeof(visited->row), position_row_key(address.position));
}

static struct visited unstored_of(struct sink *sink)
{
    struct visited visited = {0};
    writers_for_each_unstored(sink->writers, note_visited, &visited);
    return visited;
}

static void texts_that_are_not_stored_are_visited(void **state)
{
    struct sink *sink = *state;
    struct writer_handle *a = open_new(sink, name_a), *b = open_new(sink, name_b);
    write_at(a, "{\"a\": 1}\n", 0, 0, NULL);
    assert_int_equal(unstored_of(sink).count, 0); /* stored, and blank */
    write_at(a, "2", 6, 0, NULL);
    struct visited visited = unstored_of(sink);
    assert_int_equal(visited.count, 1);
    assert_string_equal(visited.text, "{\"a\": 2}\n");
    assert_string_equal(visited.row, "a");
    write_at(b, "{\"half\"", 0, 0, NULL);
    assert_int_equal(unstored_of(sink).count, 2);
    writers_let_go(hold(sink, name_b), true);
    assert_int_equal(unstored_of(sink).count, 1); /* the other is removed */
    sink->error = -ESTALE;
    assert_int_equal(flush_as(a, OPENER), -ESTALE);
    assert_int_equal(unstored_of(sink).count, 1); /* it is given up by the release */
    close_handle(a);
    close_handle(b);
    assert_int_equal(sink->given_up, 1);
    assert_int_equal(unstored_of(sink).count, 0);
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

static void at_unmount_a_text_that_was_changed_in_place_is_stored(void **state)
{
    struct sink *sink = *state;
    _cleanup_(entity_finish) struct entity entity = entity_of(0);
    const struct writer_begin begin = {
        .address = name_a, .begin = EDIT_CHANGED, .snapshot = entity};
    struct caller caller = caller_of(0);
    write_at(open_writer(sink, &begin), "7", 8, 0, NULL);
    writers_release_all(sink->writers, &caller);
    assert_string_equal(sink->text, "{\"old\": 7}");
    assert_int_equal(sink->given_up, 0);

    write_at(open_writer(sink, &begin), "]", 9, 0, NULL); /* no object */
    writers_release_all(sink->writers, &caller);
    assert_int_equal(sink->stores, 1);
    assert_string_equal(sink->lost, "{\"old\": 1]");

    sink->error = -EACCES;
    write_at(open_writer(sink, &begin), "8", 8, 0, NULL);
    writers_release_all(sink->writers, &caller);
    assert_int_equal(sink->stores, 2); /* it is not sent twice */
    assert_int_equal(sink->given_up, 2);
    assert_int_equal(sink->given_up_error, -EACCES);
    assert_string_equal(sink->lost, "{\"old\": 8}");
}

/* The deadline of the last store, of two. */
static int64_t last_deadline(int error, int64_t deadline_ms)
{
    struct sink sink = new_sink();
    begin_writers(&sink);
    (void)open_new(&sink, name_a);
    (void)open_new(&sink, name_b);
    sink.error = error;
    struct caller caller = {.call = {.deadline_ms = deadline_ms}, .patience_ms = 3600000};
    writers_release_all(sink.writers, &caller);
    assert_int_equal(sink.stores, 2);
    writers_destroy(sink.writers);
    return sink.deadline_ms;
}

/* However many there are: as long as the service answers, each has time. */
static void at_unmount_time_runs_out_without_answers_alone(void **state)
{
    (void)state;
    int64_t deadline_ms = clock_now_ms(&clock_system) + 60000;
    assert_true(last_deadline(0, deadline_ms) > deadline_ms);
    assert_true(last_deadline(-EACCES, deadline_ms) > deadline_ms);
    assert_int_equal(last_deadline(-ETIMEDOUT, deadline_ms), deadline_ms);
}

static void a_node_keeps_a_writer(void **state)
{
    struct sink *sink = *state;
    struct writer_handle *a = open_new(sink, name_a);
    struct node_file *file = writer_node_file(a->writer);
    assert_ptr_equal(writer_of_node_file(file), a->writer);
    file->ops->ref(file);
    close_handle(a);
    struct writer_handle *none;
    assert_int_equal(writer_open_handle(writer_of_node_file(file), OPENER, &none), -ESTALE);
    file->ops->unref(file);
}

static void without_memory_no_writer_begins(void **state)
{
    struct sink *sink = *state;
    _cleanup_(entity_finish) struct entity snapshot = entity_of(50);
    struct writer_begin begin = {.address = name_a, .begin = EDIT_CHANGED, .snapshot = snapshot};
    struct writer_handle *handle = NULL;
    struct caller caller = caller_of(OPENER);
    for (long n = 1; !handle; n++) {
        allocations_until_failure = n;
        int r = writers_open(sink->writers, &begin, &caller, &handle);
        assert_int_equal(r, allocations_until_failure == 0 ? -ENOMEM : 0);
        allocations_until_failure = 0;
    }
    close_handle(handle);
}

static void without_memory_no_name_is_held(void **state)
{
    struct sink *sink = *state;
    struct held_writers *held = NULL;
    struct caller caller = caller_of(OPENER);
    for (long n = 1; !held; n++) {
        allocations_until_failure = n;
        int r = writers_hold(sink->writers, name_a, &caller.call, &held);
        assert_int_equal(r, allocations_until_failure == 0 ? -ENOMEM : 0);
        allocations_until_failure = 0;
    }
    writers_let_go(held, false);
}

/* 8 threads create, write, unlink and close one name again and again. */
static void *write_again_and_again(void *context)
{
    struct sink *sink = context;
    struct writer_begin begin = {.address = name_a, .begin = EDIT_NEW, .is_new = true};
    for (int i = 0; i < 500; i++) {
        struct caller caller = caller_of(OPENER);
        struct writer_handle *handle = NULL;
        if (writers_open(sink->writers, &begin, &caller, &handle) == -EEXIST) {
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
    struct sink *sink = *state;
    sink->is_shared = true;
    run_in_threads(8, write_again_and_again, sink, 0);
    assert_false(is_found(sink, name_a));
}

#define UNSETTLED(row)                                                                             \
    ((struct address){"T", B("u\xfe\x01\0" row)}) /* in a directory without a key */

static const struct address unsettled = {"T", B("p\0u\xfe\x01")};
static const struct settlement settlement = {"T", B("u\xfe\x01"), B("p")};

static void a_text_settles_the_name_of_a_new_file(void **state)
{
    struct sink *sink = *state;
    struct writer_handle *handle = open_new(sink, unsettled);
    assert_true(is_found(sink, unsettled));
    sink->settle_error = -EINVAL;
    write_at(handle, "{}", 0, -EINVAL, "not settled");
    assert_true(is_found(sink, unsettled));
    assert_int_equal(sink->stores, 0);
    sink->settle_error = 0;
    write_at(handle, "{}", 0, 0, NULL);
    assert_int_equal(sink->settles, 2);
    assert_string_equal(sink->position, "b");
    assert_false(is_found(sink, unsettled));
    assert_true(writers_is_open(sink->writers, name_b));
    write_at(handle, " ", 2, 0, NULL);
    close_handle(handle);
    assert_int_equal(sink->settles, 2);
}

static void without_a_text_an_unsettled_name_is_not_stored(void **state)
{
    struct sink *sink = *state;
    struct caller caller = caller_of(OPENER);
    struct writer_handle *handle = open_new(sink, unsettled);
    assert_int_equal(flush_as(handle, OPENER), -EINVAL);
    assert_int_equal(writer_sync(handle, &caller), -EINVAL);
    sink->settle_error = -EINVAL;
    assert_int_equal(writer_touch(handle->writer, &caller), -EINVAL);
    close_handle(handle);
    assert_int_equal(sink->stores, 0);
    assert_int_equal(sink->given_up, 1);
    assert_true(sink->is_new_given_up);
}

/* Another file of the directory settled it, while these were open, or just being stored. */
static void names_are_settled_at_any_time(void **state)
{
    struct sink *sink = *state;
    struct writer_handle *handles[] = {open_new(sink, UNSETTLED("a")),
                                       open_new(sink, UNSETTLED("b")),
                                       open_new(sink, UNSETTLED("c"))};
    const struct directory directory = {
        .kind = DIRECTORY_ENTITIES, .table = "T", .range = {B("p\0"), B("p\x01")}};
    _cleanup_(buffer_finish) struct buffer position = {.max = 100};
    assert_int_equal(writers_settle(sink->writers, &settlement), 0);
    struct bytes after = B("");
    while (writers_next_new(sink->writers, &directory, after, &position))
        after = bytes_skip(buffer_bytes(&position), position.size - 3);
    assert_bytes(buffer_bytes(&position), B("p\0ap\0bp\0c"));
    assert_false(is_found(sink, UNSETTLED("b")));
    for (size_t i = 0; i < ARRAY_SIZE(handles); i++)
        close_handle(handles[i]);
    assert_int_equal(sink->settles, 0); /* {} can be stored */
    assert_int_equal(sink->stores, 3);
    assert_string_equal(sink->position, "c");
    struct writer_handle *handle = open_new(sink, UNSETTLED("b"));
    allocations_until_failure = 1;
    assert_int_equal(writers_settle(sink->writers, &settlement), -ENOMEM);
    assert_true(is_found(sink, UNSETTLED("b")));
    drop_handle(handle);
}

/* A text of another file of the directory settled it while a file in it was being removed, or got
 * another name. */
static void a_hold_is_settled(void **state)
{
    static const struct address settled = {"T", B("p\0c")};
    struct sink *sink = *state;
    const struct entity nothing = {0};
    struct writer_handle *handle = open_new(sink, UNSETTLED("b"));
    struct held_writers *from = hold(sink, UNSETTLED("b")), *to = hold(sink, UNSETTLED("c"));
    assert_int_equal(writers_settle(sink->writers, &settlement), 0);
    assert_true(writers_held_is_unstored(from));
    writers_let_go_renamed(from, to, &nothing, &nothing);
    assert_true(is_found(sink, settled));
    assert_false(is_found(sink, name_b) || is_found(sink, UNSETTLED("c")));
    writers_let_go(hold(sink, settled), true);
    assert_false(is_found(sink, settled));
    close_handle(handle);

    handle = open_new(sink, UNSETTLED("b"));
    from = hold(sink, UNSETTLED("b"));
    assert_int_equal(writers_settle(sink->writers, &settlement), 0);
    writers_let_go(from, true);
    assert_false(is_found(sink, name_b));
    close_handle(handle);
    assert_int_equal(sink->stores + sink->given_up, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(writers, handles_of_a_new_file_share_its_text),
        TEST_WITH(writers, an_appended_new_file_can_be_read),
        TEST_WITH(writers, a_removed_name_has_no_writers),
        cmocka_unit_test(writers_follow_a_rename),
        TEST_WITH(writers, a_new_file_that_is_renamed_stays_new),
        TEST_WITH(writers, a_file_that_is_created_during_an_unlink_stays),
        TEST_WITH(writers, a_removed_name_may_be_stored),
        TEST_WITH(writers, a_missed_write_leaves_no_empty_entity),
        TEST_WITH(writers, unlink_waits_for_a_store),
        TEST_WITH(writers, a_listing_shows_new_files_in_order),
        TEST_WITH(writers, texts_that_are_not_stored_are_visited),
        cmocka_unit_test(at_unmount_every_handle_is_released),
        TEST_WITH(writers, at_unmount_a_text_that_was_changed_in_place_is_stored),
        cmocka_unit_test(at_unmount_time_runs_out_without_answers_alone),
        TEST_WITH(writers, a_node_keeps_a_writer),
        TEST_WITH(writers, without_memory_no_writer_begins),
        TEST_WITH(writers, without_memory_no_name_is_held),
        TEST_WITH(writers, threads_share_writers),
        TEST_WITH(writers, a_text_settles_the_name_of_a_new_file),
        TEST_WITH(writers, without_a_text_an_unsettled_name_is_not_stored),
        TEST_WITH(writers, names_are_settled_at_any_time),
        TEST_WITH(writers, a_hold_is_settled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
