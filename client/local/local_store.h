/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_LOCAL_LOCAL_STORE_H
#define CLIENT_LOCAL_LOCAL_STORE_H
/* A table store in one SQLite file: an account without a service, with the service's rules. Many
 * threads and processes may use one file at once. An acknowledged change survives a kill of the
 * process and a power cut. Create it after the last fork. */
#include "client/base/clock.h"
#include "client/store/table_store.h"

/* Opens an account's file. With may_create, a missing file is created with mode 0600, which its
 * -wal and -shm get, too, and an empty file becomes an account; if this fails, the created file is
 * removed. With may_create, a file of another user (but not root), or one that every user may write
 * to, is -EPERM. A read-only file can be read; changes are -EROFS. A file of format 1 is upgraded
 * first, however long it takes.
 *
 * Errors, with the reason in the call: -ENOENT: no such file; -EISDIR; -EINVAL: not a regular file,
 * not a SQLite database, empty, or another program's; -EPROTONOSUPPORT: made by a newer version;
 * -EIO: damaged; -ENOSPC: no space for a new account or the upgrade; -EROFS: read-only and empty;
 * and errors of the system. A file whose upgrade fails is unchanged. */
int local_store_create(const char *path, bool may_create, const struct clock *clock,
                       struct call *call, struct table_store **ret);
/* Is the file in an older format, so that local_store_create will upgrade it? Only while this
 * process does not have it open. */
bool local_store_is_older(const char *path);
/* As local_store_create of an existing file, but changes nothing in it: a file of format 1 is not
 * upgraded, and changes are -EROFS. */
int local_store_open_as_is(const char *path, const struct clock *clock, struct call *call,
                           struct table_store **ret);
/* False: the file is in format 1, because it cannot be written to or was opened as it is. Then
 * damage to it is not detected. `store`: created by this module, also below. */
bool local_store_has_checksums(struct table_store *store);
/* False: every change is -EROFS. */
bool local_store_is_writable(struct table_store *store);

#endif
