/* SPDX-License-Identifier: MIT */
#ifndef FS_VERBS_COMMAND_H
#define FS_VERBS_COMMAND_H
/* The command line: finds the verb and runs it, or prints help. fs/cli/verb.h says what a verb is.
 */
#include "fs/cli/verb.h"

/* Runs the command and answers the exit code: 0 or one of enum command_exit. decorate: the tests'
 * store in front of the service's, or NULL. */
int command_run(int argc, char **argv, store_decorator *decorate);

#endif
