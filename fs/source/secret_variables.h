/* SPDX-License-Identifier: MIT */
#ifndef FS_SOURCE_SECRET_VARIABLES_H
#define FS_SOURCE_SECRET_VARIABLES_H
/* The variables that are secrets. They are taken from the environment and then overwritten there,
 * so that neither /proc/PID/environ nor a child, such as `az`, has them. One thread; before any
 * other one begins. */
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
    struct failure failure;         /* error 0, or why those of the account could not be taken */
};

/* If they are used, copies each variable, or reads the file that the variable NAME_FILE names. In
 * any case overwrites the variables. A failure is kept, for the account that uses them: -EINVAL:
 * both are set; or an error of fs/base/secret_file.h. The caller wipes ret, which is empty before.
 */
void secret_variables_take(struct secret_variables *ret, bool are_used);
void secret_variables_wipe(struct secret_variables *secrets);
/* The value of any variable: of a secret as it was taken, of another one from the environment.
 * NULL: not set. */
const char *secret_variables_get(const struct secret_variables *secrets, const char *name);
/* Where NAME_FILE is set, replaces NAME in the failure's message by it: that is what the user has
 * set. */
void secret_variables_name_files(struct failure *failure);
/* Is the value of this variable in the file that NAME_FILE names? */
bool secret_variables_is_in_file(const char *name);

#endif
