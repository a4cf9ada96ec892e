/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_LOCAL_LOCAL_FILES_H
#define CLIENT_LOCAL_LOCAL_FILES_H
/* The account's file with the -wal and -shm beside it, as they were when it was opened. If one of
 * them is replaced, moved or deleted, SQLite goes on with the old one and mixes the content of two
 * files, or serves what other processes no longer see. If -shm, which is mapped, becomes shorter,
 * reading it kills the process. Any thread; takes no lock. */
#include "client/store/call.h"

struct local_files;
/* The files that are there now; call it when they are open. -ENOMEM; -errno: FILE cannot be read.
 */
int local_files_create(const char *real_path, struct call *call, struct local_files **ret);
void local_files_destroy(struct local_files *files); /* takes NULL */

/* Are they still the same? 0 or -EIO, the reason in the call. */
int local_files_check(struct local_files *files, struct call *call);

DEFINE_CLEANUP(struct local_files *, local_files_destroy);

#endif
