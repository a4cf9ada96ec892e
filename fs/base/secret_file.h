/* SPDX-License-Identifier: MIT */
#ifndef FS_BASE_SECRET_FILE_H
#define FS_BASE_SECRET_FILE_H
/* Reads a secret from a file, as docker, Kubernetes and systemd provide them. Any thread. */
#include "client/store/call.h"

#define SECRET_FILE_MAX_BYTES ((size_t)64 << 10)

enum secret_file_rule {                      /* whose file it may be */
                        SECRET_FILE_ANY,     /* the system's rules are enough */
                        SECRET_FILE_PRIVATE, /* of the process's user or of root; others may neither
                                                read nor write */
                        SECRET_FILE_OF_SYSTEMD, /* likewise, but the group bits of root's file are
                                                 * the mask of an ACL, by which systemd lets a
                                                 * service's user read */
};

/* Returns the file's text on the heap, without a line end at its end; the caller wipes it. The file
 * is opened once, and the checks are done with the descriptor; links are followed, because
 * Kubernetes uses them. Messages begin with `what`. They contain neither the path, which may be the
 * secret by mistake, nor any of the content. -EINVAL: the file is not regular, breaks the rule, has
 * only blanks, is too large, or has a NUL; -ENOMEM; an errno of open or read. */
int secret_file_read(const char *what, const char *path, enum secret_file_rule rule,
                     struct call *call, char **ret);

/* Overwrites the text and frees it. */
void secret_file_wipe(char *text); /* takes NULL */

#endif
