/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_HTTP_REQUEST_URL_H
#define CLIENT_HTTP_REQUEST_URL_H
/* Paths and query strings of requests, percent-encoded as they are signed and sent: all bytes but
 * A-Za-z0-9-._~ are encoded, and "'" in a key is doubled. Keys are CESU-8 here and UTF-8 in the
 * URL. Pure, any thread. Errors: the buffer's, or -EILSEQ. */
#include "client/store/table_store.h"

/* Any bytes, percent-encoded. */
int request_url_append_encoded(struct buffer *ret, struct bytes text);

/* "/table(PartitionKey='p',RowKey='r')"; -EILSEQ: a key has a lone surrogate, which UTF-8 and thus
 * a URL cannot contain. */
int request_url_append_entity(struct buffer *ret, const char *table, struct bytes position);
/* An upper bound of what the keys take in it. */
size_t request_url_keys_size(struct bytes position);
int request_url_append_rows(struct buffer *ret, const char *table);   /* "/table()" */
int request_url_append_insert(struct buffer *ret, const char *table); /* "/table" */
int request_url_append_tables(struct buffer *ret);                    /* "/Tables" */
int request_url_append_table(struct buffer *ret, const char *table);  /* "/Tables('table')" */

/* "$filter=...&$select=...&$top=...&NextPartitionKey=...". The filter asks for the query's range,
 * which is askable, and for the query's own filter, in parentheses. If an end of the range has a
 * lone surrogate, the filter is a little wider: *ret_is_widened is set, and the caller drops the
 * rows outside the range. The keys and the Timestamp are always selected. */
int request_url_append_row_query(struct buffer *ret, const struct query *query,
                                 bool *ret_is_widened);
/* "$filter=TableName%20eq%20'only'" if `only` is not NULL, and "NextTableName=..." if `after` is
 * not NULL. */
int request_url_append_table_query(struct buffer *ret, const char *only,
                                   const struct continuation *after);

/* Records why a request could not be made: one of these errors or of those of write_request.h. */
int request_url_fail(struct call *call, int error);

/* The service continues a page by up to three response headers. Each that is present, even with an
 * empty value, is sent back. The token of a continuation has for each: a letter, its value, NUL. */
enum token_part {
    TOKEN_NEXT_PARTITION_KEY,
    TOKEN_NEXT_ROW_KEY,
    TOKEN_NEXT_TABLE_NAME,
    TOKEN_PARTS
};

const char *token_header(enum token_part part); /* x-ms-continuation-... */
int token_append_part(struct buffer *ret, enum token_part part, struct bytes value);

#endif
