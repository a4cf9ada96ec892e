/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_LOCAL_LOCAL_OPEN_H
#define CLIENT_LOCAL_LOCAL_OPEN_H
/* Opens a connection to an account's file; checks, creates or upgrades its schema. One thread. */
#include "client/local/local_schema.h"

/* `path` is absolute and names a regular file. -EINVAL: another program's database, or an empty
 * file; -EPROTONOSUPPORT: made by a newer version. The caller closes the connection. */
int local_open(const char *path, enum local_access access, const struct clock *clock,
               struct call *call, struct local_connection **ret);

#endif
