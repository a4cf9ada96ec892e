/* SPDX-License-Identifier: MIT */
#include "cache/queue/pending_texts.h"
#include "cache/queue/pending_parts.h"

void queued_text_init(struct queued_text *at)
{
    *at = (struct queued_text){0};
    buffer_init(&at->position, POSITION_MAX_BYTES);
}

void queued_text_finish(struct queued_text *at)
{
    buffer_finish(&at->position);
    entity_finish(&at->text);
}

static bool has_text(const struct record *record)
{
    return record->queued && record->queued->text.page;
}

/* 0 or -ENOMEM. */
static int copy_locked(const struct record *record, struct queued_text *at)
{
    const struct queued *queued = record->queued;
    struct bytes etag = {queued->if_match, queued->etag_size};
    if (bytes_equal(etag, BYTES_LITERAL("*"))) /* any version */
        etag.size = 0;
    (void)snprintf(at->table, sizeof(at->table), "%s", record->address.table);
    etag_set(&at->if_match, etag);
    int r = buffer_set(&at->position, record->address.position);
    if (r == 0)
        at->text = (struct entity){page_ref(queued->text.page), queued->text.row};
    return r;
}

int pending_next_text(struct pending *pending, struct queued_text *at)
{
    entity_finish(&at->text);
    at->text = (struct entity){0};
    INSIDE(&pending->monitor);
    struct record *record =
        pending_behind_locked(pending, (struct address){at->table, buffer_bytes(&at->position)});
    while (record && !has_text(record))
        record = pending_behind_locked(pending, record->address);
    int r = record ? copy_locked(record, at) : 0;
    return r < 0 ? r : record != NULL;
}
