/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_IDENTITY_TOKEN_ANSWER_H
#define CLIENT_IDENTITY_TOKEN_ANSWER_H
/* The answer of what gives out tokens: the authority of Microsoft Entra ID, the identity service of
 * a virtual machine, IDENTITY_ENDPOINT, and `az`. Untrusted input. Pure, any thread.
 * https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow,
 * https://learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token
 */
#include "client/base/bytes.h"
#include "client/store/call.h"

#define TOKEN_ANSWER_MAX_BYTES ((size_t)64 << 10)

struct token_answer {
    struct buffer text; /* the token; legal as a credential */
    int64_t life_ms;    /* from now on; > 0, ten years at most */
    int64_t refresh_ms; /* when a new one should be asked for, less than life_ms; 0: not told */
};

/* Life is expires_in; else expires_on, or `exp` of the token, less now. The caller finishes ret
 * after a success. -EPROTO, the reason in call->failure: it is no JSON, or lacks a token, or the
 * token's life is not told or over; -ENOMEM. */
int token_answer_read(struct bytes body, int64_t now_utc_100ns, struct call *call,
                      struct token_answer *ret);
void token_answer_finish(struct token_answer *answer);

/* Of an answer with another status than 200: the reason is the first sentence of its
 * error_description. The failure is retryable where the status says that it may go by. Returns its
 * error: -EACCES: the request was refused; -EIO; -ENOMEM. */
int token_answer_refusal(struct bytes body, int status, struct call *call);

#endif
