/* SPDX-License-Identifier: MIT */
#include "client/entity/entity_input_refusal.h"
#include "fs/text/writer_parts.h"

static void take_name_locked(struct writer *writer)
{
    writer_name_unref(writer->event_name);
    writer->event_name = writer_name_ref(writer->name);
}

/* Makes the writer busy. */
static int begin_event(struct writer *writer, struct call *call)
{
    struct writers *writers = writer->writers;
    int r = 0;
    INSIDE(&writers->monitor);
    while (r == 0 && (writer->is_busy || (writer->state != WRITER_DETACHED &&
                                          writers_is_held_locked(writers, writer->address))))
        r = writers_wait_locked(writers, call);
    if (r == 0) {
        writer->is_busy = true;
        take_name_locked(writer);
        if (writer->has_missed_write)
            draft_missed_write(&writer->draft);
        writer->has_missed_write = false;
        draft_refuse_empty(&writer->draft, position_is_unsettled(writer->address.position)
                                               ? "the name is the short form of a long key, which "
                                                 "only a text tells that has the key"
                                               : NULL);
    }
    return r;
}

/* Once the last handle is closed, the text cannot be read any more, and is freed here: a node may
 * hold a reference to the writer for long. */
static void end_event(struct writer *writer)
{
    struct writers *writers = writer->writers;
    INSIDE(&writers->monitor);
    writer->is_busy = false;
    if (!writer->has_no_text)
        writer->size = draft_size(&writer->draft);
    if (LIST_EMPTY(&writer->handles)) {
        draft_finish(&writer->draft);
        writer->has_no_text = true;
    }
    writer_fit_reserved(writer);
    monitor_notify(&writers->monitor);
}

/* A call about the writer fails. */
static void note_reported(struct writer *writer)
{
    INSIDE(&writer->writers->monitor);
    writer->has_reported = true;
}

static bool has_reported(struct writer *writer)
{
    INSIDE(&writer->writers->monitor);
    return writer->has_reported;
}

/* While the writer is busy it does not become DETACHED: a hold of its name waits for it. */
static bool is_detached(struct writer *writer)
{
    INSIDE(&writer->writers->monitor);
    return writer->state == WRITER_DETACHED;
}

/* If the text is queued, the writer learns its ETag when it is stored. */
static void note_stored(struct writer *writer, struct entity *entity)
{
    struct writers *writers = writer->writers;
    int64_t timestamp = entity->page ? page_timestamp(entity->page, entity->row) : 0;
    if (entity->page)
        etag_set(&writer->last_stored, page_etag(entity->page, entity->row));
    writer->may_be_stored = false;
    later_etag_unref(TAKE_PTR(writer->queued));
    if (entity->page && page_later_etag(entity->page))
        writer->queued = later_etag_ref(page_later_etag(entity->page));
    entity_finish(entity);
    writer->refused = (struct failure){0};
    INSIDE(&writers->monitor);
    if (timestamp != 0)
        writer->timestamp = timestamp;
    if (writer->state == WRITER_NEW)
        writer->state = WRITER_OPEN;
    writer->has_reported = false;
}

/* Size 0 makes an ordinary text of an appended one. Of a new file that nothing was written to, {}
 * replaces nothing: another client may have stored the entity since the CREATE. */
static enum edit_begin begin_of(const struct writer *writer)
{
    enum edit_begin begin = writer->begin;
    if (begin == EDIT_APPENDED && !writer->draft.is_appended)
        begin = writer->draft.is_new ? EDIT_NEW : EDIT_OVER;
    bool is_empty = begin == EDIT_NEW && writer->draft.state == DRAFT_BLANK;
    return is_empty ? EDIT_EXCLUSIVE : begin;
}

/* The store of {} was refused because the entity exists already. That counts as success: an empty
 * file only has to exist. */
static bool is_there(const struct writer *writer, int error)
{
    return error == -EEXIST && writer->draft.state == DRAFT_BLANK &&
           writer->begin != EDIT_EXCLUSIVE;
}

/* Did a store fail with -ESTALE, because another client changed the entity first? */
static bool has_lost(const struct writer *writer)
{
    return writer->refused.error == -ESTALE;
}

/* If another client changed the entity first, a text that is written in order goes to lost+found
 * now, because the write is undone in the draft. Any other text stays in the draft until the
 * release. */
static void note_refused(struct writer *writer, struct caller *caller, int error, struct bytes text,
                         bool is_reported)
{
    const struct writer_store *sink = &writer->writers->store;
    if (writer->may_be_stored && (error == -ESTALE || error == -EEXIST))
        caller->call.failure.advice = "what is stored may be this file's earlier text, whose "
                                      "answer was lost; write the file again";
    writer->may_be_stored |= caller->call.failure.is_ambiguous;
    writer->refused = caller->call.failure;
    if (error != -ESTALE || writer->draft.state == DRAFT_LOOSE)
        return;
    const struct writer_loss loss = {.operation = "write",
                                     .address = writer_event_address(writer),
                                     .text = text,
                                     .is_reported = is_reported,
                                     .error = -ESTALE};
    sink->give_up(sink->context, caller, &loss);
    caller->call.failure = (struct failure){0}; /* give_up has reported it */
    writer->is_kept = true;
}

/* An address that is unsettled is settled by the text. */
static int settle(struct writer *writer, struct caller *caller, struct writer_text *text)
{
    const struct writer_store *store = &writer->writers->store;
    if (!position_is_unsettled(text->address.position))
        return 0;
    int r = store->settle(store->context, caller, text);
    if (r < 0)
        return r;
    monitor_enter(&writer->writers->monitor);
    take_name_locked(writer);
    monitor_leave(&writer->writers->monitor);
    text->address = writer_event_address(writer);
    return 0;
}

/* is_reported: this call or an earlier one reports a failure to a process. */
static int store(struct writer *writer, struct caller *caller, bool is_reported)
{
    const struct writer_store *store = &writer->writers->store;
    struct entity entity = {0};
    struct writer_text text = {.address = writer_event_address(writer),
                               .begin = begin_of(writer),
                               .text = draft_object(&writer->draft),
                               .snapshot = etag_bytes(&writer->snapshot),
                               .last_stored = etag_bytes(&writer->last_stored),
                               .queued = writer->queued,
                               .is_blank =
                                   writer->draft.is_new && writer->draft.state == DRAFT_BLANK,
                               .was_read = writer->was_read};
    int r = 0;
    if (!is_detached(writer))
        r = has_lost(writer) ? -ESTALE : settle(writer, caller, &text);
    if (r == 0 && !is_detached(writer))
        r = store->store(store->context, caller, &text, &entity);
    if (is_there(writer, r)) {
        caller->call.failure = (struct failure){0};
        r = 0;
    }
    if (r < 0) {
        if (!has_lost(writer))
            note_refused(writer, caller, r, text.text, is_reported);
        draft_was_refused(&writer->draft);
        return r;
    }
    note_stored(writer, &entity);
    draft_was_stored(&writer->draft);
    return 0;
}

static int touch(struct writer *writer, struct caller *caller)
{
    const struct writer_store *store = &writer->writers->store;
    struct entity entity = {0};
    struct bytes known =
        etag_bytes(writer->last_stored.size > 0 ? &writer->last_stored : &writer->snapshot);
    int r = is_detached(writer) ? 0
                                : store->touch(store->context, caller, writer_event_address(writer),
                                               known, writer->queued, &entity);
    if (r == 0 && entity.page) /* else another client has changed it: the next store tells */
        note_stored(writer, &entity);
    return r;
}

static int refuse(struct caller *caller, int error, const struct draft_problem *problem)
{
    struct entity_input_refusal refusal;
    if (error != -EINVAL)
        return call_fail(&caller->call, error,
                         error == -EFBIG ? "the text is longer than 8 MiB" : "out of memory");
    if (!problem->before.data) /* no place in particular */
        return call_fail(&caller->call, error, "%s", problem->reason);
    _cleanup_(buffer_finish) struct buffer text = {.max = ENTITY_INPUT_MAX_LINE + 1};
    (void)entity_input_refuse_json(problem->before, problem->before.size, problem->reason,
                                   &refusal);
    (void)entity_input_refusal_append(&text, &refusal);
    const char *reason = buffer_string(&text);
    return call_fail(&caller->call, error, "%s", reason ? reason : problem->reason);
}

/* Performs the draft's action, or reports its error. */
static int perform(struct writer *writer, struct caller *caller, int action,
                   const struct draft_problem *problem)
{
    if (action < 0)
        return refuse(caller, action, problem);
    if (action == DRAFT_STORE)
        return store(writer, caller, true);
    return action == DRAFT_TOUCH ? touch(writer, caller) : 0;
}

struct event {
    enum { EVENT_WRITE, EVENT_RESIZE, EVENT_FLUSH, EVENT_SYNC, EVENT_TOUCH } what;
    struct bytes bytes; /* of a write */
    uint64_t offset;    /* of a write */
    uint64_t size;      /* of a resize */
    bool is_by_opener;  /* of a flush */
};

/* An enum draft_action, or -errno with the problem. */
static int report_draft(struct draft *draft, const struct event *event,
                        struct draft_problem *ret_problem)
{
    switch (event->what) {
    case EVENT_WRITE:
        return draft_write(draft, event->bytes,
                           event->offset == WRITER_AT_END ? draft_size(draft) : event->offset,
                           ret_problem);
    case EVENT_RESIZE:
        return draft_resize(draft, event->size, ret_problem);
    case EVENT_FLUSH:
        return draft_flush(draft, event->is_by_opener, ret_problem);
    case EVENT_SYNC:
        return draft_sync(draft, ret_problem);
    case EVENT_TOUCH:
    default:
        return draft_touch(draft, ret_problem);
    }
}

/* The draft refuses the text at a flush, fsync or touch, with -EINVAL. Of a DETACHED writer that
 * does not matter: nothing of it is kept. If a write was refused before, its error is returned
 * again: C libraries and Python report the error of close, not that of the write. */
static int refuse_flush(struct writer *writer, struct caller *caller,
                        const struct draft_problem *problem)
{
    if (is_detached(writer))
        return 0;
    return writer->refused.error < 0 ? writer->refused.error : refuse(caller, -EINVAL, problem);
}

static void miss_write(struct writer *writer)
{
    INSIDE(&writer->writers->monitor);
    writer->has_missed_write = true;
    writer->has_reported = true;
}

/* Keeps the error of a refused write, which close returns again. A store that succeeds clears it
 * (note_stored), and so does size 0. */
static void note_result(struct writer *writer, const struct event *event, int r,
                        const struct failure *failure)
{
    if (event->what == EVENT_WRITE && r < 0 && !has_lost(writer))
        writer->refused = *failure;
    if ((event->what == EVENT_WRITE || event->what == EVENT_RESIZE) && r == 0)
        writer->is_kept = false;
    if (event->what == EVENT_RESIZE && event->size == 0 && r == 0 && !has_lost(writer))
        writer->refused = (struct failure){0};
}

/* Gives up the text of a file that was to replace a removed entity, with the write that was refused
 * and is undone in the draft. */
static void give_up_replacement(struct writer *writer, struct caller *caller, struct bytes refused)
{
    const struct writer_store *sink = &writer->writers->store;
    _cleanup_(buffer_finish) struct buffer text = {.max = 2 * DRAFT_MAX_BYTES};
    (void)buffer_append(&text, draft_unstored(&writer->draft));
    (void)buffer_append(&text, refused); /* without memory what is before it is kept */
    const struct writer_loss loss = {.operation = "write",
                                     .address = writer_event_address(writer),
                                     .text = buffer_bytes(&text),
                                     .is_new = true,
                                     .is_reported = true,
                                     .error = caller->call.failure.error};
    sink->give_up(sink->context, caller, &loss);
    caller->call.failure = (struct failure){0}; /* give_up has reported it */
    writer->is_kept = true;
}

/* The release reports it, so that a text has one line in the log. */
static void leave_to_release(struct writer *writer, struct failure *failure, const char *name)
{
    writer->unreported = *failure;
    writer->unreported_call = name;
    *failure = (struct failure){0};
}

/* What was written before the failed write stays in the draft, and the release reports both.
 * is_again: an earlier write has failed, too, and nothing was stored since. */
static void note_failed_write(struct writer *writer, struct caller *caller, struct bytes bytes,
                              bool is_again)
{
    struct failure *failure = &caller->call.failure;
    bool is_in_order = writer->draft.state != DRAFT_LOOSE;
    bool is_replacement = writer->is_replacement && writer->draft.is_new; /* nothing is stored */
    bool has_text = draft_unstored(&writer->draft).size > 0;
    if (failure->error == 0 || failure->error == -EINTR)
        return;
    if (writer->is_kept || (is_again && !has_text))
        *failure = (struct failure){0}; /* a text is one line, and it has that */
    else if (is_replacement && is_in_order && !is_detached(writer))
        give_up_replacement(writer, caller, bytes);
    else if (has_text)
        leave_to_release(writer, failure, "write");
}

/* Reports an unreported failure when the text ends otherwise than by a release that gives it up. */
static void report_untold(struct writer *writer, struct caller *caller)
{
    const struct writer_store *sink = &writer->writers->store;
    if (writer->unreported.error == 0)
        return;
    const struct writer_loss loss = {.operation = writer->unreported_call,
                                     .address = writer_event_address(writer),
                                     .is_reported = true,
                                     .error = writer->unreported.error};
    caller->call.failure = writer->unreported;
    sink->give_up(sink->context, caller, &loss);
    caller->call.failure = (struct failure){0};
    writer->unreported = (struct failure){0};
}

/* How long the event makes the draft's text. */
static size_t size_after(const struct draft *draft, const struct event *event)
{
    size_t size = draft->text.size;
    uint64_t end = size;
    if (event->what == EVENT_RESIZE)
        end = event->size;
    else if (event->what == EVENT_WRITE && (draft->is_appended || event->offset == WRITER_AT_END))
        end = size + event->bytes.size;
    else if (event->what == EVENT_WRITE)
        end = MIN(event->offset, DRAFT_MAX_BYTES) + event->bytes.size;
    return MAX(size, MIN(end, DRAFT_MAX_BYTES));
}

/* Passes the event to the draft, and performs its action. ret_is_refused: a flush, fsync or touch
 * was refused because of the text. */
static int perform_event(struct writer *writer, struct caller *caller, const struct event *event,
                         bool *ret_is_refused)
{
    struct draft_problem problem = {0};
    int r = writer_reserve(writer, caller, size_after(&writer->draft, event));
    if (r < 0) {
        if (event->what == EVENT_WRITE)
            draft_missed_write(&writer->draft);
        return r;
    }
    r = report_draft(&writer->draft, event, &problem);
    *ret_is_refused = event->what != EVENT_WRITE && event->what != EVENT_RESIZE && r == -EINVAL;
    return *ret_is_refused ? refuse_flush(writer, caller, &problem)
                           : perform(writer, caller, r, &problem);
}

static int handle_event(struct writer *writer, struct caller *caller, const struct event *event)
{
    int r = begin_event(writer, &caller->call);
    if (r < 0) {
        if (event->what == EVENT_WRITE)
            miss_write(writer);
        note_reported(writer);
        return r;
    }
    int refused = writer->refused.error;
    bool is_left = event->what == EVENT_SYNC || event->what == EVENT_TOUCH;
    bool is_refused = false;
    r = perform_event(writer, caller, event, &is_refused);
    note_result(writer, event, r, &caller->call.failure);
    if (r < 0)
        note_reported(writer);
    if (event->what == EVENT_WRITE && r < 0)
        note_failed_write(writer, caller, event->bytes, refused == r);
    if (event->what == EVENT_RESIZE && event->size == 0 && r == 0)
        report_untold(writer, caller);
    if (is_left && is_refused && caller->call.failure.error < 0)
        leave_to_release(writer, &caller->call.failure,
                         event->what == EVENT_SYNC ? "fsync" : "setattr");
    if (event->what == EVENT_FLUSH)
        caller->call.failure = (struct failure){0};
    end_event(writer);
    return r;
}

int writer_write(struct writer_handle *handle, struct caller *caller, struct bytes bytes,
                 uint64_t offset)
{
    const struct event event = {.what = EVENT_WRITE, .bytes = bytes, .offset = offset};
    return handle_event(handle->writer, caller, &event);
}

void writer_miss_write(struct writer_handle *handle)
{
    miss_write(handle->writer);
}

int writer_resize(struct writer *writer, struct caller *caller, uint64_t size)
{
    return handle_event(writer, caller, &(struct event){.what = EVENT_RESIZE, .size = size});
}

int writer_flush(struct writer_handle *handle, struct caller *caller)
{
    const struct event event = {.what = EVENT_FLUSH,
                                .is_by_opener = handle->opener == caller->process};
    return handle_event(handle->writer, caller, &event);
}

int writer_sync(struct writer_handle *handle, struct caller *caller)
{
    return handle_event(handle->writer, caller, &(struct event){.what = EVENT_SYNC});
}

int writer_touch(struct writer *writer, struct caller *caller)
{
    return handle_event(writer, caller, &(struct event){.what = EVENT_TOUCH});
}

int writer_read(struct writer_handle *handle, struct caller *caller, uint64_t offset, size_t size,
                struct buffer *ret)
{
    struct writer *writer = handle->writer;
    int r = begin_event(writer, &caller->call);
    if (r < 0)
        return r;
    struct bytes text = buffer_bytes(&writer->draft.text);
    writer->was_read |= writer->draft.base_size == 0;
    if (writer->draft.base_size > 0)
        r = call_fail(&caller->call, -EBADF, "a file that is open for appending cannot be read");
    else if (offset < text.size)
        r = buffer_append(ret, bytes_first(bytes_skip(text, (size_t)offset),
                                           MIN(size, text.size - (size_t)offset)));
    end_event(writer);
    return r;
}

static int find_reason(struct writer *writer, struct caller *caller)
{
    struct draft_problem problem = {0};
    int r = draft_flush(&writer->draft, true, &problem);
    if (writer->refused.error < 0) {
        caller->call.failure = writer->refused;
        return writer->refused.error;
    }
    return r < 0 ? refuse(caller, r, &problem)
                 : call_fail(&caller->call, -EIO, "the text was changed, and was not flushed");
}

/* Appends `what`. If there is no room, it overwrites the end of the message. */
static void add_to_message(struct failure *failure, const char *what)
{
    size_t room = sizeof(failure->message), size = strlen(what) + 1;
    memcpy(failure->message + MIN(strlen(failure->message), room - size), what, size);
}

/* Sets the reason why the text of the last handle is not stored. If a write failed, the text in
 * lost+found lacks a part of what the program wrote: the reason says so. */
static int explain_end(struct writer *writer, struct caller *caller)
{
    int r = find_reason(writer, caller);
    if (writer->draft.has_failed && draft_unstored(&writer->draft).size > 0)
        add_to_message(&caller->call.failure, "; the text lacks the write that failed");
    return r;
}

/* Puts the deadline off by the time since `began_ms`. */
static void extend(struct call *call, const struct clock *clock, int64_t began_ms)
{
    int64_t waited_ms = clock_now_ms(clock) - began_ms;
    call->deadline_ms += MIN(waited_ms, INT64_MAX - call->deadline_ms);
}

/* Takes the handle. Unless was_used, an empty text is neither stored nor given up. */
static void end_handle(struct writer_handle *handle, struct caller *caller, bool was_used)
{
    struct writer *writer = handle->writer;
    const struct writer_store *sink = &writer->writers->store;
    const struct clock *clock = writer->writers->clock;
    int64_t began_ms = clock_now_ms(clock);
    int action = DRAFT_NOTHING, r = 0;
    (void)begin_event(writer, NULL);
    extend(&caller->call, clock, began_ms);
    caller->process = handle->opener;
    bool has_use = was_used && !(writer->is_provisional && writer->draft.is_new);
    bool is_judged = has_use || writer->draft.state != DRAFT_BLANK;
    bool is_reported = has_reported(writer);
    if (is_judged && writer_has_one_handle(writer) && !is_detached(writer))
        action = (int)draft_release(&writer->draft);
    if (action == DRAFT_STORE)
        r = store(writer, caller, is_reported);
    else if (action == DRAFT_GIVE_UP)
        r = explain_end(writer, caller);
    /* A handle that was opened meanwhile goes on with the text. */
    bool has_ended = writer_free_handle(writer, handle);
    const struct writer_loss loss = {.operation = "release",
                                     .address = writer_event_address(writer),
                                     .text = draft_unstored(&writer->draft),
                                     .is_new = writer->draft.is_new,
                                     .is_reported = is_reported,
                                     .error = r};
    /* a refused write has reported the failure already */
    bool was_given_up = writer->is_kept || (loss.text.size == 0 && writer->draft.has_failed);
    if (has_ended && r < 0 && !was_given_up)
        sink->give_up(sink->context, caller, &loss);
    else if (has_ended)
        report_untold(writer, caller);
    end_event(writer);
    writer_unref(writer);
}

void writer_close_handle(struct writer_handle *handle, struct caller *caller)
{
    end_handle(handle, caller, true);
}

void writer_drop_handle(struct writer_handle *handle, struct caller *caller)
{
    end_handle(handle, caller, false);
}

void writers_release_all(struct writers *writers, struct caller *caller)
{
    const struct failure *failure = &caller->call.failure;
    for (struct writer *writer; (writer = RB_ROOT(&writers->map)) != NULL;) {
        struct writer_handle *handle = LIST_FIRST(&writer->handles);
        caller->call.failure = (struct failure){0};
        caller->process = handle->opener;
        (void)writer_flush(handle, caller); /* the close gives up what this did not store */
        writer_close_handle(handle, caller);
        if (failure->error != -ETIMEDOUT && !failure->is_retryable)
            caller_made_progress(caller, writers->clock);
    }
}
