/* SPDX-License-Identifier: MIT */
#ifndef TESTS_STORES_GATE_STORE_H
#define TESTS_STORES_GATE_STORE_H
/* A decorator for tests with threads: each request waits at a gate until its number (from 1) is let
 * through, or its call is cancelled or out of time; and they go on one at a time, so that the inner
 * store may be one for one thread. Open when it is made. Any thread. */
#include "client/base/clock.h"
#include "client/store/table_store.h"

#define GATE_OPEN SIZE_MAX

/* Takes the inner store on success. */
int gate_store_create(struct table_store *inner, const struct clock *clock,
                      struct table_store **ret);
void gate_store_let(struct table_store *store, size_t last); /* up to this number */
/* Requests of other tables pass, whatever their number. The name outlives the store. */
void gate_store_hold_only(struct table_store *store, const char *table);
/* Queries of ranges that begin before the position pass, whatever their number; the view outlives
 * the store. Before the first request. */
void gate_store_hold_from(struct table_store *store, struct bytes position);
void gate_store_hold_below(struct table_store *store, struct bytes position); /* the opposite */
size_t gate_store_arrived(struct table_store *store);                         /* requests so far */
/* The same when no more come by themselves, and none is in the inner store: it may be looked at. */
size_t gate_store_settle(struct table_store *store);

#endif
