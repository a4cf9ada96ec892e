/* SPDX-License-Identifier: MIT */
#ifndef TESTS_STORES_HOOKED_STORE_H
#define TESTS_STORES_HOOKED_STORE_H
/* A decorator for tests, which calls the test around each request, in the thread that sends it and
 * without a lock. Any thread, as far as the hooks and the inner store are. */
#include "client/store/table_store.h"

struct store_hooks { /* either may be NULL */
    /* Before the request is passed on. */
    void (*before)(void *context);
    /* The inner store has answered r; what is returned is the answer. is_change: none that reads.
     */
    int (*after)(void *context, bool is_change, int r, struct call *call);
    void *context;
};

/* Takes the inner store on success. 0 or -ENOMEM. */
int hooked_store_create(struct table_store *inner, const struct store_hooks *hooks,
                        struct table_store **ret);
/* An `after` that loses the answer: the request may have been performed. */
int hooked_store_lose(struct call *call, bool is_retryable);

#endif
