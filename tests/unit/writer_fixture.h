/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_WRITER_FIXTURE_H
#define TESTS_UNIT_WRITER_FIXTURE_H
/* Writers that store into a sink. It records the last store, and returns the error that the test
 * has set. */
#include "fs/text/writer.h"
#include "tests/unit/unit.h"

#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#define OPENER 7
#define CHILD  8

static const struct address name_a = {"T", B("p\0a")}, name_b = {"T", B("p\0b")};

/* What writers store through. Records the last store, returns `error`, and can wait at a gate. */
struct sink {
    struct writers *writers;
    int error;                   /* of the next stores; 0: they succeed */
    bool is_ambiguous, is_wordy; /* of these refusals */
    int settles, settle_error;   /* of unsettled names */
    int stores, touches, given_up, given_up_error;
    char position[2]; /* its row's key: "a" or "b" */
    char text[256], snapshot[32], last_stored[32], known[32], lost[256];
    bool is_changed_by_another; /* what is touched */
    bool has_queued;            /* the last store goes on with a text that was queued */
    enum edit_begin begin;
    int64_t deadline_ms;
    uint64_t process;
    char reason[256], operation[16];   /* of what was given up last */
    _Atomic bool is_closed, is_inside; /* a gate */
    bool is_new_given_up, is_told_given_up;
    bool is_shared; /* by threads: nothing is remembered */
    _Atomic size_t reserved;
    size_t room; /* for texts; 0: no limit */
};

static inline void copy_text(char *ret, size_t size, struct bytes text)
{
    (void)snprintf(ret, size, "%.*s", (int)text.size, text.data ? text.data : "");
}

static inline struct entity entity_of(int number)
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

static inline int sink_store(void *context, struct caller *caller, const struct writer_text *text,
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
    copy_text(sink->position, sizeof(sink->position), position_row_key(text->address.position));
    copy_text(sink->text, sizeof(sink->text), text->text);
    copy_text(sink->snapshot, sizeof(sink->snapshot), text->snapshot);
    copy_text(sink->last_stored, sizeof(sink->last_stored), text->last_stored);
    sink->begin = text->begin;
    sink->has_queued = text->queued;
    sink->deadline_ms = caller->call.deadline_ms;
    sink->process = caller->process;
    if (sink->error < 0) {
        (void)call_fail(&caller->call, sink->error, "%*srefused", sink->is_wordy ? 300 : 0, "");
        caller->call.failure.is_ambiguous = sink->is_ambiguous;
        caller->call.failure.http_status = sink->error == -ESTALE ? 412 : 0;
        return sink->error;
    }
    *ret = entity_of(sink->stores);
    return 0;
}

/* The key that the text tells is "b", unless it is to be refused. */
static inline int sink_settle(void *context, struct caller *caller, const struct writer_text *text)
{
    struct sink *sink = context;
    sink->settles++;
    if (sink->settle_error < 0)
        return call_fail(&caller->call, sink->settle_error, "not settled");
    const struct settlement settlement = {text->address.table, text->address.position, B("p\0b")};
    return writers_settle(sink->writers, &settlement);
}

static inline int sink_touch(void *context, struct caller *caller, struct address address,
                             struct bytes known, const struct later_etag *queued,
                             struct entity *ret)
{
    struct sink *sink = context;
    (void)caller;
    (void)queued;
    assert_bytes(address.position, name_a.position);
    sink->touches++;
    copy_text(sink->known, sizeof(sink->known), known);
    if (!sink->is_changed_by_another)
        *ret = entity_of(100);
    return 0;
}

static inline void sink_give_up(void *context, struct caller *caller,
                                const struct writer_loss *loss)
{
    struct sink *sink = context;
    (void)snprintf(sink->operation, sizeof(sink->operation), "%s", loss->operation);
    sink->given_up++;
    sink->given_up_error = loss->error;
    sink->is_new_given_up = loss->is_new;
    sink->is_told_given_up = loss->is_reported;
    copy_text(sink->lost, sizeof(sink->lost), loss->text);
    (void)snprintf(sink->reason, sizeof(sink->reason), "%s", caller->call.failure.message);
}

static inline int sink_reserve(void *context, struct caller *caller, size_t own, size_t more)
{
    struct sink *sink = context;
    assert_true(own <= sink->reserved);
    if (sink->room > 0 && sink->reserved + more > sink->room)
        return call_fail(&caller->call, -ENOSPC, "no room");
    sink->reserved += more;
    return 0;
}

static inline void sink_set_reserved(void *context, size_t before, size_t after)
{
    struct sink *sink = context;
    assert_true(before <= sink->reserved);
    sink->reserved += after - before;
}

static inline struct sink new_sink(void)
{
    return (struct sink){0};
}

static inline struct writer_store store_of(struct sink *sink)
{
    return (struct writer_store){sink_store, sink_touch,   sink_give_up,     sink_settle,
                                 sink,       sink_reserve, sink_set_reserved};
}

static inline void begin_writers(struct sink *sink)
{
    struct writer_store store = store_of(sink);
    assert_int_equal(writers_create(&clock_system, &store, &sink->writers), 0);
}

static inline struct caller caller_of(uint64_t process)
{
    return (struct caller){.call = {.deadline_ms = INT64_MAX}, .process = process};
}

static inline struct writer_handle *open_writer(struct sink *sink, const struct writer_begin *begin)
{
    struct writer_handle *handle;
    struct caller caller = caller_of(OPENER);
    assert_int_equal(writers_open(sink->writers, begin, &caller, &handle), 0);
    return handle;
}

static inline struct writer_handle *open_new(struct sink *sink, struct address address)
{
    return open_writer(
        sink, &(struct writer_begin){.address = address, .begin = EDIT_NEW, .is_new = true});
}

/* reason: a part of it; "": it is reported later; NULL: it succeeds */
static inline void write_at(struct writer_handle *handle, const char *text, uint64_t offset,
                            int expected, const char *reason)
{
    struct caller caller = caller_of(OPENER);
    assert_int_equal(writer_write(handle, &caller, bytes_of(text), offset), expected);
    if (reason && (!strstr(caller.call.failure.message, reason) ||
                   (*reason == '\0') != (caller.call.failure.error == 0)))
        fail_msg("%s", caller.call.failure.message);
}

static inline int flush_as(struct writer_handle *handle, uint64_t process)
{
    struct caller caller = caller_of(process);
    return writer_flush(handle, &caller);
}

static inline void close_handle(struct writer_handle *handle)
{
    struct caller caller = caller_of(OPENER);
    writer_close_handle(handle, &caller);
}

static inline void drop_handle(struct writer_handle *handle)
{
    struct caller caller = caller_of(OPENER);
    writer_drop_handle(handle, &caller);
}

static inline bool is_found(struct sink *sink, struct address address)
{
    struct writer *writer = writers_find_new(sink->writers, address);
    writer_unref(writer);
    return writer;
}

DEFINE_FIXTURE(sink, struct sink, (*test = new_sink(), begin_writers(test)),
               writers_destroy(test->writers))

#endif
