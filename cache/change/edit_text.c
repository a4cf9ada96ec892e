/* SPDX-License-Identifier: MIT */
#include "cache/core.h"

/* The text that an edit replaces, or is merged into, as far as that is known without a request. An
 * editor masks an entity before it stores its new text. No page: nothing is there, or it is not
 * known. */
static void recall_below(struct account *account, const struct edit *edit, struct entity *ret)
{
    enum knowledge known = account_recall(account, edit->address, ret);
    if (known != KNOWN_ROWS && edit->begin != EDIT_APPENDED)
        account_recall_masked(account, edit->address, ret);
}

int account_make_edit_text(struct account *account, struct caller *caller, const struct edit *edit,
                           struct buffer *ret, struct text_notes *ret_notes)
{
    _cleanup_(entity_finish) struct entity below = {0};
    struct entity_input_over over = {.position = edit->address.position,
                                     .text = edit->text,
                                     .kind = account_input_kind(edit->begin)};
    recall_below(account, edit, &below);
    if (below.page && !page_is_bad(below.page, below.row))
        over.stored = page_text(below.page, below.row);
    return account_make_text_over(caller, &over, ret, ret_notes);
}

static void report_note(struct account *account, const struct caller *caller,
                        struct address address, const char *note)
{
    struct failure_record record = {.at_100ns = clock_utc_100ns(account->read.clock),
                                    .operation = "write",
                                    .command = caller->call.command,
                                    .table = address.table,
                                    .position = address.position,
                                    .is_one_of_many = true};
    (void)snprintf(record.failure.message, sizeof(record.failure.message), "%s", note);
    failure_log_add(account->failures, &record);
}

/* If two programs that take turns share a place here, each may get its report again. */
static bool is_key_reported(struct account *account, uint64_t process)
{
    _Atomic uint64_t *reported = &account->reported_keys[process % REPORTED_KEYS];
    return atomic_exchange(reported, process + 1) == process + 1;
}

void account_report_notes(struct account *account, const struct caller *caller,
                          struct address address, const struct text_notes *notes)
{
    if (notes->annotation[0])
        report_note(account, caller, address, notes->annotation);
    if (notes->key[0] && !is_key_reported(account, caller->process))
        report_note(account, caller, address, notes->key);
}
