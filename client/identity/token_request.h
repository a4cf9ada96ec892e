/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_IDENTITY_TOKEN_REQUEST_H
#define CLIENT_IDENTITY_TOKEN_REQUEST_H
/* Asks for a token: the authority and what gives out those of managed identities over HTTP, and
 * `az`. One request at a time. Create it after the last fork and after http_global_init. */
#include "client/identity/token_settings.h"
#include "client/identity/token_source.h"

struct token_request;

/* Takes the settings, after a failure, too. `ca_file`: certificates to trust; NULL: the system's.
 * Copied. -ENOMEM. */
int token_request_create(struct token_settings *settings, const char *ca_file,
                         const struct clock *clock, struct token_request **ret);
void token_request_destroy(struct token_request *request); /* takes NULL; wipes its secrets */

/* For token_source_create; the request outlives it. */
struct token_issuer token_request_issuer(struct token_request *request);

DEFINE_CLEANUP(struct token_request *, token_request_destroy);

#endif
