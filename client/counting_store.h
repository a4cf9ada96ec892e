#ifndef CLIENT_COUNTING_STORE_H
#define CLIENT_COUNTING_STORE_H
/* A decorator over any store: counts attempts by operation, outcome and the caller's command. Any
 * thread; one leaf mutex. */
#include "client/clock.h"
#include "client/table_store.h"

/* Takes the inner store on success. */
int counting_store_create(struct table_store *inner, const struct clock *clock,
                          struct table_store **ret);
/* tablefuse_requests_total and what they brought and took, by operation (query, get, list_tables,
 * write, delete, batch, create_table, delete_table), HTTP status (0: no answer) and command. Of a
 * store made here. */
int counting_store_append_metrics(struct table_store *store, struct buffer *ret);

#endif
