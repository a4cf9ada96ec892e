/* SPDX-License-Identifier: MIT */
#ifndef FS_COMMAND_H
#define FS_COMMAND_H
/* The command line: finds the verb and runs it, or prints help. fs/verb.h says what a verb is. */

struct table_store;

enum command_exit {
    EXIT_USAGE = 1,
    EXIT_CONFIGURATION = 2,
    EXIT_CREDENTIALS = 3,
    EXIT_NETWORK = 4,
    EXIT_NOT_FOUND = 5,
    EXIT_ABANDONED = 6, /* a file or a queued change could not be stored, and no call told it */
    EXIT_DAMAGED = 7,
    EXIT_MOUNTING = 32,
};

/* For tests: creates a store that passes calls on to `inner`. Takes `inner` on success. 0 or
 * -errno. */
typedef int store_decorator(struct table_store *inner, struct table_store **ret);

/* Runs the command and answers the exit code: 0 or one of enum command_exit. decorate: the tests'
 * store in front of the service's, or NULL. */
int command_run(int argc, char **argv, store_decorator *decorate);

#endif
