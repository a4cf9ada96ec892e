/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_LOCAL_LOCAL_QUERY_H
#define CLIENT_LOCAL_LOCAL_QUERY_H
/* Reads entities. The caller has begun a transaction, so that each function reads one version of
 * the file. As in the service, a page ends at `top` rows, at about 4 MiB of text, or when a filter
 * has refused many rows; the token contains where the next page begins. One thread. A failure is
 * recorded in the call of local_connection_serve. */
#include "client/local/local_connection.h"
#include "client/store/table_store.h"

/* As `query` and `get` of table_store_ops. */
int local_query_rows(struct local_connection *connection, const struct clock *clock,
                     const struct query *query, struct page_builder *builder,
                     struct continuation **ret_next);
int local_query_row(struct local_connection *connection, const char *table, struct bytes position,
                    struct page_builder *builder);

/* Tokens: a mark, for the kind of token, and where the next page begins. */
int local_token_create(struct call *call, const char *mark, struct bytes from,
                       struct continuation **ret);
/* False: it was not created with this mark. */
bool local_token_read(const struct continuation *token, const char *mark, struct bytes *ret_from);

#endif
