/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_IDENTITY_TOKEN_SETTINGS_H
#define CLIENT_IDENTITY_TOKEN_SETTINGS_H
/* How to request tokens for `auth=MODE`: the issuer and the request, from the mode and the
 * environment. Pure, any thread. Messages may contain names of variables and hosts, but never a
 * secret.
 * https://learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token
 * https://learn.microsoft.com/azure/app-service/overview-managed-identity (REST endpoint) */
#include "client/base/bytes.h"
#include "client/store/call.h"

#define TOKEN_RESOURCE "https://storage.azure.com" /* in every cloud */

enum token_mode {
    TOKEN_MSI_MACHINE,  /* msi: the identity service of a virtual machine */
    TOKEN_MSI_ENDPOINT, /* msi: IDENTITY_ENDPOINT of Container Apps and Functions */
    TOKEN_WORKLOAD,     /* the authority, with an assertion from a file */
    TOKEN_SPN,          /* the authority, with a secret */
    TOKEN_AZCLI,        /* `az` */
};

struct token_settings {
    enum token_mode mode;
    char name[200];        /* of the issuer, for messages: "login.microsoftonline.com" */
    char *tenant;          /* for `az`; NULL: the user's */
    char *file;            /* with the assertion */
    struct buffer url;     /* of HTTP requests */
    struct buffer form;    /* for the authority: the body, without an assertion; secret */
    struct buffer headers; /* secret */
};

struct token_variables {                                       /* the environment */
    const char *(*get)(const void *context, const char *name); /* a variable's value; NULL: none */
    const void *context;
};

/* -EINVAL, with the reason in call->failure: the mode is unknown, or a variable that it needs is
 * missing or malformed; -ENOMEM. The caller finishes ret after a success. */
int token_settings_init(struct token_settings *ret, const char *mode,
                        const struct token_variables *variables, struct call *call);
void token_settings_finish(struct token_settings *settings); /* wipes the secrets */

#endif
