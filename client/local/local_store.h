/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_LOCAL_LOCAL_STORE_H
#define CLIENT_LOCAL_LOCAL_STORE_H
/* A table store in one SQLite file: an account without a service, with the service's rules. Many
 * threads and processes may use one file at once. An acknowledged change survives a kill of the
 * process and a power cut. Create it after the last fork. */
#include "client/base/clock.h"
#include "client/store/table_store.h"

/* With may_create a missing file is created with mode 0600, which its -wal and -shm get, too, and
 * an empty one becomes an account; if that fails, a file that was missing is missing again. Then a
 * file that is another user's, but not root's, or that every user may write to is -EPERM. A
 * read-only file can be read; changes are -EROFS. A file of format 1 is upgraded first, which takes
 * as long as it must. Errors, the reason in the call: -ENOENT: no such file; -EISDIR; -EINVAL: not
 * a regular file, not a SQLite database, empty, or another program's; -EPROTONOSUPPORT: made by a
 * newer version; -EIO: damaged; -ENOSPC: no room for a new account, or for the upgrade, which a
 * damaged file of format 1 refuses with -EIO, and the file is as it was; -EROFS: read-only and
 * empty; and errors of the system. */
int local_store_create(const char *path, bool may_create, const struct clock *clock,
                       struct call *call, struct table_store **ret);
/* Is the file at this path in an older format, so that local_store_create has to upgrade it? Only
 * while this process has not opened it. */
bool local_store_is_older(const char *path);
/* Like local_store_create of a file that exists, but nothing in it is changed: a file of format 1
 * is not upgraded, and changes are -EROFS. */
int local_store_open_as_is(const char *path, const struct clock *clock, struct call *call,
                           struct table_store **ret);
/* False: the file is still in format 1, because it cannot be written to or was opened as it is.
 * Damage in it is not noticed. `store` is one of this module, here and below. */
bool local_store_has_checksums(struct table_store *store);
/* False: every change is -EROFS. */
bool local_store_is_writable(struct table_store *store);
/* The file's path without links, valid while the store exists. */
const char *local_store_real_path(struct table_store *store);

#endif
