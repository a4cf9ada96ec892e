/* SPDX-License-Identifier: MIT */
#include "client/azure/write_request.h"
#include "client/azure/entity_wire.h"
#include "client/http/http_header.h"
#include "client/http/request_url.h"

#define REQUEST_BYTES ((size_t)160) /* of a request, at most, without what its write has */

/* PATCH and MERGE are the same to the service; PATCH is the standard method. */
const char *write_request_method(enum write_kind kind)
{
    switch (kind) {
    case WRITE_INSERT:
        return "POST";
    case WRITE_REPLACE:
    case WRITE_UPSERT_REPLACE:
        return "PUT";
    case WRITE_MERGE:
    case WRITE_UPSERT_MERGE:
        return "PATCH";
    case WRITE_DELETE:
        break;
    }
    return "DELETE";
}

const char *write_request_permissions(enum write_kind kind)
{
    switch (kind) {
    case WRITE_INSERT:
        return "a";
    case WRITE_REPLACE:
    case WRITE_MERGE:
        return "u";
    case WRITE_UPSERT_REPLACE:
    case WRITE_UPSERT_MERGE:
        return "au";
    case WRITE_DELETE:
        break;
    }
    return "d";
}

int write_request_append_path(struct buffer *ret, const char *table, const struct write *write)
{
    if (write->kind == WRITE_INSERT)
        return request_url_append_insert(ret, table);
    return request_url_append_entity(ret, table, write->position);
}

int write_request_append_headers(struct buffer *ret, const struct write *write)
{
    if (!http_header_is_value(write->if_match))
        return -EINVAL;
    if (write->kind != WRITE_DELETE)
        (void)http_header_append(ret, "Content-Type", BYTES_LITERAL("application/json"));
    if (write->if_match.size > 0)
        (void)http_header_append(ret, "If-Match", write->if_match);
    if (write->kind == WRITE_INSERT)
        (void)http_header_append(ret, "Prefer", BYTES_LITERAL("return-no-content"));
    return ret->error;
}

int write_request_append_body(struct buffer *ret, const struct write *write)
{
    if (write->kind == WRITE_DELETE)
        return 0;
    return entity_wire_append(ret, write->position, write->text);
}

size_t write_request_size(const char *table, const struct write *write)
{
    size_t size = REQUEST_BYTES + 3 * strlen(table) + write->if_match.size;
    if (write->kind != WRITE_INSERT)
        size += request_url_keys_size(write->position);
    return write->kind == WRITE_DELETE ? size
                                       : size + entity_wire_size(write->position, write->text);
}
