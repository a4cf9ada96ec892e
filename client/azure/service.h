/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_AZURE_SERVICE_H
#define CLIENT_AZURE_SERVICE_H
/* Sends one request to an account's tables: adds the URL, a request id, the date, and the signature
 * or the token. No retries; but a request whose token, key or SAS was refused is sent once more
 * with another one, if there is one. Any thread. Create it after the last fork and after
 * http_global_init. */
#include "client/azure/service_error.h"
#include "client/http/http.h"
#include "client/identity/connection.h"
#include "client/identity/credential_source.h"
#include "client/identity/token_source.h"

#define SERVICE_REQUEST_MAX_BYTES ((size_t)4 << 20) /* of a request's body: the service's limit */

struct service;

struct service_options { /* what is pointed to outlives the service */
    const struct connection *connection;
    /* In place of the connection's credential, one of both at most; NULL: none. */
    struct token_source *tokens;
    struct credential_source *credentials;
    const char *ca_file; /* certificates to trust; NULL: the system's. Copied. */
    size_t answers_max_bytes;
};

int service_create(const struct service_options *options, const struct clock *clock,
                   struct service **ret);
void service_destroy(struct service *service);          /* takes NULL */
const char *service_url(const struct service *service); /* scheme://host[:port][/account] */
int64_t service_utc_100ns(const struct service *service);

struct service_request {
    const char *method;
    int success;        /* the status of a success; where it is 204, 201 is a success, too */
    const char *accept; /* JSON with minimal metadata, unless the caller changes it */
    const char *table;  /* whose lane it uses; NULL: a list of all */
    /* for the advice when it is refused: */
    bool is_of_account;        /* it is about the tables of the account, not about entities */
    const char *needs;         /* letters of a SAS token's sp=; "": unless the caller changes it */
    struct buffer path, query; /* percent-encoded, as signed and sent; path has the account's */
    struct buffer headers;     /* further ones: "Name: value", each with CRLF */
    struct buffer body;        /* empty: no body */
    /* Out: what it was sent with, references. token: NULL: a key or a SAS. */
    struct token *token;
    struct credential *credential;
};

void service_request_init(struct service_request *request, const struct service *service,
                          const char *method, int success);
void service_request_finish(struct service_request *request);

/* `r` is the result of building the request; if it is negative, or a buffer of the request has
 * failed, nothing is sent. A status other than that of a success is a failure, as service_error.h
 * says. On success, and only then, the caller finishes ret. */
int service_send(const struct service *service, struct service_request *request, int r,
                 struct call *call, struct http_answer *ret);

/* Of a failure that was read from the answer: if the credential was refused, sets the advice that
 * fits it best, and says whose token it was. */
void service_advise(const struct service *service, const struct service_request *request,
                    const struct http_answer *answer, struct call *call);

/* The header's value; empty: there is none. */
struct bytes service_header(const struct http_answer *answer, const char *name);
/* Views of the answer, for service_error_read. */
struct service_answer service_answer_of(const struct http_answer *answer, bool is_of_change);
/* For an answer that could not be parsed, as call->failure says already: adds its status and
 * request id to the failure. Returns `error`. */
int service_fail_by_body(const struct http_answer *answer, int error, struct call *call);

DEFINE_CLEANUP(struct service *, service_destroy);

#endif
