/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_AZURE_AZURE_STORE_H
#define CLIENT_AZURE_AZURE_STORE_H
/* The Table service over REST. Any thread. One request for each operation, signed when it is sent;
 * no retries. Requests have at most 4 MiB, answers 64 MiB: -EFBIG. A filter is sent unchanged. An
 * entity with a lone surrogate in a key can be inserted and read, but not changed, because a URL
 * cannot contain it (-EINVAL). Create it after the last fork and after http_global_init. */
#include "client/azure/connection.h"
#include "client/azure/token_source.h"
#include "client/clock.h"
#include "client/table_store.h"

struct azure_store_options {
    const struct connection *connection; /* outlives the store, which uses its credential */
    struct token_source *tokens;         /* in place of a credential; outlives it; NULL: none */
    const char *ca_file;                 /* certificates to trust; NULL: the system's. Copied. */
    size_t answers_max_bytes;            /* of all answers in flight */
};

int azure_store_create(const struct azure_store_options *options, const struct clock *clock,
                       struct table_store **ret);

#endif
