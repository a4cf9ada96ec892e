#ifndef CLIENT_AZURE_ENTITY_ANSWER_H
#define CLIENT_AZURE_ENTITY_ANSWER_H
/* The JSON bodies that hold entities, turned into rows of a page. Pure, one thread.
 * Both: -EPROTO with the reason in call->failure when the body is not what the service sends,
 * -EFBIG past the page's maximum. Keys only: rows with keys, ETag and Timestamp where the body has
 * them, and no text. After a failure the builder may hold some of the rows. */
#include "client/call.h"
#include "client/page.h"

/* `{"odata.metadata":..., "value":[{...}, ...]}`; rows outside `range` are left out (a filter that
 * had to be widened). */
int entity_answer_page(struct bytes body, struct range range, bool keys_only, struct call *call,
                       struct page_builder *builder);

/* One entity: `{...}`; `etag` is the answer's header, which wins over odata.etag if not empty. */
int entity_answer_single(struct bytes body, struct bytes etag, struct call *call,
                         struct page_builder *builder);

#endif
