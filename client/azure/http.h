#ifndef CLIENT_AZURE_HTTP_H
#define CLIENT_AZURE_HTTP_H
/* One HTTP exchange at a time and thread, over kept connections: HTTP/1.1, verified TLS 1.2 or
 * newer, no redirects. Any thread. To be created after the last fork, behind http_global_init. */
#include "client/bytes.h"
#include "client/call.h"

#define HTTP_EXCHANGES_MAX 64 /* in flight; more wait for one to end */

struct http_options {
    const char *ca_file;   /* certificates to trust; NULL: the system's. Copied. */
    bool use_proxy;        /* of https_proxy and the like; never for a loopback endpoint */
    int64_t connect_ms;    /* until a new connection stands, its TLS included */
    int64_t attempt_ms;    /* for the whole exchange */
    size_t body_max_bytes; /* of the answer; more is -EFBIG */
};

struct http_request {
    const char *method;   /* "GET", "POST"...: only a GET changes nothing */
    const char *url;      /* sent as it is */
    struct bytes headers; /* lines "Name: value", CRLF behind each */
    struct bytes body;    /* with its length in Content-Length; data NULL: none */
};

struct http_answer {
    int status;
    struct buffer headers, body; /* headers: lines as they came */
    /* libcurl sends a request again by itself when a kept connection turns out dead: true when it
     * began to send more than once. Reads do not care; a change that is refused now was perhaps
     * made by the first sending. */
    bool was_resent;
};

/* libcurl's own: once, after the last fork, before any thread. -ENOMEM. */
int http_global_init(void);

struct http;
int http_create(const struct http_options *options, const struct clock *clock, struct http **ret);
void http_destroy(struct http *http); /* takes NULL; no exchange is in flight */

/* Waits for a free handle, then until the call's deadline or attempt_ms, whichever is first;
 * asks the call every 50 ms whether it is cancelled. Any status is a success here. ret: to be
 * finished by the caller, on success only.
 * Errors, the reason in call->failure: -EINTR cancelled; -ETIMEDOUT; -EHOSTUNREACH no connection;
 * -EPROTO TLS; -EFBIG; -EIO the connection broke; -ENOMEM. Each is ambiguous when it came after a
 * change was begun to be sent. */
int http_send(struct http *http, const struct http_request *request, struct call *call,
              struct http_answer *ret);
bool http_answer_header(const struct http_answer *answer, const char *name, struct bytes *ret);
void http_answer_finish(struct http_answer *answer);

DEFINE_CLEANUP(struct http *, http_destroy);

#endif
