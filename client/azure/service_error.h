/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_AZURE_SERVICE_ERROR_H
#define CLIENT_AZURE_SERVICE_ERROR_H
/* Turns an answer of the service that is not a success into the reason of a failure. Pure, any
 * thread.
 * Codes: https://learn.microsoft.com/rest/api/storageservices/table-service-error-codes and
 * common-rest-api-error-codes. */
#include "client/base/bytes.h"
#include "client/store/call.h"

struct service_answer { /* values of absent headers are empty */
    int status;
    bool is_of_change;           /* the request was a change, not a read */
    struct bytes body;           /* JSON, XML, HTML, or empty; untrusted input. JSON that
                                  * client/text/small_json.h refuses is ignored. */
    struct bytes error_code;     /* x-ms-error-code; a code in a JSON body takes precedence */
    struct bytes request_id;     /* x-ms-request-id */
    struct bytes retry_after_ms; /* retry-after-ms or x-ms-retry-after-ms */
    struct bytes retry_after;    /* seconds, or a date */
};

/* Advice for an answer that no table service would send. */
extern const char service_error_advice_endpoint[];

/* Sets *ret, with operation -1. now_utc_100ns: the local time, which is compared with a date in
 * retry_after. For a refused credential the advice is general; client/azure/refusal.h has a better
 * one. Text that looks like a signature is removed from the message. The failure is ambiguous if
 * the request was a change and the status does not mean that it was refused. ret->error is -ENOMEM
 * if there was no memory for a JSON body, and no code in a header. Returns whether the message is
 * the service's. */
bool service_error_read(const struct service_answer *answer, int64_t now_utc_100ns,
                        struct failure *ret);

#endif
