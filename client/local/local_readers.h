/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_LOCAL_LOCAL_READERS_H
#define CLIENT_LOCAL_LOCAL_READERS_H
/* A pool of connections for reading threads. All are opened at creation, because later another file
 * could have the path. Any thread; one leaf mutex. */
#include "client/local/local_schema.h"

#define LOCAL_READERS_MAX 8 /* a further thread waits */

struct local_readers;
/* The file is an account already. access: EXISTING or AS_IS. */
int local_readers_create(const char *path, enum local_access access, const struct clock *clock,
                         struct call *call, struct local_readers **ret);
void local_readers_destroy(struct local_readers *readers); /* takes NULL; all are given back */

/* Takes a connection; waits for a free one: -EINTR, -ETIMEDOUT. Until it is given back, it serves
 * the call (local_connection_serve), in a transaction that reads one version of the file. */
int local_readers_take(struct local_readers *readers, struct call *call,
                       struct local_connection **ret);
void local_readers_give(struct local_readers *readers, struct local_connection *connection);

DEFINE_CLEANUP(struct local_readers *, local_readers_destroy);

#endif
