#ifndef CLIENT_LOCAL_LOCAL_STORE_H
#define CLIENT_LOCAL_LOCAL_STORE_H
/* A table store in one SQLite file: an account without a service, with the service's rules. Many
 * threads and processes may use one file at once. An acknowledged change survives a kill of the
 * process and a power cut. Create it after the last fork. */
#include "client/clock.h"
#include "client/table_store.h"

/* A missing file is created with mode 0600, which its -wal and -shm get, too. A read-only file can
 * be read; changes are -EROFS. Errors, the reason in the call: -EISDIR; -EINVAL: not a regular
 * file, not a SQLite database, or another program's; -EPROTONOSUPPORT: made by a newer version;
 * -EIO: damaged; -EROFS: read-only and empty; and errors of the system. */
int local_store_create(const char *path, const struct clock *clock, struct call *call,
                       struct table_store **ret);
/* The file's path without links, valid while the store exists. `store` was made by
 * local_store_create. */
const char *local_store_real_path(struct table_store *store);

#endif
