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
/* An upper bound of the size of the keys in this URL. */
size_t request_url_keys_size(struct bytes position);
int request_url_append_rows(struct buffer *ret, const char *table);   /* "/table()" */
int request_url_append_insert(struct buffer *ret, const char *table); /* "/table" */
int request_url_append_tables(struct buffer *ret);                    /* "/Tables" */
int request_url_append_table(struct buffer *ret, const char *table);  /* "/Tables('table')" */

/* "$filter=...&$select=...&$top=...&NextPartitionKey=...". The filter is the query's range, which
 * is range_is_expressible, and the query's own filter, in parentheses. If a bound of the range has
 * a lone surrogate, the filter is a little wider than the range: *ret_is_widened is set, and the
 * caller drops rows outside the range. The keys and the Timestamp are always selected. */
int request_url_append_row_query(struct buffer *ret, const struct query *query,
                                 bool *ret_is_widened);
/* "$filter=TableName%20eq%20'only'" if `only` is not NULL, and "NextTableName=..." if `after` is
 * not NULL. */
int request_url_append_table_query(struct buffer *ret, const char *only,
                                   const struct continuation *after);

/* Records in the call why a request could not be built: an error of these functions or of
 * write_request.h. Returns the errno for the caller: -EFBIG becomes -ENAMETOOLONG, for example. */
int request_url_fail(struct call *call, int error);

/* The service's continuation token consists of up to three response headers. The next request sends
 * back each that was present, even with an empty value. The token of a struct continuation has for
 * each one: a letter, its value, NUL. */
enum token_part {
    TOKEN_NEXT_PARTITION_KEY,
    TOKEN_NEXT_ROW_KEY,
    TOKEN_NEXT_TABLE_NAME,
    TOKEN_PARTS
};

const char *token_header(enum token_part part); /* x-ms-continuation-... */
int token_append_part(struct buffer *ret, enum token_part part, struct bytes value);
/* The token in the headers of an answer; none: nothing is appended. A header that is present with
 * an empty value is a part of it. */
int token_append_headers(struct buffer *ret, struct bytes headers);

#endif
