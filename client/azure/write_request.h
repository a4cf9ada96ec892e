/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_AZURE_WRITE_REQUEST_H
#define CLIENT_AZURE_WRITE_REQUEST_H
/* The method, path, headers and body of one write, sent alone or as a part of a batch. A replace or
 * merge without If-Match is an upsert. Pure, any thread.
 * https://learn.microsoft.com/rest/api/storageservices/operations-on-entities */
#include "client/store/table_store.h"

const char *write_request_method(enum write_kind kind);
/* The permissions that a SAS token needs for it: letters of its sp=. */
const char *write_request_permissions(enum write_kind kind);
/* "/table" for an insert, else the entity's path. Errors of the buffer; -EILSEQ: a URL cannot
 * contain the key. */
int write_request_append_path(struct buffer *ret, const char *table, const struct write *write);
/* The headers Content-Type, If-Match and Prefer, those that the write needs. -EINVAL: the ETag is
 * not legal in a header. */
int write_request_append_headers(struct buffer *ret, const struct write *write);
/* One line of JSON; nothing for a delete. -EINVAL as in entity_wire.h. */
int write_request_append_body(struct buffer *ret, const struct write *write);
/* An upper bound of the size of method, path, headers and body together. */
size_t write_request_size(const char *table, const struct write *write);

#endif
