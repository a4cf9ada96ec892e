/* SPDX-License-Identifier: MIT */
#ifndef FS_SOURCE_SECRET_VARIABLES_H
#define FS_SOURCE_SECRET_VARIABLES_H
/* Environment variables that are secrets. They are copied from the environment and then overwritten
 * there, so that neither /proc/PID/environ nor a child process, such as `az`, has them. One thread;
 * before any other one starts. */
#include "client/store/call.h"

enum secret_variable {
    SECRET_CONNECTION_STRING, /* AZURE_STORAGE_CONNECTION_STRING */
    SECRET_KEY,               /* AZURE_STORAGE_KEY */
    SECRET_SAS_TOKEN,         /* AZURE_STORAGE_SAS_TOKEN */
    SECRET_SAS_URL,           /* AZURE_STORAGE_SAS_URL */
    SECRET_CLIENT_SECRET,     /* AZURE_CLIENT_SECRET */
    SECRET_IDENTITY_HEADER,   /* IDENTITY_HEADER */
    SECRET_VARIABLES,
};

struct secret_variables {
    char *values[SECRET_VARIABLES]; /* NULL: not set */
    struct failure failure;         /* why the account's secrets could not be read; error 0: none */
};

/* With are_used, copies the variable of each NAME, or reads the file that the variable NAME_FILE
 * names. In any case overwrites the variables. A failure is kept in ret->failure, for the account
 * that uses the secrets: -EINVAL: both NAME and NAME_FILE are set; or an error of
 * fs/base/secret_file.h. ret is zero before, and the caller wipes it.
 */
void secret_variables_take(struct secret_variables *ret, bool are_used);
void secret_variables_wipe(struct secret_variables *secrets);
/* The value of any environment variable; if it is a secret, the copied value. NULL: not set. */
const char *secret_variables_get(const struct secret_variables *secrets, const char *name);
/* Replaces NAME in the failure's message by NAME_FILE if that is set, because that is the variable
 * that the user has set. */
void secret_variables_name_files(struct failure *failure);
/* Was the value of this variable read from the file that NAME_FILE names? */
bool secret_variables_is_in_file(const char *name);

#endif
