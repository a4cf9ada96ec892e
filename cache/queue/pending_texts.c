/* SPDX-License-Identifier: MIT */
#include "cache/queue/pending_texts.h"
#include "cache/queue/pending_parts.h"

void queued_text_finish(struct queued_text *at)
{
    entity_finish(&at->text);
}

static bool has_text(const struct record *record)
{
    return record->queued && record->queued->text.page;
}

static void copy_locked(const struct record *record, struct queued_text *at)
{
    const struct queued *queued = record->queued;
    struct bytes etag = {queued->if_match, queued->etag_size};
    if (bytes_equal(etag, BYTES_LITERAL("*"))) /* any version */
        etag.size = 0;
    (void)snprintf(at->table, sizeof(at->table), "%s", record->address.table);
    etag_set(&at->if_match, etag);
    position_set(&at->position, record->address.position);
    at->text = (struct entity){page_ref(queued->text.page), queued->text.row};
}

bool pending_next_text(struct pending *pending, struct queued_text *at)
{
    entity_finish(&at->text);
    at->text = (struct entity){0};
    INSIDE(&pending->monitor);
    struct record *record =
        pending_behind_locked(pending, (struct address){at->table, position_bytes(&at->position)});
    while (record && !has_text(record))
        record = pending_behind_locked(pending, record->address);
    if (record)
        copy_locked(record, at);
    return record;
}
