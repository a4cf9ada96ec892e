/* SPDX-License-Identifier: MIT */
#include "cache/queue/reconcile.h"
#include "client/entity/entity_compare.h"

static bool is_own_text(const struct write *write, bool is_doubtful, const struct entity *found)
{
    struct bytes text = page_text(found->page, found->row);
    if (!is_doubtful)
        return false;
    return write->kind == WRITE_MERGE ? entity_text_includes(text, write->text)
                                      : entity_text_equal(text, write->text);
}

static bool fits(const struct write *write, const struct entity *found)
{
    return bytes_equal(write->if_match, BYTES_LITERAL("*")) ||
           bytes_equal(write->if_match, page_etag(found->page, found->row));
}

static enum reconciled reconcile_absent(const struct write *write)
{
    switch (write->kind) {
    case WRITE_DELETE:
        return RECONCILED_MADE;
    case WRITE_REPLACE:
    case WRITE_MERGE:
        return RECONCILED_GONE;
    case WRITE_INSERT:
    case WRITE_UPSERT_REPLACE:
    case WRITE_UPSERT_MERGE:
        break;
    }
    return RECONCILED_SEND;
}

enum reconciled reconcile(const struct write *write, bool is_doubtful, const struct entity *found)
{
    if (!found->page)
        return reconcile_absent(write);
    bool is_version = fits(write, found);
    switch (write->kind) {
    case WRITE_DELETE:
        return is_version ? RECONCILED_SEND : RECONCILED_LOST;
    case WRITE_INSERT:
        return is_own_text(write, is_doubtful, found) ? RECONCILED_MADE : RECONCILED_EXISTS;
    case WRITE_REPLACE:
    case WRITE_MERGE:
        if (is_version)
            return RECONCILED_SEND;
        return is_own_text(write, is_doubtful, found) ? RECONCILED_MADE : RECONCILED_LOST;
    case WRITE_UPSERT_REPLACE:
    case WRITE_UPSERT_MERGE:
        break;
    }
    return RECONCILED_SEND;
}
