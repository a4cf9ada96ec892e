#ifndef CLIENT_LOCAL_LOCAL_READERS_H
#define CLIENT_LOCAL_LOCAL_READERS_H
/* Connections for threads that read: each is lent to one at a time. All are opened at once, so that
 * none ever opens what has taken the file's place meanwhile. Any thread; one leaf mutex. */
#include "client/local/local_connection.h"

#define LOCAL_READERS_MAX 8 /* who comes later waits */

struct local_readers;
int local_readers_create(const char *path, const struct clock *clock, struct call *call,
                         struct local_readers **ret);
void local_readers_destroy(struct local_readers *readers); /* takes NULL; all were given back */

/* Serves the call until it is given back. Waits for a free one: -EINTR, -ETIMEDOUT. */
int local_readers_take(struct local_readers *readers, struct call *call,
                       struct local_connection **ret);
void local_readers_give(struct local_readers *readers, struct local_connection *connection);

DEFINE_CLEANUP(struct local_readers *, local_readers_destroy);

#endif
