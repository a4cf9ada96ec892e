#ifndef CLIENT_AZURE_CONNECTION_H
#define CLIENT_AZURE_CONNECTION_H
/* Turns SOURCE and the environment into an endpoint and a credential. Pure, any thread: the caller
 * reads the environment. Messages name variables, legal account names and hosts, and never contain
 * a secret or a part of one. */
#include "client/azure/credential.h"
#include "client/azure/endpoint.h"

struct connection_environment {    /* the caller's strings; NULL or "": not set */
    const char *connection_string; /* AZURE_STORAGE_CONNECTION_STRING */
    const char *account;           /* AZURE_STORAGE_ACCOUNT */
    const char *key;               /* AZURE_STORAGE_KEY */
    const char *sas_token;         /* AZURE_STORAGE_SAS_TOKEN */
};

struct connection {
    struct endpoint endpoint;
    struct credential *credential;
};

/* `source`: NULL or "" (then the environment names the account), or `emulator`, an account name or
 * an endpoint URL, each of these perhaps followed by /TABLE. The emulator ignores the environment.
 * An account or URL takes its credential from the environment, which must not name another account;
 * a connection string must also have the URL's endpoint. Two credentials are refused, but inside
 * one connection string AccountKey takes precedence over SharedAccessSignature. -EINVAL, -ENOMEM;
 * the reason, one line, in call->failure. */
int connection_init(struct connection *ret, const char *source,
                    const struct connection_environment *environment, struct call *call);
void connection_finish(struct connection *connection);

#endif
