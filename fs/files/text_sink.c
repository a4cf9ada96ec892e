#include "fs/files/text_sink.h"

#include <limits.h>

static int store(void *context, struct caller *caller, const struct writer_text *text,
                 struct entity *ret)
{
    const struct text_sink *sink = context;
    const struct edit edit = {.address = text->address,
                              .begin = text->begin,
                              .text = text->text,
                              .snapshot = text->snapshot,
                              .last_stored = text->last_stored,
                              .doubtful = text->doubtful,
                              .is_blank = text->is_blank};
    return account_store(sink->account, caller, &edit, ret);
}

static int touch(void *context, struct caller *caller, struct address address, struct bytes known,
                 struct entity *ret)
{
    const struct text_sink *sink = context;
    return account_touch(sink->account, caller, address, known, ret);
}

/* Adds to the message of a failure, as far as there is room. */
static void add_to_message(struct failure *failure, const char *what, int error)
{
    size_t size = strlen(failure->message);
    (void)snprintf(failure->message + size, sizeof(failure->message) - size, "; %s: %s", what,
                   strerrordesc_np(-error));
}

static void give_up(void *context, struct caller *caller, const struct writer_loss *loss)
{
    bool has_text = loss->text.size > 0;
    struct text_sink *sink = context;
    struct failure_record record = {.at_100ns = clock_utc_100ns(sink->clock),
                                    .operation = loss->operation,
                                    .command = caller->call.command,
                                    .table = loss->address.table,
                                    .position = loss->address.position,
                                    .failure = caller->call.failure};
    _cleanup_(buffer_finish) struct buffer path;
    buffer_init(&path, PATH_MAX + 1);
    record.failure.error = loss->error;
    if ((has_text || loss->is_new) && sink->is_ending(sink->ending_context))
        sink->lost_at_end++;
    int r = has_text ? lost_and_found_put(sink->lost, &record, loss->text, &path) : 0;
    if (r < 0)
        add_to_message(&record.failure, "the text could not be kept on this machine", r);
    record.kept_in = path.size > 0 ? buffer_string(&path) : NULL;
    failure_log_add(account_failures(sink->account), &record);
}

struct writer_store text_sink_store(struct text_sink *sink)
{
    return (struct writer_store){store, touch, give_up, sink};
}
