/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_LOCAL_LOCAL_BATCH_H
#define CLIENT_LOCAL_LOCAL_BATCH_H
/* Makes writes by the service's rules; of a batch, all writes or none. Any thread. */
#include "client/local/local_writer.h"
#include "client/store/table_store.h"

extern const struct table_store_limits local_batch_limits;

/* As `write_size` of table_store_ops. */
size_t local_batch_write_size(const struct write *write);
/* As `write` of table_store_ops. */
int local_batch_write(struct local_writer *writer, const char *table, const struct write *writes,
                      size_t n, struct call *call, struct write_result *ret);

#endif
