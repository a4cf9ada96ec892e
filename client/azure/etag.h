/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_AZURE_ETAG_H
#define CLIENT_AZURE_ETAG_H
/* The ETag of a version that was just written. It is opaque, except that Azure and Azurite make it
 * from the entity's Timestamp, W/"datetime'2017-01-05T03%3A25%3A25.94Z'", which is read here.
 * Pure. */
#include "client/store/table_store.h"

/* Sets the ETag and, if it has that form, the Timestamp, else 0. -EPROTO: empty, longer than a
 * write_result can hold, or not legal in a header. */
int etag_read(struct bytes etag, struct write_result *ret);

#endif
