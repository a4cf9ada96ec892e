/* SPDX-License-Identifier: MIT */
#include "client/text/digest.h"

#include <openssl/evp.h>

int digest_sha256(struct bytes input, unsigned char ret[DIGEST_SIZE])
{
    return EVP_Digest(input.data, input.size, ret, NULL, EVP_sha256(), NULL) == 1 ? 0 : -ENOMEM;
}
