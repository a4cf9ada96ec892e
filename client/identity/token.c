/* SPDX-License-Identifier: MIT */
#include "client/identity/token.h"

#include <stdatomic.h>

struct token {
    _Atomic int references;
    struct credential *credential;
    struct token_claims claims;
};

int token_create(struct bytes text, struct token **ret)
{
    struct token *token = calloc(1, sizeof(*token));
    if (!token)
        return -ENOMEM;
    int r = credential_create_bearer(text, &token->credential);
    if (r < 0) {
        free(token);
        return r;
    }
    (void)token_claims_read(text, &token->claims); /* else nothing is known of it */
    atomic_init(&token->references, 1);
    *ret = token;
    return 0;
}

struct token *token_ref(struct token *token)
{
    (void)atomic_fetch_add(&token->references, 1);
    return token;
}

void token_unref(struct token *token)
{
    if (!token || atomic_fetch_sub(&token->references, 1) > 1)
        return;
    credential_unref(token->credential);
    free(token);
}

struct credential *token_credential(const struct token *token)
{
    return token->credential;
}

const struct token_claims *token_claims(const struct token *token)
{
    return &token->claims;
}
