/* SPDX-License-Identifier: MIT */
#include "cache/core.h"

/* Was the queued text refused that the edit is to replace? Then nothing is sent. 0 or -ESTALE. */
static int check_queued(struct account *account, struct caller *caller, const struct edit *edit,
                        const struct known_versions *known)
{
    bool has_stored = edit->last_stored.size > 0 || edit->queued;
    if (edit->begin == EDIT_OVER && !has_stored)
        return account_check_read(account, caller, edit->address, known);
    if (edit->begin == EDIT_APPENDED || !edit->queued || known->masked.size > 0 ||
        account->options.overwrites_conflicts || later_etag_get(edit->queued).size > 0)
        return 0;
    return account_lose_queued(account, caller, edit->address,
                               "the text that was queued before is not known to be stored");
}

/* What this mount has stored after the edit's last store is no other client's change: the last one
 * wins, unless the program has read an older version. The edit views `stored`. */
static void follow_own_stores(struct account *account, struct edit *edit,
                              const struct known_versions *known, struct etag *stored)
{
    if (edit->last_stored.size == 0 || edit->was_read || edit->begin == EDIT_CHANGED ||
        known->has_read_lost)
        return;
    read_versions_find_stored(account->write.versions, edit->address, stored);
    struct bytes latest = etag_bytes(stored), read = etag_bytes(&known->read);
    if (latest.size > 0 && (read.size == 0 || bytes_equal(read, latest)))
        edit->last_stored = latest;
}

static int store_alone(struct account *account, struct caller *caller, const struct edit *edit,
                       struct bytes text, const struct known_versions *known, struct entity *ret)
{
    _cleanup_(entity_finish) struct entity now = {0};
    struct etag stored;
    struct edit own = *edit;
    if (edit->queued && known->masked.size == 0)
        own.last_stored = later_etag_get(edit->queued);
    follow_own_stores(account, &own, known, &stored);
    struct write write = account_choose_write(account, &own, text, known);
    int r = account_send(account, caller, edit->address.table, &write, &now);
    if (r < 0)
        return account_lose(account, caller, edit->address, r, write.kind);
    caller->call.failure = (struct failure){0};
    if (known->read.size > 0 || edit->begin == EDIT_CHANGED) /* else it wrote without reading */
        account_wrote(account, caller, edit->address, &now);
    *ret = now;
    now.page = NULL;
    return 0;
}

/* Does the write expect something else than was last known of the entity? Then it is sent at once,
 * and the service decides: the caller gets the answer, as without write-back. */
static bool is_unexpected(struct account *account, struct address address,
                          const struct write *write)
{
    if (write->kind == WRITE_UPSERT_REPLACE)
        return false;
    _cleanup_(entity_finish) struct entity now = {0};
    enum knowledge known = account_recall(account, address, &now);
    if (known == KNOWN_ROWS)
        return !bytes_equal(page_etag(now.page, now.row), write->if_match);
    return known == KNOWN_EMPTY && write->kind != WRITE_INSERT;
}

/* May the text be queued, with write-back? Not one that continues an earlier store of the edit: the
 * result of that one counts. ret: the write. */
static bool may_be_queued(struct account *account, const struct edit *edit, struct bytes text,
                          const struct known_versions *known, struct write *ret)
{
    if (!account->options.is_write_back || edit->begin == EDIT_APPENDED || edit->is_blank ||
        edit->last_stored.size > 0 || edit->queued || known->masked.size > 0 ||
        !account_may_queue(account))
        return false;
    *ret = account_choose_write(account, edit, text, known);
    return !is_unexpected(account, edit->address, ret);
}

/* Under a mask an empty new file replaces nothing: the entity is shown again. 1; 0: there is none
 * to show; -errno. */
static int show_again(struct account *account, struct caller *caller, const struct edit *edit,
                      struct known_versions *known, struct entity *ret)
{
    if (!edit->is_blank || known->masked.size == 0)
        return 0;
    pending_unmask(account->write.pending, edit->address.table, edit->address.position);
    known->masked.size = 0;
    int r = account_find(account, caller, edit->address, ret);
    if (r < 0 && r != -ENOENT)
        return r;
    caller->call.failure = (struct failure){0};
    return r == 0;
}

/* Was the file opened for appending before the entity was masked? Then it does not begin a new
 * text: what it appends is merged into the entity, which is shown again. */
static bool continues_appending(const struct edit *edit)
{
    return edit->begin == EDIT_APPENDED &&
           (edit->snapshot.size > 0 || edit->last_stored.size > 0 || edit->queued);
}

/* Is the claim the queue's afterwards? Then ret_is_queued. */
static int store_claimed(struct account *account, struct caller *caller, const struct edit *edit,
                         struct bytes text, struct entity *ret, bool *ret_is_queued)
{
    struct known_versions known;
    account_known(account, caller, edit->address, &known);
    int r = show_again(account, caller, edit, &known, ret);
    if (r != 0)
        return MIN(r, 0);
    r = check_queued(account, caller, edit, &known);
    if (r < 0)
        return r;
    struct write write;
    if (may_be_queued(account, edit, text, &known, &write)) {
        r = account_queue_text(account, caller, edit->address.table, &write, ret);
        *ret_is_queued = r == 0;
        return r;
    }
    bool is_masked = known.masked.size > 0 && !continues_appending(edit);
    if (known.masked.size > 0 && !is_masked)
        pending_unmask(account->write.pending, edit->address.table, edit->address.position);
    r = edit->begin == EDIT_APPENDED && !is_masked
            ? account_append_claimed(account, caller, edit->address, edit->text, ret)
            : store_alone(account, caller, edit, text, &known, ret);
    if (r == 0 && is_masked)
        pending_unmask(account->write.pending, edit->address.table, edit->address.position);
    return r;
}

int account_store(struct account *account, struct caller *caller, const struct edit *edit,
                  struct entity *ret)
{
    _cleanup_(buffer_finish) struct buffer text = {.max = ENTITY_INPUT_MAX_BYTES};
    struct text_notes notes;
    int r = account_may_change(account, caller);
    if (r == 0)
        r = account_make_edit_text(account, caller, edit, &text, &notes);
    if (r == 0)
        r = write_side_claim(&account->write, edit->address, &caller->call);
    if (r < 0)
        return r;
    bool is_queued = false;
    r = store_claimed(account, caller, edit, buffer_bytes(&text), ret, &is_queued);
    if (r == 0)
        local_directories_filled(account->write.local, edit->address);
    if (!is_queued)
        write_side_release(&account->write, edit->address);
    if (r == 0)
        account_report_notes(account, caller, edit->address, &notes);
    return r;
}
