/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_AZURE_REFUSAL_H
#define CLIENT_AZURE_REFUSAL_H
/* Why a service refused the credential of a request, and what the user can do about it. A key, a
 * SAS token and a token of Microsoft Entra ID are refused for different reasons; many of the
 * reasons for a SAS token can be found in its text. Pure, any thread. Fields of a SAS token:
 * https://learn.microsoft.com/rest/api/storageservices/create-account-sas and create-service-sas.
 */
#include "client/identity/credential.h"
#include "client/identity/token_claims.h"
#include "client/store/call.h"

struct refused_request {
    const struct credential *credential; /* NULL: a token of Microsoft Entra ID */
    const char *table;                   /* NULL: a request on the account's list of tables */
    const char *needs;                   /* the letters of sp= that it needs, for example "au" */
    struct bytes date;                   /* the answer's Date header; empty: none */
    int64_t dated_utc_100ns;             /* of its x-ms-date */
};

/* The advice for a failure with the error -EACCES: static text. NULL: the credential does not
 * explain the failure; then failure->advice is best. */
const char *refusal_advice(const struct refused_request *request, const struct failure *failure);

/* Adds the identity in the token to the start of the failure's message. `challenge`: the answer's
 * WWW-Authenticate header, untrusted; empty: none. If it names another tenant than the token's, the
 * message says so, and the advice is to get tokens from that tenant. */
void refusal_name_identity(const struct token_claims *claims, struct bytes challenge,
                           struct failure *failure);

#endif
