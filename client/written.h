#ifndef CLIENT_WRITTEN_H
#define CLIENT_WRITTEN_H
/* Was a change made whose answer was lost? The rows are read and compared with what was to become
 * of them: an insert that is answered with "exists" on its second attempt may have been done by
 * the first. What another client wrote in the very same words counts as ours; nobody can tell. */
#include "client/table_store.h"

/* 1: it was made, all of it; ret holds the versions that are stored. 0: they are not as it would
 * have left them: it was not made, or others have changed them since. -errno: the rows could not be
 * read, the reason in call. */
int written_check(struct table_store *store, const char *table, const struct write *writes,
                  size_t n, struct call *call, struct write_result *ret);

#endif
