/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_IDENTITY_CONNECTION_H
#define CLIENT_IDENTITY_CONNECTION_H
/* Makes an endpoint and a credential from SOURCE and the environment, which the caller has read.
 * Pure, any thread. Messages may contain names of variables, legal account names and hosts, but
 * never a secret or a part of one. */
#include "client/identity/credential.h"
#include "client/identity/endpoint.h"

struct connection_environment {    /* the caller's strings; NULL or "": not set */
    const char *connection_string; /* AZURE_STORAGE_CONNECTION_STRING */
    const char *account;           /* AZURE_STORAGE_ACCOUNT */
    const char *key;               /* AZURE_STORAGE_KEY */
    const char *sas_token;         /* AZURE_STORAGE_SAS_TOKEN */
    const char *sas_url;           /* AZURE_STORAGE_SAS_URL */
    bool allows_http;              /* the option allow_http */
    bool is_shared;                /* the command has two sources, as sync: see connection_init */
    bool uses_tokens;              /* the option auth: a token of Microsoft Entra ID, no secret */
};

struct connection {
    struct endpoint endpoint;
    struct credential *credential; /* NULL: tokens are used */
    const char *named_by;          /* where the endpoint comes from, for messages; static text */
    const char *credential_by;     /* the same for the credential; NULL: tokens are used */
    bool is_published;             /* the emulator's account and key, which are no secret */
    bool source_has_table;         /* SOURCE names a table */
};

/* `source`: NULL or "" (then the environment names the account), or `emulator`, an account name or
 * an endpoint URL, each of these perhaps followed by /TABLE.
 * - `emulator` ignores the environment.
 * - For an account name or URL, the credential comes from the environment, which must not name
 *   another account; the endpoint of a connection string or a SAS URL must be that of the URL.
 * - Two credentials are refused; but in one connection string, AccountKey takes precedence over
 *   SharedAccessSignature.
 * - A SAS URL (ENDPOINT[/TABLE]?TOKEN, as portals show it) may also be the value of `sas_token`.
 *   Its table is that in its path, or tn= of its token. If they and `source` spell it in different
 *   case, the spelling of `source` is used, else that of the path.
 * - Blanks and line ends around a value are removed.
 * - is_shared: a credential in the environment must come with its account's name, so that it is not
 *   sent to both services. If that is another account than `source` names, or one at another URL,
 *   the environment is ignored.
 * - uses_tokens: the endpoint must be https, and no variable may have a credential.
 * - A URL of the emulator's account gets the published key if no credential is set.
 * - http is refused, unless the host is loopback, or it is the emulator's account with the
 *   published key, or allows_http.
 *
 * -EINVAL, -ENOMEM, with the reason, one line, in call->failure. */
int connection_init(struct connection *ret, const char *source,
                    const struct connection_environment *environment, struct call *call);
void connection_finish(struct connection *connection);

/* If the only problem is a missing credential: returns the account that `source` or the environment
 * names. Otherwise "". */
void connection_find_lacking(const char *source, const struct connection_environment *environment,
                             char ret_account[ENDPOINT_ACCOUNT_SIZE]);
/* Is it `emulator`, perhaps with /TABLE, which needs no credential? NULL: no. */
bool connection_is_emulator(const char *source);

#endif
