/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_STORE_ETAG_H
#define CLIENT_STORE_ETAG_H
/* An ETag as a value. */
#include "client/base/bytes.h"

/* Those of the known services have some 50 bytes. An answer to a write that has a longer one is not
 * accepted (client/azure/etag.h). */
#define ETAG_SIZE_MAX 127

struct etag {
    uint8_t size; /* 0: none is known */
    char data[ETAG_SIZE_MAX];
};

static inline struct bytes etag_bytes(const struct etag *etag)
{
    return (struct bytes){etag->data, etag->size};
}

/* Of a longer one than ETAG_SIZE_MAX the beginning is kept. No version has that as its ETag: so
 * what depends on the version is refused. Without an ETag it would be stored over any version. */
static inline void etag_set(struct etag *etag, struct bytes bytes)
{
    etag->size = (uint8_t)MIN(bytes.size, ETAG_SIZE_MAX);
    if (etag->size > 0)
        memcpy(etag->data, bytes.data, etag->size);
}

#endif
