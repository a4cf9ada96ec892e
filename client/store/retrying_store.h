/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_STORE_RETRYING_STORE_H
#define CLIENT_STORE_RETRYING_STORE_H
/* A decorator for any store: retries a request that failed for a temporary reason, with backoff,
 * until the call's deadline. The pauses of a throttled request (HTTP 503 or 429) become short again
 * when another request of its table is answered. After a few empty pages with a token in a row, it
 * returns each further one after a pause that grows, and at last -EPROTO. While the service is
 * down, requests fail at once, also those that wait in a backoff; only probes are sent
 * (service_health.h). Any thread; no lock of its own. Each attempt is one call of the inner store,
 * so tests can put a store that injects faults below it. */
#include "client/base/clock.h"
#include "client/store/service_health.h"
#include "client/store/service_throttling.h"
#include "client/store/table_store.h"

struct retrying_store_options {
    int64_t timeout_ms;        /* from a call's begin, or last progress, to its deadline */
    service_health_sink *sink; /* may be NULL, as the next one */
    service_throttling_sink *throttling_sink;
    void *sink_context; /* of both */
};

/* Takes ownership of the inner store on success. */
int retrying_store_create(struct table_store *inner, const struct clock *clock,
                          const struct retrying_store_options *options, struct table_store **ret);
/* `store` was made by retrying_store_create. */
int retrying_store_append_metrics(struct table_store *store, struct buffer *ret);

#endif
