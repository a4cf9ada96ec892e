/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_IDENTITY_CONNECTION_H
#define CLIENT_IDENTITY_CONNECTION_H
/* Turns SOURCE and the environment into an endpoint and a credential. Pure, any thread: the caller
 * reads the environment. Messages name variables, legal account names and hosts, and never contain
 * a secret or a part of one. */
#include "client/identity/credential.h"
#include "client/identity/endpoint.h"

struct connection_environment {    /* the caller's strings; NULL or "": not set */
    const char *connection_string; /* AZURE_STORAGE_CONNECTION_STRING */
    const char *account;           /* AZURE_STORAGE_ACCOUNT */
    const char *key;               /* AZURE_STORAGE_KEY */
    const char *sas_token;         /* AZURE_STORAGE_SAS_TOKEN */
    const char *sas_url;           /* AZURE_STORAGE_SAS_URL */
    bool allows_http;              /* the option allow_http */
    bool is_shared;                /* `source` is one of two services: see connection_init */
    bool uses_tokens;              /* the option auth: a token of Microsoft Entra ID, no secret */
};

struct connection {
    struct endpoint endpoint;
    struct credential *credential; /* NULL: tokens are used */
    const char *named_by;          /* what names the endpoint, for messages; static text */
    const char *credential_by;     /* the same for the credential; NULL: tokens are used */
    bool is_published;             /* the emulator's account and key, which are no secret */
    bool source_has_table;         /* the table stands in SOURCE */
};

/* `source`: NULL or "" (then the environment names the account), or `emulator`, an account name or
 * an endpoint URL, each of these perhaps followed by /TABLE. The emulator ignores the environment.
 * An account or URL takes its credential from the environment, which must not name another account;
 * a connection string or a SAS URL must also have the URL's endpoint. Two credentials are refused,
 * but inside one connection string AccountKey takes precedence over SharedAccessSignature.
 *
 * A SAS URL (ENDPOINT[/TABLE]?TOKEN, as portals show it) may also stand in `sas_token`. Its table
 * is the one in its path or in tn= of its token; names of tables may differ in case, then that of
 * `source` counts, then that of the path. Blanks and line ends around a value are cut off.
 *
 * is_shared: the environment must name its account by itself, so that no credential goes to both
 * services. If that is another account than `source`, or at another URL, it does not count.
 * With uses_tokens the endpoint must be https, and no variable may have a credential.
 *
 * The account of the emulator has the published key if a URL names it and no credential is set.
 * http is refused, unless it is to loopback, to that account with that key, or allowed. -EINVAL,
 * -ENOMEM; the reason, one line, in call->failure. */
int connection_init(struct connection *ret, const char *source,
                    const struct connection_environment *environment, struct call *call);
void connection_finish(struct connection *connection);

/* The account that `source` or the environment names, if it needs a credential and the environment
 * has none for it; "": otherwise, and where connection_init fails for another reason. */
void connection_find_lacking(const char *source, const struct connection_environment *environment,
                             char ret_account[ENDPOINT_ACCOUNT_SIZE]);
/* Is it the emulator by its short name, which takes no credential? NULL is not. */
bool connection_is_emulator(const char *source);

#endif
