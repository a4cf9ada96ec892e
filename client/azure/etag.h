/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_AZURE_ETAG_H
#define CLIENT_AZURE_ETAG_H
/* Reads the ETag in the answer to a write. It is opaque, but Azure and Azurite make it from the
 * entity's Timestamp, which is read from it: W/"datetime'2017-01-05T03%3A25%3A25.94Z'". Pure. */
#include "client/store/table_store.h"

/* Sets ret->etag, and ret->timestamp (0 if the ETag does not have that form). -EPROTO: it is empty,
 * longer than ret->etag, or not legal in a header. */
int etag_read(struct bytes etag, struct write_result *ret);

#endif
