/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_IDENTITY_TOKEN_REQUEST_H
#define CLIENT_IDENTITY_TOKEN_REQUEST_H
/* Requests a token from its issuer: over HTTP from the authority or from the service for managed
 * identities, or by running `az`. One request at a time. Create it after the last fork and after
 * http_global_init. */
#include "client/identity/token_settings.h"
#include "client/identity/token_source.h"

struct token_request;

/* Takes ownership of the settings, also on failure. `ca_file`: certificates to trust; NULL: the
 * system's. Copied. -ENOMEM. */
int token_request_create(struct token_settings *settings, const char *ca_file,
                         const struct clock *clock, struct token_request **ret);
void token_request_destroy(struct token_request *request); /* takes NULL; wipes its secrets */

/* The issuer for token_source_create; the request must outlive it. */
struct token_issuer token_request_issuer(struct token_request *request);

DEFINE_CLEANUP(struct token_request *, token_request_destroy);

#endif
