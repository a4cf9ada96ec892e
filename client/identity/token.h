/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_IDENTITY_TOKEN_H
#define CLIENT_IDENTITY_TOKEN_H
/* One token, shared by the requests that use it. Immutable but for its references; any thread. */
#include "client/identity/credential.h"
#include "client/identity/token_claims.h"

struct token;

/* `text` is legal as a credential. -ENOMEM. */
int token_create(struct bytes text, struct token **ret);
struct token *token_ref(struct token *token);
void token_unref(struct token *token); /* takes NULL */

struct credential *token_credential(const struct token *token); /* the token's */
const struct token_claims *token_claims(const struct token *token);

DEFINE_CLEANUP(struct token *, token_unref);

#endif
