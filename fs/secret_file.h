/* SPDX-License-Identifier: MIT */
#ifndef FS_SECRET_FILE_H
#define FS_SECRET_FILE_H
/* Reads a secret from the file that a variable names, as docker and Kubernetes hand them out. Any
 * thread. */
#include "client/call.h"

#define SECRET_FILE_MAX_BYTES ((size_t)64 << 10)

/* The file's text on the heap, without a line end at its end; the caller wipes it. A message names
 * the variable alone, neither the path, which may be the secret by mistake, nor anything of the
 * content. -EINVAL: not a regular file, nothing but blanks, too large, or it has a NUL; -ENOMEM; an
 * errno of open or read. */
int secret_file_read(const char *variable, const char *path, struct call *call, char **ret);

/* Overwrites the text and frees it. */
void secret_file_wipe(char *text); /* takes NULL */

#endif
