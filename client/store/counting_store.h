/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_STORE_COUNTING_STORE_H
#define CLIENT_STORE_COUNTING_STORE_H
/* A decorator for any store: counts requests by operation, outcome and the caller's command, which
 * is made printable (client/text/printable.h). Any thread; one leaf mutex. */
#include "client/base/clock.h"
#include "client/store/table_store.h"

/* Takes ownership of the inner store on success. */
int counting_store_create(struct table_store *inner, const struct clock *clock,
                          struct table_store **ret);
/* The number of all requests. */
uint64_t counting_store_requests(struct table_store *store);
/* Appends tablefuse_requests_total and the sums of rows, bytes and seconds, by operation
 * (query, get, list_tables, write, delete, batch, create_table, delete_table), HTTP status (0: no
 * answer) and command; and a histogram of the time by operation. `store` was made by
 * counting_store_create. */
int counting_store_append_metrics(struct table_store *store, struct buffer *ret);

#endif
