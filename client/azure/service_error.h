#ifndef CLIENT_AZURE_SERVICE_ERROR_H
#define CLIENT_AZURE_SERVICE_ERROR_H
/* An answer of the service that is not a success, turned into the reason of a failure. Pure, any
 * thread.
 * Codes: https://learn.microsoft.com/rest/api/storageservices/table-service-error-codes and
 * common-rest-api-error-codes. */
#include "client/bytes.h"
#include "client/call.h"

struct service_answer { /* values of headers are empty where there is none */
    int status;
    bool is_of_change;       /* what was asked for was not to read */
    struct bytes body;       /* JSON, XML, HTML, or nothing; not trusted */
    struct bytes error_code; /* x-ms-error-code; a code in a JSON body goes before it */
    struct bytes request_id; /* x-ms-request-id */
    struct bytes date;
    struct bytes retry_after_ms; /* retry-after-ms or x-ms-retry-after-ms */
    struct bytes retry_after;    /* seconds, or a date */
};

/* The local time serves to find a clock that is wrong, and what a date in retry_after means. What
 * looks like a signature in the message is struck out. The failure names no operation. It is
 * ambiguous when a change was asked for and the status does not say that it was refused. */
void service_error_read(const struct service_answer *answer, int64_t now_utc_100ns,
                        struct failure *ret);

#endif
