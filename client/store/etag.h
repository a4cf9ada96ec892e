/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_STORE_ETAG_H
#define CLIENT_STORE_ETAG_H
/* An ETag as a value. */
#include "client/base/bytes.h"

/* The known services send some 50 bytes. An answer to a write is refused if its ETag is longer than
 * this (client/azure/etag.h). */
#define ETAG_SIZE_MAX 127

struct etag {
    uint8_t size; /* 0: none is known */
    char data[ETAG_SIZE_MAX];
};

static inline struct bytes etag_bytes(const struct etag *etag)
{
    return (struct bytes){etag->data, etag->size};
}

/* A longer ETag than ETAG_SIZE_MAX is cut. No version has the cut ETag, so the service refuses a
 * write with it. (Without any ETag, the write would replace any version.) */
static inline void etag_set(struct etag *etag, struct bytes bytes)
{
    etag->size = (uint8_t)MIN(bytes.size, ETAG_SIZE_MAX);
    if (etag->size > 0)
        memcpy(etag->data, bytes.data, etag->size);
}

#endif
