#ifndef CLIENT_RETRYING_STORE_H
#define CLIENT_RETRYING_STORE_H
/* A decorator over any store: repeats what failed for a passing reason, with backoff, until the
 * call's deadline. Any thread; no lock. Each attempt goes through the inner store alone, so a fault
 * decorator below tests this. */
#include "client/clock.h"
#include "client/table_store.h"

/* Takes the inner store on success. */
int retrying_store_create(struct table_store *inner, const struct clock *clock,
                          struct table_store **ret);
/* of a store made here */
int retrying_store_append_metrics(struct table_store *store, struct buffer *ret);

#endif
