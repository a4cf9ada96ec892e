/* SPDX-License-Identifier: MIT */
#ifndef FS_SOURCE_CREDENTIAL_FILE_H
#define FS_SOURCE_CREDENTIAL_FILE_H
/* Files that have the credential of an account (client/identity/credential_lines.h): the one that
 * the option names, and those that are looked for without it. A file must be regular, of the
 * process's user or of root, and nobody else may read or change it. In $CREDENTIALS_DIRECTORY the
 * group bits of root's files do not count: systemd lets the user of a service read by an ACL. Any
 * thread. */
#include "client/identity/credential_lines.h"

#define CREDENTIAL_FILE_OPTION "-o credentials="

/* Messages begin with `what`: "the file that ... names". Errors: of fs/base/secret_file.h, and
 * -EINVAL: of its lines. The caller finishes ret. */
int credential_file_read(const char *what, const char *path, struct call *call,
                         struct credential_lines *ret);
/* The file of an account in $CREDENTIALS_DIRECTORY, or else in /etc/tablefuse. *ret_path: on the
 * heap; NULL, where ret is empty: there is none with a key or a SAS that this process may read.
 * Then call->failure tells why one that is there cannot be read; error 0: there is none.
 * -EINVAL: there is one that must not be used, the reason in call; -ENOMEM. */
int credential_file_find(const char *account, struct call *call, char **ret_path,
                         struct credential_lines *ret);

#endif
