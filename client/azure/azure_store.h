/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_AZURE_AZURE_STORE_H
#define CLIENT_AZURE_AZURE_STORE_H
/* A table store for the Table service over REST. Any thread. One request for each operation, signed
 * when it is sent; no retries. -EFBIG: a request of more than 4 MiB, or an answer of more than
 * 64 MiB. A filter is sent unchanged. An entity with a lone surrogate in a key can be inserted and
 * read, but not changed, because a URL cannot contain it (-EINVAL). Create it after the last fork
 * and after http_global_init. */
#include "client/azure/service.h"
#include "client/base/clock.h"
#include "client/store/table_store.h"

int azure_store_create(const struct service_options *options, const struct clock *clock,
                       struct table_store **ret);

#endif
