/* SPDX-License-Identifier: MIT */
#ifndef FS_SOURCE_CREDENTIAL_FILE_H
#define FS_SOURCE_CREDENTIAL_FILE_H
/* Files with the credential of an account (client/identity/credential_lines.h): the one that the
 * option names, and those that are searched for without the option. A file must be regular, must
 * belong to the process's user or to root, and no other user may be able to read or change it. In
 * $CREDENTIALS_DIRECTORY the group bits of root's files are ignored, because systemd lets a
 * service's user read them by an ACL. Any thread. */
#include "client/identity/credential_lines.h"

#define CREDENTIAL_FILE_OPTION "-o credentials="

/* Messages begin with `what`: "the file that ... names". Errors: those of fs/base/secret_file.h;
 * -EINVAL also for wrong lines in the file. The caller finishes ret. */
int credential_file_read(const char *what, const char *path, struct call *call,
                         struct credential_lines *ret);
/* Finds the file of an account in $CREDENTIALS_DIRECTORY, or else in /etc/tablefuse. 0: *ret_path
 * is its path on the heap. NULL, and ret is empty: there is no file with a key or a SAS that this
 * process may read. Then call->failure says why a file that exists cannot be read; error 0: no file
 * exists. -EINVAL: a file exists that must not be used, the reason is in call; -ENOMEM. */
int credential_file_find(const char *account, struct call *call, char **ret_path,
                         struct credential_lines *ret);

#endif
