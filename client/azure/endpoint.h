#ifndef CLIENT_AZURE_ENDPOINT_H
#define CLIENT_AZURE_ENDPOINT_H
/* Where an account's tables live: an endpoint URL, checked and taken apart. Pure, any thread.
 * A URL may come from a user who put a secret into it: what is refused is never repeated in a
 * message. */
#include "client/bytes.h"
#include "client/call.h"

#define ENDPOINT_URL_SIZE     320
#define ENDPOINT_ACCOUNT_SIZE 25
#define ENDPOINT_TABLE_SIZE   64

struct endpoint {                /* a value */
    char url[ENDPOINT_URL_SIZE]; /* scheme://host[:port][/account]: lower case, no slash behind */
    char account[ENDPOINT_ACCOUNT_SIZE]; /* as it signs: without -secondary */
    char table[ENDPOINT_TABLE_SIZE];     /* "": the URL named none */
    bool is_loopback;
};

bool endpoint_is_account_name(struct bytes name); /* 3 to 24 of a-z and 0-9 */

/* Host style (the host has a label "table" that is not the first): the account is the first label,
 * the table the first path segment. Path style (any other host: IP literals, localhost): the
 * account is the first segment, the table the second. `account` non-empty: the account is known, a
 * URL that names another is refused and one that names none is a custom domain. `what` names the
 * URL in messages.
 * -EINVAL, the reason in call->failure: no URL, user info, a query string, http beyond loopback, a
 * Cosmos DB host. */
int endpoint_parse(struct endpoint *ret, const char *what, struct bytes url, struct bytes account,
                   struct call *call);

/* A table named behind an account name: "" or "TABLE", perhaps with a slash at the end. -EINVAL,
 * the reason in call. */
int endpoint_set_table(struct endpoint *endpoint, struct bytes table, struct call *call);

#endif
