/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_AZURE_SERVICE_H
#define CLIENT_AZURE_SERVICE_H
/* Sends requests to the Table service of an account: adds the URL, a request id, the date, and the
 * signature or token. No retries, but for two: a request that is refused because this machine's
 * clock is wrong is sent once more with the service's time (clock_skew.h); one whose token, key or
 * SAS is refused is sent once more if there is a newer one. Any thread. Create it after the last
 * fork and after http_global_init. */
#include "client/azure/clock_skew.h"
#include "client/azure/service_error.h"
#include "client/http/http.h"
#include "client/identity/connection.h"
#include "client/identity/credential_source.h"
#include "client/identity/token_source.h"

#define SERVICE_REQUEST_MAX_BYTES ((size_t)4 << 20) /* of a request's body: the service's limit */

struct service;

struct service_options { /* the objects outlive the service, except ca_file */
    const struct connection *connection;
    /* Used instead of the connection's credential; at most one of them is not NULL. */
    struct token_source *tokens;
    struct credential_source *credentials;
    struct clock_skew *skew; /* NULL: requests are signed with this machine's time */
    const char *ca_file;     /* certificates to trust; NULL: the system's. Copied. */
    size_t answers_max_bytes;
};

int service_create(const struct service_options *options, const struct clock *clock,
                   struct service **ret);
void service_destroy(struct service *service);          /* takes NULL */
const char *service_url(const struct service *service); /* scheme://host[:port][/account] */
int64_t service_utc_100ns(const struct service *service);

struct service_request {
    const char *method;
    int success;        /* the HTTP status of a success; if it is 204, so is 201 */
    const char *accept; /* set by init to JSON with minimal metadata; the caller may change it */
    const char *table;  /* its lane is used; NULL: the list of tables */
    /* for the advice if the credential is refused: */
    bool is_of_account;        /* a request on the list of tables, not on entities */
    const char *needs;         /* letters of a SAS token's sp= that it needs; "" at first */
    struct buffer path, query; /* percent-encoded, as signed and sent; path has the account's */
    struct buffer headers;     /* further headers: "Name: value", each with CRLF */
    struct buffer body;        /* empty: no body */
    int64_t dated_utc_100ns;   /* out: the time that it was sent with, and signed */
    /* Out: references to what the request was sent with. token NULL: a key or a SAS. */
    struct token *token;
    struct credential *credential;
};

void service_request_init(struct service_request *request, const struct service *service,
                          const char *method, int success);
void service_request_finish(struct service_request *request);

/* `r`: the result of building the request. If it is negative, or a buffer of the request has an
 * error, nothing is sent, and that error is returned. A status that is not a success is a failure
 * (service_error.h). On success, and only then, the caller finishes ret. */
int service_send(const struct service *service, struct service_request *request, int r,
                 struct call *call, struct http_answer *ret);

/* After call->failure was read from the answer: if the credential was refused, sets the best advice
 * (refusal.h), and adds the token's identity to the message. */
void service_advise(const struct service_request *request, const struct http_answer *answer,
                    struct call *call);

/* The header's value; empty: there is none. */
struct bytes service_header(const struct http_answer *answer, const char *name);
/* Views of the answer, for service_error_read. */
struct service_answer service_answer_of(const struct http_answer *answer, bool is_of_change);
/* For an answer whose body could not be parsed; call->failure has the reason. Adds the answer's
 * status and request id to the failure. Returns `error`. */
int service_fail_by_body(const struct http_answer *answer, int error, struct call *call);

DEFINE_CLEANUP(struct service *, service_destroy);

#endif
