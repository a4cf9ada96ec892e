/* SPDX-License-Identifier: MIT */
#include "fs/text/text_sink.h"
#include "fs/text/control_dir.h"

#include <limits.h>

static int settle(void *context, struct caller *caller, const struct writer_text *text)
{
    const struct text_sink *sink = context;
    const struct key_source source = {.text = text->text, .begin = text->begin};
    return settler_settle(sink->settler, caller, text->address, &source);
}

static int store(void *context, struct caller *caller, const struct writer_text *text,
                 struct entity *ret)
{
    const struct text_sink *sink = context;
    const struct edit edit = {.address = text->address,
                              .begin = text->begin,
                              .text = text->text,
                              .snapshot = text->snapshot,
                              .last_stored = text->last_stored,
                              .queued = text->queued,
                              .is_blank = text->is_blank,
                              .was_read = text->was_read};
    return account_store(sink->account, caller, &edit, ret);
}

static int touch(void *context, struct caller *caller, struct address address, struct bytes known,
                 const struct later_etag *queued, struct entity *ret)
{
    const struct text_sink *sink = context;
    return account_touch(sink->account, caller, address, known, queued, ret);
}

static int reserve(void *context, struct caller *caller, size_t own, size_t more)
{
    const struct text_sink *sink = context;
    return account_reserve(sink->account, caller, own, more);
}

static void set_reserved(void *context, size_t before, size_t after)
{
    const struct text_sink *sink = context;
    account_set_reserved(sink->account, before, after);
}

/* Adds to the message of a failure, as far as there is room, why its text was not kept. */
static void add_to_message(struct failure *failure, int error)
{
    size_t size = strlen(failure->message);
    char *end = failure->message + size;
    if (error == LOST_AND_FOUND_FULL)
        (void)snprintf(end, sizeof(failure->message) - size,
                       "; the text was not kept: lost+found has %d of this entity already",
                       LOST_AND_FOUND_MAX_OF_ENTITY);
    else
        (void)snprintf(end, sizeof(failure->message) - size,
                       "; the text could not be kept on this machine: %s", strerrordesc_np(-error));
}

/* Keeps the text, if there is one, and adds the record to the failures. is_reported: a call that
 * failed has reported it. */
static void lose(struct text_sink *sink, struct failure_record *record, struct bytes text,
                 bool is_reported)
{
    _cleanup_(buffer_finish) struct buffer path = {.max = PATH_MAX + 1};
    int r = text.size > 0 ? lost_and_found_put(sink->lost, record, text, is_reported, &path) : 0;
    if (r != 0)
        add_to_message(&record->failure, r);
    if (r < 0)
        queued_texts_hold(&sink->queued); /* it may be in a file of theirs */
    record->kept_in = path.size > 0 ? buffer_string(&path) : NULL;
    failure_log_add(account_failures(sink->account), record);
}

static void give_up(void *context, struct caller *caller, const struct writer_loss *loss)
{
    struct text_sink *sink = context;
    struct failure_record record = {.at_100ns = clock_utc_100ns(sink->clock),
                                    .operation = loss->operation,
                                    .command = caller->call.command,
                                    .table = loss->address.table,
                                    .position = loss->address.position,
                                    .failure = caller->call.failure};
    record.failure.error = loss->error;
    /* At the end of the mount there is no call that could report it. */
    bool is_reported = loss->is_reported && !sink->is_ending(sink->ending_context);
    if ((loss->text.size > 0 || loss->is_new) && !is_reported)
        sink->reported_losses++;
    lose(sink, &record, loss->text, is_reported);
}

void text_sink_finish(struct text_sink *sink)
{
    queued_texts_finish(&sink->queued);
    buffer_finish(&sink->abandoned);
}

/* There may be many of them: their lines go into one file, and not into the log. */
static void abandon_delete(struct text_sink *sink, const struct failure_record *record)
{
    sink->abandoned_deletes++;
    (void)control_append_failure(&sink->abandoned, record);
    (void)buffer_append_char(&sink->abandoned, '\n');
}

/* There may be many of them, too. Those of a table are in one file. */
static void abandon_text(struct text_sink *sink, struct failure_record *record, struct bytes text)
{
    _cleanup_(buffer_finish) struct buffer path = {.max = PATH_MAX + 1};
    sink->abandoned_texts++;
    if (queued_texts_append_path(&sink->queued, record, &path) <= 0) {
        lose(sink, record, text, false);
        return;
    }
    record->is_one_of_many = true;
    record->kept_in = buffer_string(&path);
    failure_log_add(account_failures(sink->account), record);
}

void text_sink_lose_change(void *context, const struct lost_change *lost)
{
    struct text_sink *sink = context;
    struct failure_record record = {.at_100ns = clock_utc_100ns(sink->clock),
                                    .operation = lost->is_delete ? "unlink" : "write",
                                    .table = lost->address.table,
                                    .position = lost->address.position,
                                    .is_one_of_many = lost->is_delete,
                                    .failure = *lost->failure};
    if (lost->is_abandoned && lost->is_delete)
        abandon_delete(sink, &record);
    else if (lost->is_abandoned)
        abandon_text(sink, &record, lost->text);
    else
        lose(sink, &record, lost->text, false);
}

struct writer_store text_sink_store(struct text_sink *sink)
{
    return (struct writer_store){store, touch, give_up, settle, sink, reserve, set_reserved};
}
