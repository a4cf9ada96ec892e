/* SPDX-License-Identifier: MIT */
#ifndef CACHE_QUEUE_PENDING_TEXTS_H
#define CACHE_QUEUE_PENDING_TEXTS_H
/* Iterates over the queued texts, in the order of tables and positions. A text that ends or is
 * queued meanwhile may be visited or not; no text is visited twice.
 *
 *   struct queued_text at = {0};
 *   while (pending_next_text(pending, &at))
 *       ... at.table, at.text, at.if_match ...
 *   queued_text_finish(&at); */
#include "cache/address.h"
#include "client/store/etag.h"
#include "client/store/page.h"
#include "client/text/table_name.h"

struct pending;

struct queued_text {             /* a copy, on the stack; used by one thread */
    char table[TABLE_NAME_SIZE]; /* empty before the first one */
    struct position position;
    struct etag if_match; /* of the version that it replaces; empty: any */
    struct entity text;
};

void queued_text_finish(struct queued_text *at);
/* Moves to the next text. False: there are no more. Any thread. */
bool pending_next_text(struct pending *pending, struct queued_text *at);

DEFINE_CLEANUP(struct queued_text *, queued_text_finish);

#endif
