/* SPDX-License-Identifier: MIT */
#include "client/http/uuid.h"

#include <openssl/rand.h>

int uuid_append(struct buffer *ret)
{
    unsigned char b[16];
    if (RAND_bytes(b, sizeof(b)) != 1)
        return -EIO;
    b[6] = (unsigned char)(0x40 | (b[6] & 0x0F));
    b[8] = (unsigned char)(0x80 | (b[8] & 0x3F));
    for (size_t i = 0; i < sizeof(b); i++)
        (void)buffer_append_format(ret, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
                                   b[i]);
    return ret->error;
}
