/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_IDENTITY_TOKEN_SOURCE_H
#define CLIENT_IDENTITY_TOKEN_SOURCE_H
/* The current token for the requests of an account. A thread requests the next one before it
 * expires: after half of its life, or when its answer says so. Meanwhile callers use the old
 * one. There is one request for a token at a time, whatever the number of callers.
 *
 * If the request fails, the old token is used until it expires. The request is sent again after
 * 3 s, then after up to 60 s. If the issuer returns the same token again, the next request is sent
 * after half of its remaining life, but not within 30 s. A token's age is measured by
 * CLOCK_BOOTTIME, which includes suspends. Any thread. Create it after the last fork. */
#include "client/base/clock.h"
#include "client/identity/token.h"
#include "client/identity/token_answer.h"

#define TOKEN_SOURCE_RENEW_MS   30000 /* minimum time between two requests after a refusal */
#define TOKEN_SOURCE_PAUSE_MS   3000  /* after a failure; doubled after each further one */
#define TOKEN_SOURCE_PAUSES_MS  60000 /* maximum pause */
#define TOKEN_SOURCE_REFRESH_MS ((int64_t)12 * 3600 * 1000) /* latest time of the next request */

struct token_issuer { /* its functions are called by one thread at a time */
    /* Requests a token. 0, or a negative errno with the reason in call->failure. Takes at most one
     * minute. */
    int (*request)(void *context, struct call *call, struct token_answer *ret);
    void *context;
    const char *name;        /* for messages; outlives the source */
    const char *advice_late; /* advice if it does not answer in time: static text */
};

struct token_source;
/* `clock` is for the calls' deadlines, `boottime` for ages. -ENOMEM, or -errno if the thread could
 * not be created. */
int token_source_create(const struct token_issuer *issuer, const struct clock *clock,
                        const struct clock *boottime, struct token_source **ret);
/* Takes NULL. No other call is in progress. Cancels the request for a token. */
void token_source_destroy(struct token_source *source);

/* A reference to a token that has not expired. Waits for the first token; if the token has expired,
 * waits for the first request after that. While requests fail, it fails at once with the reason of
 * the last one: before the first token with its error, perhaps retryable; later with -EACCES. The
 * failure is never is_unanswered, because nothing was sent to the account's service. Also -EINTR,
 * -ETIMEDOUT. */
int token_source_get(struct token_source *source, struct call *call, struct token **ret);

/* The service has refused `refused`. True: *ret is a reference to another token, which was
 * requested now or before. False: one was requested within TOKEN_SOURCE_RENEW_MS, the issuer has
 * returned the same one or failed, or the call was cancelled or is past its deadline. */
bool token_source_replace(struct token_source *source, const struct token *refused,
                          struct call *call, struct token **ret);

/* Appends the token's identity, tenant and expiry for .tablefuse/config; "none" without a token. */
int token_source_append_description(struct token_source *source, struct buffer *ret);
/* Appends the age of the token, and the number of requested tokens, as metrics. */
int token_source_append_metrics(struct token_source *source, struct buffer *ret);

DEFINE_CLEANUP(struct token_source *, token_source_destroy);

#endif
