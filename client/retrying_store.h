#ifndef CLIENT_RETRYING_STORE_H
#define CLIENT_RETRYING_STORE_H
/* A decorator for any store: repeats a request that failed for a temporary reason, with backoff,
 * until the call's deadline. Any thread; no lock. Each attempt is one call of the inner store, so
 * tests can put a store that injects faults below it. */
#include "client/clock.h"
#include "client/table_store.h"

/* Takes ownership of the inner store on success. */
int retrying_store_create(struct table_store *inner, const struct clock *clock,
                          struct table_store **ret);
/* `store` was made by retrying_store_create. */
int retrying_store_append_metrics(struct table_store *store, struct buffer *ret);

#endif
