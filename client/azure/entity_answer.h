/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_AZURE_ENTITY_ANSWER_H
#define CLIENT_AZURE_ENTITY_ANSWER_H
/* Turns JSON bodies with entities into rows of a page. Pure, one thread.
 * An entity whose keys can be read, but that has no canonical text (entity_text.h), becomes a bad
 * row (page.h).
 *
 * Errors of both functions, with the reason in call->failure: -EPROTO: not a body of the service,
 * or an entity with a key that is missing, not a string, or has U+0000, and retryable if the body
 * breaks off; -EFBIG: larger than a page; -ENOMEM. After a failure the builder may have some of the
 * rows. */
#include "client/store/call.h"
#include "client/store/page.h"

/* `{"odata.metadata":..., "value":[{...}, ...]}`. Rows outside `range` are dropped and
 * counted in ret_dropped, because the request's filter may be wider than the range. keys_only: rows
 * get keys, ETag and Timestamp, as far as the body has them, and no text. */
int entity_answer_page(struct bytes body, struct range range, bool keys_only, struct call *call,
                       struct page_builder *builder, size_t *ret_dropped);

/* One entity: `{...}`. `etag` is the answer's header; if not empty, it replaces odata.etag. */
int entity_answer_single(struct bytes body, struct bytes etag, struct call *call,
                         struct page_builder *builder);

#endif
