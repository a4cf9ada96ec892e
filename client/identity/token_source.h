/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_IDENTITY_TOKEN_SOURCE_H
#define CLIENT_IDENTITY_TOKEN_SOURCE_H
/* Has the token for the requests of an account, and a thread that gets the next one before it ends:
 * after half of its life, or when its answer says so. Meanwhile callers go on with the old one. One
 * token is asked for at a time, whatever the number of callers.
 *
 * If that fails, the old token is used to its end, and the next try is 3 s later, then up to 60 s.
 * An issuer that gives the same token again is asked after half of the rest, and not within 30 s.
 * A token's age is measured by CLOCK_BOOTTIME, which counts the time of a suspend. Any thread.
 * Create it after the last fork. */
#include "client/base/clock.h"
#include "client/identity/token.h"
#include "client/identity/token_answer.h"

#define TOKEN_SOURCE_RENEW_MS   30000 /* between two tokens that are asked for after a refusal */
#define TOKEN_SOURCE_PAUSE_MS   3000  /* after a failure; doubled after the next one */
#define TOKEN_SOURCE_PAUSES_MS  60000 /* at most */
#define TOKEN_SOURCE_REFRESH_MS ((int64_t)12 * 3600 * 1000) /* the next one is asked for then */

struct token_issuer { /* its functions are called by one thread at a time */
    /* 0, or a negative errno with the reason in call->failure. Takes a minute at most. */
    int (*ask)(void *context, struct call *call, struct token_answer *ret);
    void *context;
    const char *name;        /* for messages; outlives the source */
    const char *advice_late; /* where it does not answer in time: static text */
};

struct token_source;
/* `clock` is that of the calls' deadlines, `boottime` that of ages. -ENOMEM, or -errno of a thread
 * that could not be created. */
int token_source_create(const struct token_issuer *issuer, const struct clock *clock,
                        const struct clock *boottime, struct token_source **ret);
/* Takes NULL. No other call runs. Cancels the request for a token. */
void token_source_destroy(struct token_source *source);

/* A reference to a token that has not ended. Waits for the first one, and for the first try after
 * the end of the last. While tries fail, it fails at once with the reason of the last try: with
 * that try's error and perhaps retryable before the first token, and with -EACCES after it. Never
 * unanswered, because the account's service was not asked. Also -EINTR, -ETIMEDOUT. */
int token_source_get(struct token_source *source, struct call *call, struct token **ret);

/* The service has refused `refused`. True: *ret is a reference to another token, which was there or
 * was asked for now. False: there is none, because one was asked for within TOKEN_SOURCE_RENEW_MS,
 * the issuer has given the same one, or it has failed, or the call has ended. */
bool token_source_replace(struct token_source *source, const struct token *refused,
                          struct call *call, struct token **ret);

/* Appends the token's identity, tenant and end for .tablefuse/config; "none" without a token. */
int token_source_append_description(struct token_source *source, struct buffer *ret);
/* Appends the age of the token, and how many were asked for, as metrics. */
int token_source_append_metrics(struct token_source *source, struct buffer *ret);

DEFINE_CLEANUP(struct token_source *, token_source_destroy);

#endif
