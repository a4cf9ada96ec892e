/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_LOCAL_LOCAL_FILES_H
#define CLIENT_LOCAL_LOCAL_FILES_H
/* Remembers which files the account's file, its -wal and its -shm were when they were opened. If
 * one of them is replaced, moved or deleted, SQLite continues to use the old one: it mixes the
 * content of two files, or shows what other processes no longer see. If -shm, which is mapped,
 * becomes shorter, reading it kills the process. Any thread; takes no lock. */
#include "client/store/call.h"

struct local_files;
/* Remembers the present files; call it when they are open. -ENOMEM, or an error of stat. */
int local_files_create(const char *real_path, struct call *call, struct local_files **ret);
void local_files_destroy(struct local_files *files); /* takes NULL */

/* 0: they are still the same files. Or -EIO with the reason in the call. */
int local_files_check(struct local_files *files, struct call *call);

DEFINE_CLEANUP(struct local_files *, local_files_destroy);

#endif
