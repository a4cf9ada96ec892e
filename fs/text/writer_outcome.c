/* SPDX-License-Identifier: MIT */
#include "client/entity/entity_input_refusal.h"
#include "fs/text/writer_parts.h"

bool outcome_has_lost(const struct writer *writer)
{
    return writer->outcome.refused.error == -ESTALE;
}

void outcome_note_reported(struct writer *writer)
{
    INSIDE(&writer->writers->monitor);
    writer->has_reported = true;
}

bool outcome_has_reported(struct writer *writer)
{
    INSIDE(&writer->writers->monitor);
    return writer->has_reported;
}

int outcome_refuse_text(struct caller *caller, int error, const struct draft_problem *problem)
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

int outcome_refuse_flush(struct writer *writer, struct caller *caller,
                         const struct draft_problem *problem)
{
    const struct failure *refused = &writer->outcome.refused;
    if (writer_is_detached(writer))
        return 0;
    return refused->error < 0 ? refused->error : outcome_refuse_text(caller, -EINVAL, problem);
}

/* Gives a text up, and thereby reports the failure of the call. */
static void give_up_write(struct writer *writer, struct caller *caller, struct bytes text,
                          bool is_new, bool is_reported)
{
    const struct writer_store *sink = &writer->writers->store;
    const struct writer_loss loss = {.operation = "write",
                                     .address = writer_event_address(writer),
                                     .text = text,
                                     .is_new = is_new,
                                     .is_reported = is_reported,
                                     .error = caller->call.failure.error};
    sink->give_up(sink->context, caller, &loss);
    caller->call.failure = (struct failure){0};
    writer->outcome.is_kept = true;
}

void outcome_store_refused(struct writer *writer, struct caller *caller, struct bytes text,
                           bool is_reported)
{
    struct writer_outcome *outcome = &writer->outcome;
    struct failure *failure = &caller->call.failure;
    if (outcome_has_lost(writer))
        return;
    bool is_conflict = failure->error == -EEXIST || failure->http_status == 412;
    if (outcome->may_be_stored && is_conflict)
        failure->advice = "what is stored may be this file's earlier text, whose answer was lost; "
                          "open the file again, and write it";
    outcome->may_be_stored |= failure->is_ambiguous;
    outcome->refused = *failure;
    if (failure->error == -ESTALE && writer->draft.state != DRAFT_LOOSE)
        give_up_write(writer, caller, text, false, is_reported);
}

void outcome_stored(struct writer *writer)
{
    writer->outcome.may_be_stored = false;
    writer->outcome.refused = (struct failure){0};
}

void outcome_leave_to_release(struct writer *writer, struct failure *failure, const char *call)
{
    writer->outcome.unreported = *failure;
    writer->outcome.unreported_call = call;
    *failure = (struct failure){0};
}

/* Gives up the text of a file that was to replace a removed entity, with the write that was refused
 * and is undone in the draft. */
static void give_up_replacement(struct writer *writer, struct caller *caller, struct bytes refused)
{
    _cleanup_(buffer_finish) struct buffer text = {.max = 2 * DRAFT_MAX_BYTES};
    (void)buffer_append(&text, draft_unstored(&writer->draft));
    (void)buffer_append(&text, refused); /* without memory what is before it is kept */
    give_up_write(writer, caller, buffer_bytes(&text), true, true);
}

void outcome_write_refused(struct writer *writer, struct caller *caller, struct bytes bytes,
                           bool is_again)
{
    struct failure *failure = &caller->call.failure;
    bool is_in_order = writer->draft.state != DRAFT_LOOSE;
    bool is_replacement = writer->is_replacement && writer->draft.is_new; /* nothing is stored */
    bool has_text = draft_unstored(&writer->draft).size > 0;
    if (!outcome_has_lost(writer))
        writer->outcome.refused = *failure;
    if (failure->error == 0 || failure->error == -EINTR)
        return;
    if (writer->outcome.is_kept || (is_again && !has_text))
        *failure = (struct failure){0}; /* a text is one line, and it has that */
    else if (is_replacement && is_in_order && !writer_is_detached(writer))
        give_up_replacement(writer, caller, bytes);
    else if (has_text)
        outcome_leave_to_release(writer, failure, "write");
}

void outcome_text_emptied(struct writer *writer, struct caller *caller)
{
    if (!outcome_has_lost(writer))
        writer->outcome.refused = (struct failure){0};
    outcome_report_rest(writer, caller);
}

void outcome_report_rest(struct writer *writer, struct caller *caller)
{
    const struct writer_store *sink = &writer->writers->store;
    struct writer_outcome *outcome = &writer->outcome;
    if (outcome->unreported.error == 0)
        return;
    const struct writer_loss loss = {.operation = outcome->unreported_call,
                                     .address = writer_event_address(writer),
                                     .is_reported = true,
                                     .error = outcome->unreported.error};
    caller->call.failure = outcome->unreported;
    sink->give_up(sink->context, caller, &loss);
    caller->call.failure = (struct failure){0};
    outcome->unreported = (struct failure){0};
}

static int find_reason(struct writer *writer, struct caller *caller)
{
    struct draft_problem problem = {0};
    int r = draft_flush(&writer->draft, true, &problem);
    if (writer->outcome.refused.error < 0) {
        caller->call.failure = writer->outcome.refused;
        return writer->outcome.refused.error;
    }
    return r < 0 ? outcome_refuse_text(caller, r, &problem)
                 : call_fail(&caller->call, -EIO, "the text was changed, and was not flushed");
}

/* Appends `what`. If there is no room, it overwrites the end of the message. */
static void add_to_message(struct failure *failure, const char *what)
{
    size_t room = sizeof(failure->message), size = strlen(what) + 1;
    memcpy(failure->message + MIN(strlen(failure->message), room - size), what, size);
}

int outcome_explain_end(struct writer *writer, struct caller *caller)
{
    int r = find_reason(writer, caller);
    if (writer->draft.has_failed && draft_unstored(&writer->draft).size > 0)
        add_to_message(&caller->call.failure, "; the text lacks the write that failed");
    return r;
}
