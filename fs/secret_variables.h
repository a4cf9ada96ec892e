/* SPDX-License-Identifier: MIT */
#ifndef FS_SECRET_VARIABLES_H
#define FS_SECRET_VARIABLES_H
/* The variables that are secrets. They are taken from the environment and then overwritten there,
 * so that /proc/PID/environ shows none. One thread. */
#include "client/call.h"

enum secret_variable {
    SECRET_CONNECTION_STRING, /* AZURE_STORAGE_CONNECTION_STRING */
    SECRET_KEY,               /* AZURE_STORAGE_KEY */
    SECRET_SAS_TOKEN,         /* AZURE_STORAGE_SAS_TOKEN */
    SECRET_SAS_URL,           /* AZURE_STORAGE_SAS_URL */
    SECRET_VARIABLES,
};

struct secret_variables {
    char *values[SECRET_VARIABLES]; /* NULL: not set */
};

/* Copies each variable, or reads the file that the variable NAME_FILE names. The caller wipes ret,
 * after a failure, too. -EINVAL, the reason in call->failure: both are set; or an error of
 * fs/secret_file.h. */
int secret_variables_take(struct secret_variables *ret, struct call *call);
void secret_variables_wipe(struct secret_variables *secrets);
/* Overwrites the values of these variables, and of those that are secrets of Microsoft Entra ID, in
 * the environment. */
void secret_variables_blank(void);
/* A message about what a file has names the variable of the file. */
void secret_variables_name_files(struct failure *failure);
/* Is the value of this variable in the file that NAME_FILE names? */
bool secret_variables_is_in_file(const char *name);

#endif
