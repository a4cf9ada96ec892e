/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_IDENTITY_TOKEN_CLAIMS_H
#define CLIENT_IDENTITY_TOKEN_CLAIMS_H
/* The claims in a token of Microsoft Entra ID (a JWT): whose token it is. The signature is not
 * verified, because the claims are only used in messages. Pure, any thread.
 * https://learn.microsoft.com/entra/identity-platform/access-token-claims-reference */
#include "client/base/bytes.h"

#define TOKEN_CLAIM_SIZE 128

struct token_claims { /* printable; "": the token does not have the claim */
    char object[TOKEN_CLAIM_SIZE];
    char user[TOKEN_CLAIM_SIZE];        /* the user's name; "" for an application */
    char application[TOKEN_CLAIM_SIZE]; /* its client id */
    char tenant[TOKEN_CLAIM_SIZE];
    int64_t expires_sec; /* since 1970; 0: no such claim */
};

/* False: it is not a JWT. */
bool token_claims_read(struct bytes token, struct token_claims *ret);
/* Appends the identity: "user NAME" or "application ID", and "(object ID)"; without such claims:
 * "an identity that its token does not name". */
int token_claims_append_identity(const struct token_claims *claims, struct buffer *ret);

#endif
