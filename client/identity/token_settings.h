/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_IDENTITY_TOKEN_SETTINGS_H
#define CLIENT_IDENTITY_TOKEN_SETTINGS_H
/* Who gives out the tokens of `auth=MODE`, and what it is asked: from the mode and the environment.
 * Pure, any thread. Messages name variables and hosts, and never contain a secret.
 * https://learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token
 * https://learn.microsoft.com/azure/app-service/overview-managed-identity (REST endpoint) */
#include "client/base/bytes.h"
#include "client/store/call.h"

#define TOKEN_RESOURCE "https://storage.azure.com" /* in every cloud */

enum token_mode {
    TOKEN_MSI_MACHINE,  /* msi: the identity service of a virtual machine */
    TOKEN_MSI_ENDPOINT, /* msi: IDENTITY_ENDPOINT of Container Apps and Functions */
    TOKEN_WORKLOAD,     /* the authority, with a file as assertion */
    TOKEN_SPN,          /* the authority, with a secret */
    TOKEN_AZCLI,
};

struct token_settings {
    enum token_mode mode;
    char name[200];        /* what is asked, for messages: "login.microsoftonline.com" */
    char *tenant;          /* for `az`; NULL: that of the user */
    char *file;            /* of the assertion */
    struct buffer url;     /* of HTTP requests */
    struct buffer form;    /* for the authority: the body, but for an assertion; a secret */
    struct buffer headers; /* a secret, too */
};

struct token_variables {                                       /* where the settings are from */
    const char *(*get)(const void *context, const char *name); /* a variable's value; NULL: none */
    const void *context;
};

/* -EINVAL: the mode is unknown, a variable that it
 * needs is missing, or one is malformed, with its name in call->failure; -ENOMEM. The caller
 * finishes ret after a success. */
int token_settings_init(struct token_settings *ret, const char *mode,
                        const struct token_variables *variables, struct call *call);
void token_settings_finish(struct token_settings *settings); /* wipes the secrets */

#endif
