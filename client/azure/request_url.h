#ifndef CLIENT_AZURE_REQUEST_URL_H
#define CLIENT_AZURE_REQUEST_URL_H
/* Paths and query strings of requests, percent-encoded as they are signed and sent: A-Za-z0-9-._~
 * stay, a "'" in a key is doubled. Keys come in CESU-8 and leave in UTF-8. Pure, any thread.
 * Errors: the buffer's, or -EILSEQ. */
#include "client/table_store.h"

/* "/table(PartitionKey='p',RowKey='r')"; -EILSEQ: a key holds a lone surrogate, which no URL
 * can. */
int request_url_append_entity(struct buffer *ret, const char *table, struct bytes position);
int request_url_append_rows(struct buffer *ret, const char *table);   /* "/table()" */
int request_url_append_insert(struct buffer *ret, const char *table); /* "/table" */
int request_url_append_tables(struct buffer *ret);                    /* "/Tables" */
int request_url_append_table(struct buffer *ret, const char *table);  /* "/Tables('table')" */

/* "$filter=...&$select=...&$top=...&NextPartitionKey=...". The filter asks for the query's range,
 * which is askable, and for the query's own filter behind it, in parentheses; with an end that
 * holds a lone surrogate for a little more: *ret_is_widened, and the rows outside are to be
 * dropped. The keys and the Timestamp are always selected. */
int request_url_append_row_query(struct buffer *ret, const struct query *query,
                                 bool *ret_is_widened);
/* "$filter=TableName%20eq%20'only'", "NextTableName=...", both or nothing; `only` may be NULL. */
int request_url_append_table_query(struct buffer *ret, const char *only,
                                   const struct continuation *after);

/* Notes why a request could not be made: any of these errors, and those of write_request.h. */
int request_url_fail(struct call *call, int error);

/* The service continues a page by up to three response headers; each may be there and empty, and is
 * sent back exactly if it was there. The opaque token of a continuation: for each, a letter, its
 * value, NUL. */
enum token_part {
    TOKEN_NEXT_PARTITION_KEY,
    TOKEN_NEXT_ROW_KEY,
    TOKEN_NEXT_TABLE_NAME,
    TOKEN_PARTS
};

const char *token_header(enum token_part part); /* x-ms-continuation-... */
int token_append_part(struct buffer *ret, enum token_part part, struct bytes value);

#endif
