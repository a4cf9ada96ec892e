/* SPDX-License-Identifier: MIT */
#ifndef FS_BASE_EXIT_CODES_H
#define FS_BASE_EXIT_CODES_H
/* The exit codes of the commands, and what each means. The help is made from this; tests compare it
 * with the manual and contrib/docs/errors.md. */
#include <stdbool.h>
#include <stddef.h>

enum command_exit {
    EXIT_USAGE = 1,
    EXIT_CONFIGURATION = 2,
    EXIT_CREDENTIALS = 3,
    EXIT_NETWORK = 4,
    EXIT_NOT_FOUND = 5,
    EXIT_ABANDONED = 6, /* of unmount: something was not stored, and no call reported it */
    EXIT_DAMAGED = 7,
    EXIT_MOUNTING = 32,
    EXIT_INTERRUPTED = 130, /* as of a process that SIGINT has ended */
};

struct exit_meaning {
    int code;
    const char *means; /* a few words, static text; NULL: the end */
};

#define EXIT_OWN_MEANINGS 4 /* the maximum of one command, with the end */

/* The exit code with this index, from 0 on, and what it means. own: the meanings that differ for
 * this command. False: there is none. */
bool exit_codes_get(size_t number, const struct exit_meaning own[EXIT_OWN_MEANINGS],
                    struct exit_meaning *ret);

#endif
