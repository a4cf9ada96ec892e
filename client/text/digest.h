/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_TEXT_DIGEST_H
#define CLIENT_TEXT_DIGEST_H
/* SHA-256, for the file names of keys that are too long for one, and for inode numbers. Pure. */
#include "client/base/bytes.h"

#define DIGEST_SIZE 32

int digest_sha256(struct bytes input, unsigned char ret[DIGEST_SIZE]); /* 0 or -ENOMEM */
/* The first 62 bits of the digest of the concatenated parts. */
uint64_t digest_number(const struct bytes *parts, size_t count);

#endif
