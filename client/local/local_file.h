/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_LOCAL_LOCAL_FILE_H
#define CLIENT_LOCAL_LOCAL_FILE_H
/* Finds and creates an account's file without opening it: closing it would release the locks that
 * SQLite holds on it in this process. Any thread. */
#include "client/store/call.h"

/* The file's absolute path without links and dots, on the heap. With may_create a missing file is
 * created empty, with mode 0600, which SQLite also gives to its -wal and -shm. -EISDIR; -EINVAL:
 * not a regular file; -ENOENT: it, or its folder, does not exist; -EACCES... *ret_is_created: it
 * was missing. */
int local_file_find(const char *path, bool may_create, struct call *call, char **ret_real_path,
                    bool *ret_is_created);

/* Removes a file that local_file_find has created, because it could not be made an account. It
 * stays if another process uses it or has made it one. Only when this process has not opened it, or
 * has closed it. */
void local_file_remove_created(const char *real_path);

/* The number in the file's header that tells an account's format; 0: it has none, or cannot be
 * read. A change that is still in the WAL is not seen. Only while this process has not opened the
 * file. */
int local_file_peek_format(const char *path);

/* Is a WAL that is not empty beside the file? */
bool local_file_has_wal(const char *real_path);

/* The URI for SQLite, on the heap. On a read-only file system SQLite cannot create a WAL: if there
 * is none, the URI says that the file is immutable. NULL: out of memory. */
char *local_file_uri(const char *real_path);

#endif
