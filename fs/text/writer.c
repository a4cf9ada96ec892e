/* SPDX-License-Identifier: MIT */
#include "fs/text/writer_parts.h"

int writer_reserve(struct writer *writer, struct caller *caller, size_t size)
{
    const struct writer_store *store = &writer->writers->store;
    size_t needed = MIN(size, DRAFT_MAX_BYTES);
    if (needed <= writer->reserved || !store->reserve)
        return 0;
    size_t more = needed - writer->reserved;
    int r = store->reserve(store->context, caller, writer->reserved, more);
    if (r == 0)
        writer->reserved += more;
    return r;
}

/* With nothing to give back it may be called after the end of `writers`: by a node. */
void writer_fit_reserved(struct writer *writer)
{
    const struct writer_store *store = &writer->writers->store;
    size_t needed = writer->draft.text.size;
    if (needed == writer->reserved || !store->set_reserved)
        return;
    store->set_reserved(store->context, writer->reserved, needed);
    writer->reserved = needed;
}

void writer_unref(struct writer *writer)
{
    if (!writer || --writer->references > 0)
        return;
    draft_finish(&writer->draft);
    writer_fit_reserved(writer);
    writer_name_unref(writer->name);
    writer_name_unref(writer->event_name);
    later_etag_unref(writer->queued);
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

static void add_handle_locked(struct writer *writer, struct writer_handle *handle)
{
    handle->writer = writer_ref(writer);
    LIST_INSERT_HEAD(&writer->handles, handle, of_writer);
}

static int init_draft(struct writer *writer, const struct writer_begin *begin,
                      struct caller *caller)
{
    struct bytes stored = {0}, nothing = {0};
    bool is_appended = begin->begin == EDIT_APPENDED && !begin->is_truncated;
    if (begin->snapshot.page && !begin->is_truncated)
        stored = page_text(begin->snapshot.page, begin->snapshot.row);
    int r = is_appended ? 0 : writer_reserve(writer, caller, stored.size);
    if (r < 0)
        return r;
    return draft_init(&writer->draft, begin->is_new, is_appended, is_appended ? stored.size : 0,
                      is_appended ? nothing : stored);
}

/* The version that is opened. Of a text that is queued the ETag is learned later; an edit that
 * replaces whatever is there does not need it. */
static void keep_version(struct writer *writer, const struct writer_begin *begin)
{
    const struct page *page = begin->snapshot.page;
    struct later_etag *later = page_later_etag(page);
    if (later && begin->begin != EDIT_OVER)
        writer->queued = later_etag_ref(later);
    etag_set(&writer->snapshot, page_etag(page, begin->snapshot.row));
}

static int writer_create(struct writers *writers, const struct writer_begin *begin,
                         struct caller *caller, struct writer **ret)
{
    struct writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return -ENOMEM;
    writer->name = writer_name_create(begin->address);
    if (!writer->name) {
        free(writer);
        return -ENOMEM;
    }
    writer->file.ops = &file_ops;
    writer->writers = writers;
    writer->references = 1;
    writer->begin = begin->begin;
    writer->is_provisional = begin->is_provisional;
    writer->address = writer->name->address;
    writer->state = begin->is_new ? WRITER_NEW : WRITER_OPEN;
    LIST_INIT(&writer->handles);
    int r = init_draft(writer, begin, caller);
    if (r < 0) {
        writer_unref(writer);
        return r;
    }
    if (begin->snapshot.page)
        keep_version(writer, begin);
    writer->size = draft_size(&writer->draft);
    *ret = writer;
    return 0;
}

int writers_open(struct writers *writers, const struct writer_begin *begin, struct caller *caller,
                 struct writer_handle **ret)
{
    struct writer *writer;
    struct writer_handle *handle = calloc(1, sizeof(*handle));
    int r = handle ? writer_create(writers, begin, caller, &writer) : -ENOMEM;
    if (r < 0) {
        free(handle);
        return r;
    }
    handle->opener = caller->process;
    monitor_enter(&writers->monitor);
    writer->is_replacement = begin->is_new && writers_was_removed_locked(writers, begin->address);
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
    INSIDE(&writer->writers->monitor);
    return writer->size;
}

int64_t writer_timestamp(struct writer *writer)
{
    INSIDE(&writer->writers->monitor);
    return writer->timestamp;
}

bool writer_has_ended(struct writer *writer)
{
    INSIDE(&writer->writers->monitor);
    return LIST_EMPTY(&writer->handles);
}

bool writer_is_new(struct writer *writer)
{
    INSIDE(&writer->writers->monitor);
    return writer->state == WRITER_NEW;
}

bool writer_is_detached(struct writer *writer)
{
    INSIDE(&writer->writers->monitor);
    return writer->state == WRITER_DETACHED;
}

bool writer_has_one_handle(struct writer *writer)
{
    INSIDE(&writer->writers->monitor);
    return !LIST_NEXT(LIST_FIRST(&writer->handles), of_writer);
}

bool writer_free_handle(struct writer *writer, struct writer_handle *handle)
{
    monitor_enter(&writer->writers->monitor);
    LIST_REMOVE(handle, of_writer);
    bool has_ended = LIST_EMPTY(&writer->handles);
    if (has_ended)
        writers_remove_locked(writer->writers, writer);
    monitor_leave(&writer->writers->monitor);
    free(handle);
    return has_ended;
}
