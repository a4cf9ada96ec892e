#ifndef CLIENT_AZURE_AZURE_STORE_H
#define CLIENT_AZURE_AZURE_STORE_H
/* The Table service over REST. Any thread. One request an operation, signed when it is sent; no
 * retries. Requests are at most 4 MiB, answers 64 MiB: -EFBIG. A filter is sent as it is. A key
 * with a lone surrogate can be inserted and read, not changed: no URL holds it (-EINVAL). To be
 * created after the last fork, behind http_global_init. */
#include "client/azure/connection.h"
#include "client/clock.h"
#include "client/table_store.h"

struct azure_store_options {
    const struct connection *connection; /* outlives the store, which signs with its credential */
    const char *ca_file;                 /* certificates to trust; NULL: the system's. Copied. */
};

int azure_store_create(const struct azure_store_options *options, const struct clock *clock,
                       struct table_store **ret);

#endif
