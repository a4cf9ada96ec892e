#ifndef CLIENT_AZURE_SERVICE_H
#define CLIENT_AZURE_SERVICE_H
/* One request to an account's tables and its answer: addressed, identified, signed as of now, sent
 * once. Any thread. To be created after the last fork, behind http_global_init. */
#include "client/azure/connection.h"
#include "client/azure/http.h"
#include "client/azure/service_error.h"

#define SERVICE_REQUEST_MAX_BYTES ((size_t)4 << 20) /* of a request's body: it takes no more */

struct service;

/* `connection` outlives it. `ca_file`: certificates to trust; NULL: the system's. Copied. */
int service_create(const struct connection *connection, const char *ca_file,
                   const struct clock *clock, struct service **ret);
void service_destroy(struct service *service);          /* takes NULL */
const char *service_url(const struct service *service); /* scheme://host[:port][/account] */
int64_t service_utc_100ns(const struct service *service);

struct service_request {
    const char *method;
    int success;        /* the status that a success has; 201 where 204 was asked for is one, too */
    const char *accept; /* JSON with minimal metadata unless changed */
    struct buffer path, query; /* percent-encoded, as signed and sent; path holds the account's */
    struct buffer headers;     /* those that are its own: "Name: value", CRLF behind each */
    struct buffer body;        /* empty: none */
};

void service_request_init(struct service_request *request, const struct service *service,
                          const char *method, int success);
void service_request_finish(struct service_request *request);

/* `r`: what writing the request answered; when it is negative, or a buffer of the request has
 * failed, nothing is sent. Any other status than the request's `success` is a failure, as
 * service_error.h says. ret: to be finished by the caller, on success only. */
int service_ask(const struct service *service, struct service_request *request, int r,
                struct call *call, struct http_answer *ret);

/* Empty: there is none. */
struct bytes service_header(const struct http_answer *answer, const char *name);
/* Views of the answer, for service_error_read. */
struct service_answer service_answer_of(const struct http_answer *answer, bool is_of_change);
/* An answer that was not understood, which call->failure says already: it says which one it was,
 * as well. */
int service_fail_by_body(const struct http_answer *answer, int error, struct call *call);

DEFINE_CLEANUP(struct service *, service_destroy);

#endif
