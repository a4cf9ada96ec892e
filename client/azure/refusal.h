/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_AZURE_REFUSAL_H
#define CLIENT_AZURE_REFUSAL_H
/* Why a service refused the credential of a request, and what the user can do: a key, a SAS token
 * and a token of Microsoft Entra ID are refused for different reasons, and much of what is wrong
 * with a SAS token stands in its text. Pure, any thread. Fields of a token:
 * https://learn.microsoft.com/rest/api/storageservices/create-account-sas and create-service-sas.
 */
#include "client/identity/credential.h"
#include "client/identity/token_claims.h"
#include "client/store/call.h"

struct refused_request {
    const struct credential *credential; /* NULL: a token of Microsoft Entra ID */
    const char *table;                   /* NULL: it was about the tables of the account */
    const char *needs;                   /* the letters of sp= that it needs, for example "au" */
    struct bytes date;                   /* of the answer; empty: it has none */
    int64_t now_utc_100ns;               /* by this machine's clock */
};

/* The advice for a failure with the error -EACCES: static text. NULL: the credential does not
 * explain it, so that the failure's own advice is the best. */
const char *refusal_advice(const struct refused_request *request, const struct failure *failure);

/* Puts whose token it was before the failure's message. `challenge`: WWW-Authenticate of the
 * answer, untrusted; empty: it has none. If it names another tenant than the token has, so does the
 * message, and the advice is to ask that one for tokens. */
void refusal_name_identity(const struct token_claims *claims, struct bytes challenge,
                           struct failure *failure);

#endif
