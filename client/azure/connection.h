#ifndef CLIENT_AZURE_CONNECTION_H
#define CLIENT_AZURE_CONNECTION_H
/* SOURCE and the environment, turned into an endpoint and a credential. Pure, any thread: the
 * caller reads the environment. Messages name variables, legal account names and hosts, and never
 * hold a secret or a piece of one. */
#include "client/azure/credential.h"
#include "client/azure/endpoint.h"

struct connection_environment {    /* views of the caller; NULL or "": not set */
    const char *connection_string; /* AZURE_STORAGE_CONNECTION_STRING */
    const char *account;           /* AZURE_STORAGE_ACCOUNT */
    const char *key;               /* AZURE_STORAGE_KEY */
    const char *sas_token;         /* AZURE_STORAGE_SAS_TOKEN */
};

struct connection {
    struct endpoint endpoint;
    struct credential *credential;
};

/* `source`: NULL or "" (the environment says it all), `emulator`, an account name, or an endpoint
 * URL, each but the first followed by /TABLE or not. The emulator ignores the environment. An
 * account or URL takes its credential from the environment, which must not name another account (a
 * connection string: not another endpoint than a URL). Two credentials at once are refused; inside
 * one connection string AccountKey wins over SharedAccessSignature.
 * -EINVAL, -ENOMEM; the reason, one line, in call->failure. */
int connection_init(struct connection *ret, const char *source,
                    const struct connection_environment *environment, struct call *call);
void connection_finish(struct connection *connection);

#endif
