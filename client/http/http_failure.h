/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_HTTP_HTTP_FAILURE_H
#define CLIENT_HTTP_HTTP_FAILURE_H
/* Why an HTTP exchange failed. Each function sets call->failure and returns its -errno. No state;
 * any thread. */
#include "client/store/call.h"

#include <curl/curl.h>

struct http_transfer { /* one that libcurl has ended with an error */
    CURL *easy;
    CURLcode code;
    const char *message; /* libcurl's; "": none */
    const char *url;
    int sends;                     /* how often libcurl began to send the request */
    bool is_head_complete;         /* the answer's headers arrived */
    int headers_error, body_error; /* of the buffers that the answer is received into */
};
/* The errors are those of http_send (http.h). */
int http_fail_transfer(struct call *call, const struct http_transfer *transfer);

/* -ETIMEDOUT: the request was sent, and no answer arrived in time. */
int http_fail_late(struct call *call, const char *url, bool is_retryable);
/* -EHOSTUNREACH: no connection was made in time. */
int http_fail_unconnected(struct call *call, const char *url);
/* -EIO: the connection broke within the answer's headers. */
int http_fail_broken(struct call *call);

#endif
