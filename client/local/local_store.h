#ifndef CLIENT_LOCAL_LOCAL_STORE_H
#define CLIENT_LOCAL_LOCAL_STORE_H
/* A table store in one SQLite file: an account that needs no service, by the service's rules. Many
 * threads and processes may use one file at once; what was acknowledged survives a kill and a power
 * cut. To be created after the last fork. */
#include "client/clock.h"
#include "client/table_store.h"

/* The file is created when it is missing (mode 0600, as the -wal and -shm beside it); one that
 * cannot be written to is read, and changes are -EROFS. Refused, the reason in the call: -EISDIR;
 * -EINVAL: no regular file, no SQLite database, or another program's; -EPROTONOSUPPORT: a newer
 * version's; -EIO: damaged; -EROFS: nothing there yet; and what the system says. */
int local_store_create(const char *path, const struct clock *clock, struct call *call,
                       struct table_store **ret);
/* Of a store made here: the file's path without links, while the store lives. */
const char *local_store_real_path(struct table_store *store);

#endif
