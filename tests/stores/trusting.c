/* SPDX-License-Identifier: MIT */
/* A mutant for the soak: after a lost answer it takes the answer to the second attempt for the
 * truth. So a write that was made is reported as refused. */
#include "client/store/written.h"

int __wrap_written_check(struct table_store *store, const char *table, const struct write *writes,
                         size_t n, struct call *call, struct write_result *ret);
int __wrap_written_check(struct table_store *store, const char *table, const struct write *writes,
                         size_t n, struct call *call, struct write_result *ret)
{
    (void)store, (void)table, (void)writes, (void)n, (void)call, (void)ret;
    return WRITTEN_NOT;
}
