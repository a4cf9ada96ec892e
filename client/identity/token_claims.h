/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_IDENTITY_TOKEN_CLAIMS_H
#define CLIENT_IDENTITY_TOKEN_CLAIMS_H
/* Whose token it is: what a token of Microsoft Entra ID (a JWT) says of itself. Its signature is
 * not verified: the claims are for messages alone. Pure, any thread.
 * https://learn.microsoft.com/entra/identity-platform/access-token-claims-reference */
#include "client/base/bytes.h"

#define TOKEN_CLAIM_SIZE 128

struct token_claims { /* printable; "": the token does not say it */
    char object[TOKEN_CLAIM_SIZE];
    char user[TOKEN_CLAIM_SIZE];        /* the name; of an application: "" */
    char application[TOKEN_CLAIM_SIZE]; /* its client id */
    char tenant[TOKEN_CLAIM_SIZE];
    int64_t expires_sec; /* since 1970; 0: it does not say it */
};

/* False: it is no JWT, and nothing is known of it. */
bool token_claims_read(struct bytes token, struct token_claims *ret);
/* Appends the identity: "user NAME" or "application ID", and "(object ID)"; of a token that tells
 * none "an identity that its token does not tell". */
int token_claims_append_identity(const struct token_claims *claims, struct buffer *ret);

#endif
