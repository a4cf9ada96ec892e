/* SPDX-License-Identifier: MIT */
#ifndef FS_COMMAND_H
#define FS_COMMAND_H
/* The command line: finds the verb and runs it, or prints help. fs/verb.h says what a verb is. */

#include "fs/exit_codes.h"

struct table_store;

/* For tests: creates a store that passes calls on to `inner`. Takes `inner` on success. 0 or
 * -errno. */
typedef int store_decorator(struct table_store *inner, struct table_store **ret);

/* Runs the command and answers the exit code: 0 or one of enum command_exit. decorate: the tests'
 * store in front of the service's, or NULL. */
int command_run(int argc, char **argv, store_decorator *decorate);

#endif
