#ifndef CLIENT_LOCAL_LOCAL_QUERY_H
#define CLIENT_LOCAL_LOCAL_QUERY_H
/* Reading entities, each time from one version of the file. Pages end as the service's do: at `top`
 * rows, at about 4 MiB of text, or when enough rows were looked at that a filter refused; then a
 * token says where to go on. One thread; the connection serves the call. */
#include "client/local/local_connection.h"
#include "client/table_store.h"

/* As table_store_ops has it. */
int local_query_rows(struct local_connection *connection, const struct clock *clock,
                     const struct query *query, struct page_builder *builder,
                     struct continuation **ret_next);
int local_query_row(struct local_connection *connection, const char *table, struct bytes position,
                    struct page_builder *builder);

/* Tokens: a mark that says whose they are, and what to carry on from. */
int local_token_create(struct call *call, const char *mark, struct bytes from,
                       struct continuation **ret);
/* false: it was not made with this mark */
bool local_token_read(const struct continuation *token, const char *mark, struct bytes *ret_from);

#endif
