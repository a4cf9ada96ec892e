/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_IDENTITY_TOKEN_H
#define CLIENT_IDENTITY_TOKEN_H
/* A token of Microsoft Entra ID, shared by the requests that use it. Reference-counted, otherwise
 * immutable; any thread. */
#include "client/identity/credential.h"
#include "client/identity/token_claims.h"

struct token;

/* `text` must be legal for credential_create_bearer. -ENOMEM. */
int token_create(struct bytes text, struct token **ret);
struct token *token_ref(struct token *token);
void token_unref(struct token *token); /* takes NULL */

struct credential *token_credential(const struct token *token); /* valid as long as the token */
const struct token_claims *token_claims(const struct token *token);

DEFINE_CLEANUP(struct token *, token_unref);

#endif
