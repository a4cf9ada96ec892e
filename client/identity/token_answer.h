/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_IDENTITY_TOKEN_ANSWER_H
#define CLIENT_IDENTITY_TOKEN_ANSWER_H
/* Parses the answer of a token issuer: the authority of Microsoft Entra ID, the identity service of
 * a virtual machine, IDENTITY_ENDPOINT, or `az`. Untrusted input. Pure, any thread.
 * https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow,
 * https://learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token
 */
#include "client/base/bytes.h"
#include "client/store/call.h"

#define TOKEN_ANSWER_MAX_BYTES ((size_t)64 << 10)

struct token_answer {
    struct buffer text; /* the token; legal for credential_create_bearer */
    int64_t life_ms;    /* until it expires, from now on; > 0, at most ten years */
    int64_t refresh_ms; /* after which to request a new one, less than life_ms; 0: not given */
};

/* The token's life is expires_in; else it is until expires_on, or until `exp` in the token. The
 * caller finishes ret after a success. -EPROTO, with the reason in call->failure: it is not JSON,
 * has no token, or the token's life is not given or over; -ENOMEM. */
int token_answer_read(struct bytes body, int64_t now_utc_100ns, struct call *call,
                      struct token_answer *ret);
void token_answer_finish(struct token_answer *answer);

/* Records the failure for an answer with another status than 200: its reason is the first sentence
 * of error_description. It is retryable if the status is that of a temporary problem. Returns its
 * error: -EACCES: the request was refused; -EIO; -ENOMEM. */
int token_answer_refusal(struct bytes body, int status, struct call *call);

#endif
