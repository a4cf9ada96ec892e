/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_IDENTITY_ENDPOINT_H
#define CLIENT_IDENTITY_ENDPOINT_H
/* The endpoint of an account's tables: its URL, checked and split. Pure, any thread.
 * A URL may contain a secret by mistake, so messages never repeat a part that was refused. */
#include "client/base/bytes.h"
#include "client/store/call.h"

#define ENDPOINT_URL_SIZE     320
#define ENDPOINT_ACCOUNT_SIZE 25
#define ENDPOINT_TABLE_SIZE   64

struct endpoint {                /* a value */
    char url[ENDPOINT_URL_SIZE]; /* scheme://host[:port][/account]: lower case, no final slash */
    size_t origin_size;          /* of scheme://host[:port] in url */
    char account[ENDPOINT_ACCOUNT_SIZE]; /* as in signatures: without -secondary */
    char table[ENDPOINT_TABLE_SIZE];     /* "": the URL has none */
    bool is_https, is_loopback;
};

extern const char endpoint_advice_accounts[]; /* advice for an illegal account name */

bool endpoint_is_account_name(struct bytes name); /* 3 to 24 of a-z and 0-9 */
bool endpoint_is_url(struct bytes text);          /* does it begin with https:// or http://? */

/* Host style (the host has a label "table" that is not the first): the account is the first label,
 * the table the first path segment. Path style (any other host, such as IP literals and localhost):
 * the account is the first path segment, the table the second. If `account` is not empty, a URL
 * with another account is refused, and a URL without one is a custom domain of that account. `what`
 * is the name of the URL in messages. http is accepted for every host. -EINVAL, with the reason in
 * call->failure: not a URL, user info, a query string, a Cosmos DB host. */
int endpoint_parse(struct endpoint *ret, const char *what, struct bytes url, struct bytes account,
                   struct call *call);
/* As endpoint_parse, but for an account at another port of the URL's host, in path style. The URL's
 * port is ignored; a path is refused. */
int endpoint_parse_at(struct endpoint *ret, const char *what, struct bytes url, const char *port,
                      const char *account, struct call *call);

/* Is it the account's secondary location, whose name is the account's with -secondary? */
bool endpoint_is_secondary(const struct endpoint *endpoint);
/* Are they the same account of the same service? Its secondary location is the same account. */
bool endpoint_is_same_account(const struct endpoint *a, const struct endpoint *b);

/* Sets the table. `table`: "" or "TABLE", perhaps with a slash at the end. -EINVAL, with the reason
 * in call->failure. */
int endpoint_set_table(struct endpoint *endpoint, struct bytes table, struct call *call);

#endif
