#ifndef CLIENT_AZURE_ETAG_H
#define CLIENT_AZURE_ETAG_H
/* The ETag of a version that was just written. Opaque, but for one thing: a service that makes it
 * of the entity's Timestamp, as Azure and Azurite do, W/"datetime'2017-01-05T03%3A25%3A25.94Z'",
 * so tells that as well. Pure. */
#include "client/table_store.h"

/* -EPROTO: none, more than a write_result holds, or what no header can send back. Another form: no
 * Timestamp. */
int etag_read(struct bytes etag, struct write_result *ret);

#endif
