/* SPDX-License-Identifier: MIT */
#ifndef FS_SOURCE_SERVICE_SETTINGS_H
#define FS_SOURCE_SERVICE_SETTINGS_H
/* The settings of an account of a service: its endpoint, and its key, its SAS, or the source of its
 * tokens. Only the first of these that has a credential for the account is used: the file of -o
 * credentials=, the environment, the files of fs/source/credential_file.h. With -o auth= the
 * settings for tokens are from the environment; those in the file of -o credentials= override them.
 *
 * One thread, except service_settings_read_again and service_settings_append_origin: any thread.
 * Sends nothing. */
#include "client/identity/connection.h"
#include "client/identity/token_settings.h"
#include "fs/source/secret_variables.h"

/* May a source use the credentials in the environment? */
enum mount_environment {
    MOUNT_ENVIRONMENT_ONE,     /* yes: it is the only source */
    MOUNT_ENVIRONMENT_SHARED,  /* it is one of two services: only if they name its account and host;
                                * likewise those in a file that is found without the option */
    MOUNT_ENVIRONMENT_FOREIGN, /* no: they are for another source */
};

struct service_settings_options {
    const char *source;      /* NULL: the environment names the account */
    const char *auth;        /* -o auth=, the source of tokens; NULL: a key or a SAS is used */
    const char *credentials; /* a file; NULL: the option was not given */
    const struct secret_variables *variables;
    enum mount_environment environment;
    bool allows_http;
};

struct service_settings {
    struct connection connection;
    struct token_settings tokens; /* with `auth` */
    const char *auth;             /* from the options; NULL: no tokens are used */
    char *file;                   /* the absolute path of the credential's file; NULL: no file */
    char *source;                 /* as given */
    bool is_of_option, allows_http;
};

/* -EINVAL, -ENOMEM, or an errno of a file, with the reason in call->failure. The caller finishes
 * ret after a success. `auth` outlives it. */
int service_settings_init(struct service_settings *ret,
                          const struct service_settings_options *options, struct call *call);
void service_settings_finish(struct service_settings *settings);

/* Reads the key or the SAS that the credential's file has now; ret is a reference. Called only if
 * settings->file is set. -EINVAL: the file has none for this endpoint; or an error as above. */
int service_settings_read_again(const struct service_settings *settings, struct call *call,
                                struct credential **ret);
/* Advice about a SOURCE that looks mistyped; NULL: it is not similar to a known word. */
const char *service_settings_meant(const char *source);
/* Appends where the credential is from: the name of a variable, an option or a file. */
int service_settings_append_origin(const struct service_settings *settings, struct buffer *ret);

#endif
