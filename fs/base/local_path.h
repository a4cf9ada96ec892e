/* SPDX-License-Identifier: MIT */
#ifndef FS_BASE_LOCAL_PATH_H
#define FS_BASE_LOCAL_PATH_H
/* Parses the operand of local:, which is FILE or FILE/TABLE. Reads the file system, and changes
 * nothing. One thread. */
#include "client/base/base.h"

/* *ret_path: the file's absolute path without symbolic links; the file itself may not exist.
 * *ret_table: what follows a FILE that exists, or "". The caller frees both. 0 or -errno: -ENOENT,
 * -EACCES... for the file's directory; -ENOTDIR: more than a TABLE follows an existing file. */
int local_path_resolve(const char *given, char **ret_path, char **ret_table);

/* The same for FILE/TABLE where FILE may not exist: if its directory is missing, the last part of
 * `given` is the TABLE. */
int local_path_resolve_new(const char *given, char **ret_path, char **ret_table);

/* Does the file system of FILE answer within limit_ms? A child process checks it, because a system
 * call for FILE may wait without a limit. True also if there is no FILE. */
bool local_path_answers(const char *given, int64_t limit_ms);

#endif
