/* SPDX-License-Identifier: MIT */
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

/* If the text is queued, the writer learns its ETag when it is stored. */
static void note_stored(struct writer *writer, struct entity *entity)
{
    struct writers *writers = writer->writers;
    int64_t timestamp = entity->page ? page_timestamp(entity->page, entity->row) : 0;
    if (entity->page)
        etag_set(&writer->last_stored, page_etag(entity->page, entity->row));
    later_etag_unref(TAKE_PTR(writer->queued));
    if (entity->page && page_later_etag(entity->page))
        writer->queued = later_etag_ref(page_later_etag(entity->page));
    entity_finish(entity);
    outcome_stored(writer);
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
 * file only has to exist. One that is to be made exclusively has perhaps been made before. */
static bool is_there(const struct writer *writer, int error)
{
    return error == -EEXIST && writer->draft.state == DRAFT_BLANK &&
           (writer->begin != EDIT_EXCLUSIVE || writer->outcome.may_be_stored);
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
    if (!writer_is_detached(writer))
        r = outcome_has_lost(writer) ? -ESTALE : settle(writer, caller, &text);
    if (r == 0 && !writer_is_detached(writer))
        r = store->store(store->context, caller, &text, &entity);
    if (is_there(writer, r)) {
        caller->call.failure = (struct failure){0};
        r = 0;
    }
    if (r < 0) {
        outcome_store_refused(writer, caller, text.text, is_reported);
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
    int r = writer_is_detached(writer)
                ? 0
                : store->touch(store->context, caller, writer_event_address(writer), known,
                               writer->queued, &entity);
    if (r == 0 && entity.page) /* else another client has changed it: the next store reports that */
        note_stored(writer, &entity);
    return r;
}

/* Performs the draft's action, or reports its error. */
static int perform(struct writer *writer, struct caller *caller, int action,
                   const struct draft_problem *problem)
{
    if (action < 0)
        return outcome_refuse_text(caller, action, problem);
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
    return *ret_is_refused ? outcome_refuse_flush(writer, caller, &problem)
                           : perform(writer, caller, r, &problem);
}

static void miss_write(struct writer *writer)
{
    INSIDE(&writer->writers->monitor);
    writer->has_missed_write = true;
    writer->has_reported = true;
}

void writer_miss_write(struct writer_handle *handle)
{
    miss_write(handle->writer);
}

/* Notes what the event means for the text's outcome. is_refused: as of perform_event. */
static void conclude(struct writer *writer, struct caller *caller, const struct event *event, int r,
                     bool is_refused, bool is_again)
{
    struct failure *failure = &caller->call.failure;
    bool is_change = event->what == EVENT_WRITE || event->what == EVENT_RESIZE;
    if (r < 0)
        outcome_note_reported(writer);
    if (r == 0 && is_change)
        writer->outcome.is_kept = false;
    if (event->what == EVENT_WRITE && r < 0)
        outcome_write_refused(writer, caller, event->bytes, is_again);
    else if (event->what == EVENT_RESIZE && event->size == 0 && r == 0)
        outcome_text_emptied(writer, caller);
    else if (event->what == EVENT_FLUSH)
        *failure = (struct failure){0};
    else if (!is_change && is_refused && failure->error < 0)
        outcome_leave_to_release(writer, failure, event->what == EVENT_SYNC ? "fsync" : "setattr");
}

static int handle_event(struct writer *writer, struct caller *caller, const struct event *event)
{
    int r = begin_event(writer, &caller->call);
    if (r < 0) {
        if (event->what == EVENT_WRITE)
            miss_write(writer);
        outcome_note_reported(writer);
        return r;
    }
    int refused = writer->outcome.refused.error;
    bool is_refused = false;
    r = perform_event(writer, caller, event, &is_refused);
    conclude(writer, caller, event, r, is_refused, refused == r);
    end_event(writer);
    return r;
}

int writer_write(struct writer_handle *handle, struct caller *caller, struct bytes bytes,
                 uint64_t offset)
{
    const struct event event = {.what = EVENT_WRITE, .bytes = bytes, .offset = offset};
    return handle_event(handle->writer, caller, &event);
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
    bool is_reported = outcome_has_reported(writer);
    if (is_judged && writer_has_one_handle(writer) && !writer_is_detached(writer))
        action = (int)draft_release(&writer->draft);
    if (action == DRAFT_STORE)
        r = store(writer, caller, is_reported);
    else if (action == DRAFT_GIVE_UP)
        r = outcome_explain_end(writer, caller);
    /* A handle that was opened meanwhile continues the text. */
    bool has_ended = writer_free_handle(writer, handle);
    const struct writer_loss loss = {.operation = "release",
                                     .address = writer_event_address(writer),
                                     .text = draft_unstored(&writer->draft),
                                     .is_new = writer->draft.is_new,
                                     .is_reported = is_reported,
                                     .error = r};
    /* a refused write has reported the failure already */
    bool was_given_up =
        writer->outcome.is_kept || (loss.text.size == 0 && writer->draft.has_failed);
    if (has_ended && r < 0 && !was_given_up)
        sink->give_up(sink->context, caller, &loss);
    else if (has_ended)
        outcome_report_rest(writer, caller);
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
