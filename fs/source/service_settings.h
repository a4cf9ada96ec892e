/* SPDX-License-Identifier: MIT */
#ifndef FS_SOURCE_SERVICE_SETTINGS_H
#define FS_SOURCE_SERVICE_SETTINGS_H
/* How an account of a service is reached: its endpoint, and its key, its SAS, or where its tokens
 * are from. The first of these that has a credential for the account counts alone: the file of
 * -o credentials=, the environment, and the files of fs/source/credential_file.h. With -o auth= the
 * settings for tokens are from the environment, and those in the file of -o credentials= go before.
 *
 * One thread, but for service_settings_read_again and service_settings_append_origin: any thread.
 * Sends nothing. */
#include "client/identity/connection.h"
#include "client/identity/token_settings.h"
#include "fs/source/secret_variables.h"

/* What the credentials of an account in the environment are for. */
enum mount_environment {
    MOUNT_ENVIRONMENT_ONE,     /* this source */
    MOUNT_ENVIRONMENT_SHARED,  /* this one of two services, if they name its account and host; the
                                * same holds for a file that is found without the option */
    MOUNT_ENVIRONMENT_FOREIGN, /* another source: they are not read */
};

struct service_settings_options {
    const char *source;      /* NULL: the environment names the account */
    const char *auth;        /* how a token is got; NULL: by a key or a SAS */
    const char *credentials; /* a file; NULL: the option was not given */
    const struct secret_variables *variables;
    enum mount_environment environment;
    bool allows_http;
};

struct service_settings {
    struct connection connection;
    struct token_settings tokens; /* with `auth` */
    const char *auth;             /* the options'; NULL: no tokens are used */
    char *file;                   /* absolute: has the credential; NULL: none has */
    char *source;                 /* as given */
    bool is_of_option, allows_http;
};

/* -EINVAL, -ENOMEM, or an errno of a file, with the reason in call->failure. The caller finishes
 * ret after a success. `auth` outlives it. */
int service_settings_init(struct service_settings *ret,
                          const struct service_settings_options *options, struct call *call);
void service_settings_finish(struct service_settings *settings);

/* The key or the SAS that the file has now, a reference. -EINVAL: it has none for this endpoint; or
 * an error as above. There is a file. */
int service_settings_read_again(const struct service_settings *settings, struct call *call,
                                struct credential **ret);
/* What a mistyped SOURCE means, as advice; NULL: it is near to no word that is one. */
const char *service_settings_meant(const char *source);
/* Appends the name of the variable, of the option or of the file that has the credential. */
int service_settings_append_origin(const struct service_settings *settings, struct buffer *ret);

#endif
