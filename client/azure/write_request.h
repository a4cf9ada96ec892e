#ifndef CLIENT_AZURE_WRITE_REQUEST_H
#define CLIENT_AZURE_WRITE_REQUEST_H
/* How one write is asked for, as a request of its own and as a part of a batch: its method, path,
 * headers and body. Pure, any thread.
 * https://learn.microsoft.com/rest/api/storageservices/operations-on-entities; a missing If-Match
 * makes an upsert of a replace or merge. */
#include "client/table_store.h"

const char *write_request_method(enum write_kind kind);
/* "/table" of an insert, else the entity's. The buffer's errors; -EILSEQ: a key that no URL can
 * hold. */
int write_request_append_path(struct buffer *ret, const char *table, const struct write *write);
/* Lines of those of Content-Type, If-Match and Prefer that it has. -EINVAL: an ETag that no header
 * can hold. */
int write_request_append_headers(struct buffer *ret, const struct write *write);
/* One line of JSON; nothing for a delete. -EINVAL as in entity_wire.h. */
int write_request_append_body(struct buffer *ret, const struct write *write);

#endif
