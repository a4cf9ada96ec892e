/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_LOCAL_LOCAL_FILE_H
#define CLIENT_LOCAL_LOCAL_FILE_H
/* Finds and creates an account's file. It does not open an existing file, because to close it would
 * release SQLite's locks on it in this process. Any thread. */
#include "client/store/call.h"

/* Returns the file's absolute path without links and dots, on the heap. With may_create, a missing
 * file is created empty, with mode 0600, which SQLite also gives to its -wal and -shm.
 * *ret_is_created: it was missing. -EISDIR; -EINVAL: not a regular file; -ENOENT: it, or its
 * directory, does not exist; other errors of the system, such as -EACCES. */
int local_file_find(const char *path, bool may_create, struct call *call, char **ret_real_path,
                    bool *ret_is_created);

/* Removes a file that local_file_find has created, and that could not be made an account. If
 * another process uses it, or has made it an account, it is not removed. Only while this process
 * does not have it open. */
void local_file_remove_created(const char *real_path);

/* The format of the account, from the file's header; 0: it has none, or cannot be read. A change
 * that is still in the WAL is not seen. Only while this process does not have the file open. */
int local_file_peek_format(const char *path);

/* Does the file have a WAL that is not empty? */
bool local_file_has_wal(const char *real_path);

/* The URI of the file for SQLite, on the heap; NULL: out of memory. On a read-only file system,
 * where SQLite cannot create a WAL, a file without a WAL is marked immutable in it. */
char *local_file_uri(const char *real_path);

#endif
