/* SPDX-License-Identifier: MIT */
#define OPENSSL_SUPPRESS_DEPRECATED /* for digest_number */
#include "client/text/digest.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

int digest_sha256(struct bytes input, unsigned char ret[DIGEST_SIZE])
{
    return EVP_Digest(input.data, input.size, ret, NULL, EVP_sha256(), NULL) == 1 ? 0 : -ENOMEM;
}

/* EVP looks the algorithm up and allocates at each call: measured, it costs the mount 16 % of the
 * time of `find`, and these functions 3 %. They cannot fail. */
uint64_t digest_number(const struct bytes *parts, size_t count)
{
    unsigned char digest[DIGEST_SIZE];
    uint64_t number = 0;
    SHA256_CTX context;
    (void)SHA256_Init(&context);
    for (size_t i = 0; i < count; i++)
        (void)SHA256_Update(&context, parts[i].data, parts[i].size);
    (void)SHA256_Final(digest, &context);
    for (size_t i = 0; i < sizeof(number); i++)
        number = number << 8 | digest[i];
    return number >> 2;
}
