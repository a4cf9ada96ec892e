/* SPDX-License-Identifier: MIT */
#ifndef FS_SOURCE_SOURCE_FAILURE_H
#define FS_SOURCE_SOURCE_FAILURE_H
/* Why a source cannot be used: each function writes one line to standard error, with the next step
 * where one is known, and returns the exit code. One thread. */
#include "client/store/call.h"
#include "fs/base/exit_codes.h"
#include "fs/source/service_settings.h"

/* what: what the line begins with; "": nothing. reason: with the next step, after " -- ". */
int source_fail(const char *what, const char *reason, enum command_exit code);
int source_fail_memory(void);
int source_fail_call(const char *what, const struct failure *failure, enum command_exit code);

/* name: as in local:FILE. The failure is that of opening the file. */
int source_fail_opening(const char *name, const struct failure *failure);
/* A request has failed. table: "": none. */
int source_fail_local(const char *path, const char *table, const struct failure *failure);
int source_fail_service(const struct service_settings *settings, const char *table,
                        const struct failure *failure);

#endif
