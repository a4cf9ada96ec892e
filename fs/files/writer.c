#include "fs/files/writer_parts.h"
#include "client/text/entity_input.h"

#define ETAG_MAX_BYTES ((size_t)64 << 10)
#define ETAG_ROOM      128

struct writer *writer_ref(struct writer *writer)
{
    writer->references++;
    return writer;
}

void writer_unref(struct writer *writer)
{
    if (!writer || --writer->references > 0)
        return;
    draft_finish(&writer->draft);
    buffer_finish(&writer->snapshot);
    buffer_finish(&writer->last_stored);
    free(writer);
}

static void ref_file(struct node_file *file)
{
    (void)writer_ref((struct writer *)file);
}

static void unref_file(struct node_file *file)
{
    writer_unref((struct writer *)file);
}

static const struct node_file_ops file_ops = {ref_file, unref_file};

struct node_file *writer_node_file(struct writer *writer)
{
    return &writer->file;
}

struct writer *writer_of_node_file(struct node_file *file)
{
    return (struct writer *)file;
}

/* The events. */

/* Makes the writer busy. */
static int begin_event(struct writer *writer, struct call *call)
{
    struct writers *writers = writer->writers;
    int r = 0;
    monitor_enter(&writers->monitor);
    while (r == 0 && (writer->is_busy || (writer->state != WRITER_DETACHED &&
                                          writers_is_held_locked(writers, writer->address))))
        r = writers_wait_locked(writers, call);
    if (r == 0)
        writer->is_busy = true;
    monitor_leave(&writers->monitor);
    return r;
}

static void end_event(struct writer *writer)
{
    struct writers *writers = writer->writers;
    monitor_enter(&writers->monitor);
    writer->is_busy = false;
    writer->size = draft_size(&writer->draft);
    monitor_tell(&writers->monitor);
    monitor_leave(&writers->monitor);
}

/* While the writer is busy it becomes neither DETACHED nor held. */
static bool is_detached(struct writer *writer)
{
    monitor_enter(&writer->writers->monitor);
    bool is_detached = writer->state == WRITER_DETACHED;
    monitor_leave(&writer->writers->monitor);
    return is_detached;
}

static void note_stored(struct writer *writer, struct entity *entity)
{
    struct writers *writers = writer->writers;
    /* There is room for every ETag of a known service. Of a longer one, without memory, the older
     * ETag stays, and the next store is refused. */
    if (entity->page)
        (void)buffer_set(&writer->last_stored, page_etag(entity->page, entity->row));
    entity_finish(entity);
    writer->may_be_stored = false;
    monitor_enter(&writers->monitor);
    if (writer->state == WRITER_NEW)
        writer->state = WRITER_OPEN;
    monitor_leave(&writers->monitor);
}

/* Size 0 makes an ordinary text of an appended one. */
static enum edit_begin begin_of(const struct writer *writer)
{
    if (writer->begin != EDIT_APPENDED || writer->draft.is_appended)
        return writer->begin;
    return writer->draft.is_new ? EDIT_NEW : EDIT_OVER;
}

static int store(struct writer *writer, struct caller *caller)
{
    const struct writer_store *store = &writer->writers->store;
    struct entity entity = {0};
    struct writer_text text = {.address = writer->address,
                               .begin = begin_of(writer),
                               .text = draft_object(&writer->draft),
                               .snapshot = buffer_bytes(&writer->snapshot),
                               .last_stored = buffer_bytes(&writer->last_stored),
                               .may_be_stored = writer->may_be_stored};
    int r = is_detached(writer) ? 0 : store->store(store->context, caller, &text, &entity);
    if (r < 0) {
        writer->may_be_stored |= caller->call.failure.is_ambiguous;
        draft_was_refused(&writer->draft);
        return r;
    }
    draft_was_stored(&writer->draft);
    note_stored(writer, &entity);
    return 0;
}

static int touch(struct writer *writer, struct caller *caller)
{
    const struct writer_store *store = &writer->writers->store;
    struct entity entity = {0};
    int r =
        is_detached(writer) ? 0 : store->touch(store->context, caller, writer->address, &entity);
    if (r == 0)
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
    _cleanup_(buffer_finish) struct buffer text;
    buffer_init(&text, ENTITY_INPUT_MAX_LINE + 1);
    (void)entity_input_refuse_json(problem->before, problem->before.size, problem->reason,
                                   &refusal);
    (void)entity_input_refusal_append(&text, &refusal);
    const char *reason = buffer_string(&text);
    return call_fail(&caller->call, error, "%s", reason ? reason : problem->reason);
}

/* Does what the draft says: an action or an error. */
static int perform(struct writer *writer, struct caller *caller, int action,
                   const struct draft_problem *problem)
{
    if (action < 0)
        return refuse(caller, action, problem);
    if (action == DRAFT_STORE)
        return store(writer, caller);
    return action == DRAFT_TOUCH ? touch(writer, caller) : 0;
}

int writer_write(struct writer_handle *handle, struct caller *caller, struct bytes bytes,
                 uint64_t offset)
{
    struct writer *writer = handle->writer;
    struct draft_problem problem = {0};
    int r = begin_event(writer, &caller->call);
    if (r < 0)
        return r;
    r = draft_write(&writer->draft, bytes, offset, &problem);
    r = perform(writer, caller, r, &problem);
    end_event(writer);
    return r;
}

int writer_read(struct writer_handle *handle, struct caller *caller, uint64_t offset, size_t size,
                struct buffer *ret)
{
    struct writer *writer = handle->writer;
    int r = begin_event(writer, &caller->call);
    if (r < 0)
        return r;
    struct bytes text = buffer_bytes(&writer->draft.text);
    if (writer->draft.is_appended)
        r = call_fail(&caller->call, -EBADF, "a file that is open for appending cannot be read");
    else if (offset < text.size)
        r = buffer_append(ret, bytes_first(bytes_skip(text, (size_t)offset),
                                           MIN(size, text.size - (size_t)offset)));
    end_event(writer);
    return r;
}

int writer_resize(struct writer *writer, struct caller *caller, uint64_t size)
{
    struct draft_problem problem = {0};
    int r = begin_event(writer, &caller->call);
    if (r < 0)
        return r;
    r = draft_resize(&writer->draft, size, &problem);
    r = perform(writer, caller, r, &problem);
    end_event(writer);
    return r;
}

int writer_flush(struct writer_handle *handle, struct caller *caller)
{
    struct writer *writer = handle->writer;
    struct draft_problem problem = {0};
    int r = begin_event(writer, &caller->call);
    if (r < 0)
        return r;
    r = draft_flush(&writer->draft, handle->opener == caller->process, &problem);
    r = perform(writer, caller, r, &problem);
    end_event(writer);
    return r;
}

int writer_sync(struct writer_handle *handle, struct caller *caller)
{
    struct writer *writer = handle->writer;
    struct draft_problem problem = {0};
    int r = begin_event(writer, &caller->call);
    if (r < 0)
        return r;
    r = draft_sync(&writer->draft, &problem);
    r = perform(writer, caller, r, &problem);
    end_event(writer);
    return r;
}

int writer_touch(struct writer *writer, struct caller *caller)
{
    int r = begin_event(writer, &caller->call);
    if (r < 0)
        return r;
    r = perform(writer, caller, (int)draft_touch(&writer->draft), NULL);
    end_event(writer);
    return r;
}

/* The life of writers and handles. */

static void add_handle_locked(struct writer *writer, struct writer_handle *handle)
{
    handle->writer = writer_ref(writer);
    LIST_INSERT_HEAD(&writer->handles, handle, of_writer);
}

/* Takes the handle from its writer. True: the writer has ended. */
static bool remove_handle_locked(struct writer *writer, struct writer_handle *handle)
{
    LIST_REMOVE(handle, of_writer);
    bool has_ended = LIST_EMPTY(&writer->handles);
    if (has_ended)
        writers_remove_locked(writer->writers, writer);
    return has_ended;
}

static int init_draft(struct writer *writer, const struct writer_begin *begin)
{
    struct bytes stored = {0}, nothing = {0};
    bool is_appended = begin->begin == EDIT_APPENDED && !begin->is_truncated;
    if (begin->snapshot.page && !begin->is_truncated)
        stored = page_text(begin->snapshot.page, begin->snapshot.row);
    return draft_init(&writer->draft, begin->is_new, is_appended, is_appended ? stored.size : 0,
                      is_appended ? nothing : stored);
}

static int writer_create(struct writers *writers, const struct writer_begin *begin,
                         struct writer **ret)
{
    struct writer *writer = calloc(1, sizeof(*writer) + writers_address_size(begin->address));
    if (!writer)
        return -ENOMEM;
    writer->file.ops = &file_ops;
    writer->writers = writers;
    writer->references = 1;
    writer->begin = begin->begin;
    writer->address = writers_copy_address(begin->address, writer->text);
    writer->state = begin->is_new ? WRITER_NEW : WRITER_OPEN;
    LIST_INIT(&writer->handles);
    buffer_init(&writer->snapshot, ETAG_MAX_BYTES);
    buffer_init(&writer->last_stored, ETAG_MAX_BYTES);
    int r = init_draft(writer, begin);
    if (r == 0)
        r = buffer_ensure(&writer->last_stored, ETAG_ROOM);
    if (r == 0 && begin->snapshot.page)
        r = buffer_set(&writer->snapshot, page_etag(begin->snapshot.page, begin->snapshot.row));
    if (r < 0) {
        writer_unref(writer);
        return r;
    }
    writer->size = draft_size(&writer->draft);
    *ret = writer;
    return 0;
}

int writers_open(struct writers *writers, const struct writer_begin *begin, uint64_t process,
                 struct writer_handle **ret)
{
    struct writer *writer;
    struct writer_handle *handle = calloc(1, sizeof(*handle));
    int r = handle ? writer_create(writers, begin, &writer) : -ENOMEM;
    if (r < 0) {
        free(handle);
        return r;
    }
    handle->opener = process;
    monitor_enter(&writers->monitor);
    if (begin->is_new && writers_find_new_locked(writers, begin->address))
        r = -EEXIST;
    if (r == 0) {
        writers_add_locked(writers, writer);
        add_handle_locked(writer, handle);
    }
    monitor_leave(&writers->monitor);
    writer_unref(writer);
    if (r < 0)
        free(handle);
    else
        *ret = handle;
    return r;
}

int writer_open_handle(struct writer *writer, uint64_t process, struct writer_handle **ret)
{
    struct writer_handle *handle = calloc(1, sizeof(*handle));
    if (!handle)
        return -ENOMEM;
    handle->opener = process;
    monitor_enter(&writer->writers->monitor);
    bool is_there = !LIST_EMPTY(&writer->handles);
    if (is_there)
        add_handle_locked(writer, handle);
    monitor_leave(&writer->writers->monitor);
    if (!is_there) {
        free(handle);
        return -ESTALE;
    }
    *ret = handle;
    return 0;
}

uint64_t writer_size(struct writer *writer)
{
    monitor_enter(&writer->writers->monitor);
    uint64_t size = writer->size;
    monitor_leave(&writer->writers->monitor);
    return size;
}

bool writer_is_new(struct writer *writer)
{
    monitor_enter(&writer->writers->monitor);
    bool is_new = writer->state == WRITER_NEW;
    monitor_leave(&writer->writers->monitor);
    return is_new;
}

static bool has_one_handle(struct writer *writer)
{
    monitor_enter(&writer->writers->monitor);
    bool has_one = !LIST_NEXT(LIST_FIRST(&writer->handles), of_writer);
    monitor_leave(&writer->writers->monitor);
    return has_one;
}

/* Why the text of the last handle is not stored. */
static int explain_end(struct writer *writer, struct caller *caller)
{
    struct draft_problem problem = {0};
    int r = draft_flush(&writer->draft, true, &problem);
    if (r < 0)
        return refuse(caller, r, &problem);
    return call_fail(&caller->call, -EIO, "the text was changed, and no store of it succeeded");
}

/* Frees the handle. True: the writer has ended. */
static bool free_handle(struct writer *writer, struct writer_handle *handle)
{
    monitor_enter(&writer->writers->monitor);
    bool has_ended = remove_handle_locked(writer, handle);
    monitor_leave(&writer->writers->monitor);
    free(handle);
    return has_ended;
}

void writer_close_handle(struct writer_handle *handle, struct caller *caller)
{
    struct writer *writer = handle->writer;
    const struct writer_store *sink = &writer->writers->store;
    int action = DRAFT_NOTHING, r = 0;
    (void)begin_event(writer, NULL);
    if (has_one_handle(writer) && !is_detached(writer))
        action = (int)draft_release(&writer->draft);
    if (action == DRAFT_STORE)
        r = store(writer, caller);
    else if (action == DRAFT_GIVE_UP)
        r = explain_end(writer, caller);
    /* A handle that was opened meanwhile goes on with the text. */
    if (free_handle(writer, handle) && r < 0)
        sink->give_up(sink->context, caller, writer->address, draft_unstored(&writer->draft), r);
    end_event(writer);
    writer_unref(writer);
}

void writer_drop_handle(struct writer_handle *handle)
{
    struct writer *writer = handle->writer;
    (void)free_handle(writer, handle);
    writer_unref(writer);
}
