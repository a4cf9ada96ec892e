#ifndef CLIENT_WRITTEN_H
#define CLIENT_WRITTEN_H
/* Finds out whether a change was made when its answer was lost. Example: the second attempt of an
 * insert fails with "exists", perhaps because the first attempt succeeded. The rows are read and
 * compared with what the change would have stored. The same content written by another client
 * cannot be told apart and counts as ours. */
#include "client/table_store.h"

/* 1: the whole change was made; ret holds the stored versions. 0: the rows differ from what the
 * change would have stored: it was not made, or another client has changed them since. -errno: the
 * rows could not be read, the reason in call. */
int written_check(struct table_store *store, const char *table, const struct write *writes,
                  size_t n, struct call *call, struct write_result *ret);

#endif
