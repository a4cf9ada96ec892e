/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_AZURE_REFUSAL_H
#define CLIENT_AZURE_REFUSAL_H
/* Why a service refused the credential of a request, and what the user can do: a key and a SAS
 * token are refused for different reasons, and much of what is wrong with a token stands in its
 * text. Pure, any thread. Fields of a token:
 * https://learn.microsoft.com/rest/api/storageservices/create-account-sas and create-service-sas.
 */
#include "client/azure/credential.h"
#include "client/call.h"

struct refused_request {
    const struct credential *credential;
    const char *table;     /* NULL: it was about the tables of the account */
    const char *needs;     /* the letters of sp= that it needs, for example "au" */
    struct bytes date;     /* of the answer; empty: it has none */
    int64_t now_utc_100ns; /* by this machine's clock */
};

/* The advice for a failure with the error -EACCES: static text. NULL: the credential does not
 * explain it, so that the failure's own advice is the best. */
const char *refusal_advice(const struct refused_request *request, const struct failure *failure);

#endif
