/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_HTTP_HTTP_H
#define CLIENT_HTTP_HTTP_H
/* HTTP exchanges over kept connections: HTTP/1.1, verified TLS 1.2 or newer, no redirects. Any
 * thread, each with one exchange at a time. Create it after the last fork and after
 * http_global_init. */
#include "client/base/bytes.h"
#include "client/base/lane.h"
#include "client/http/answer_budget.h"
#include "client/store/call.h"

/* Maximum of exchanges in flight; further ones wait until one ends. A lane (one table's requests)
 * may use four fifths of the exchanges that the other lanes do not use: if all its requests hang,
 * the others still have room. */
#define HTTP_EXCHANGES_MAX 80
#define HTTP_LANE_MAX      (HTTP_EXCHANGES_MAX * 4 / 5)

struct http_options {
    const char *ca_file;   /* certificates to trust; NULL: the system's. Copied. */
    bool use_proxy;        /* of https_proxy and no_proxy; never for a loopback endpoint */
    int64_t connect_ms;    /* timeout of a new connection, with its TLS handshake */
    int64_t attempt_ms;    /* timeout of the whole exchange */
    size_t body_max_bytes; /* of an answer's body; -EFBIG if it is longer */
    /* Of the bodies of all answers that are not finished yet; when it is reached, receiving pauses
     * (answer_budget.h). */
    size_t answers_max_bytes;
};

struct http_request {
    const char *method;   /* "GET", "POST"...; all but GET are changes */
    const char *url;      /* sent unchanged */
    unsigned lane;        /* of its table */
    struct bytes headers; /* lines "Name: value", each with CRLF */
    struct bytes body;    /* Content-Length is set from it; data NULL: no body */
};

struct http_answer {
    int status;
    struct buffer headers, body;  /* headers: lines as received */
    struct answer_budget *budget; /* to which the body is charged; NULL: to none */
    size_t charged;
    /* libcurl sends a request again if a kept connection turns out to be dead. True: it began to
     * send more than once. Then a change that is now refused may have been made the first time. */
    bool was_resent;
};

/* Initializes libcurl. Call it once, after the last fork and before any thread starts. -ENOMEM. */
int http_global_init(void);

struct http;
int http_create(const struct http_options *options, const struct clock *clock, struct http **ret);
/* Takes NULL; no exchange is in flight, and each answer is finished. */
void http_destroy(struct http *http);

/* Waits for a free handle, then for the answer until the call's deadline or for attempt_ms,
 * whichever ends first. Checks every 50 ms whether the call is cancelled. Every HTTP status is a
 * success. On success, and only then, the caller finishes ret.
 * Errors, with the reason in call->failure: -EINTR: cancelled; -ETIMEDOUT: no answer;
 * -ECONNREFUSED; -EHOSTUNREACH: no connection for another reason (no route, no such host, timeout);
 * the message of these two begins with "proxy: " if the proxy is the reason; -EPROTO: TLS failed,
 * or the headers are too long; -EFBIG; -EIO: the connection broke; -ENOMEM. is_ambiguous: libcurl
 * had begun to send a change. is_unanswered: no part of an answer arrived. has_begun_answer: the
 * headers arrived. */
int http_send(struct http *http, const struct http_request *request, struct call *call,
              struct http_answer *ret);
bool http_answer_header(const struct http_answer *answer, const char *name, struct bytes *ret);
void http_answer_finish(struct http_answer *answer);

DEFINE_CLEANUP(struct http *, http_destroy);

#endif
