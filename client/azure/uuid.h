#ifndef CLIENT_AZURE_UUID_H
#define CLIENT_AZURE_UUID_H
/* Random UUIDs (version 4): names for requests, and boundaries that occur nowhere else. Any
 * thread. */
#include "client/bytes.h"

#define UUID_SIZE 36

int uuid_append(struct buffer *ret); /* -EIO: no randomness to be had */

#endif
