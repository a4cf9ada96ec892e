/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_HTTP_UUID_H
#define CLIENT_HTTP_UUID_H
/* Random UUIDs (version 4), for ids of requests and boundaries of batches. Any thread. */
#include "client/base/bytes.h"

#define UUID_SIZE 36

int uuid_append(struct buffer *ret); /* -EIO: the random generator failed */

#endif
