/* SPDX-License-Identifier: MIT */
#ifndef FS_VERBS_COMMAND_H
#define FS_VERBS_COMMAND_H
/* The command line: finds the verb and runs it, or prints help. fs/cli/verb.h says what a verb is.
 */
#include "fs/cli/verb.h"

/* Runs the command and returns the exit code: 0 or one of enum command_exit. decorate: in tests,
 * puts a store in front of the service's; NULL otherwise. */
int command_run(int argc, char **argv, store_decorator *decorate);

#endif
