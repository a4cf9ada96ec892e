/* SPDX-License-Identifier: MIT */
#ifndef FS_BASE_EXIT_CODES_H
#define FS_BASE_EXIT_CODES_H
/* The exit codes of the commands, and what each means. The manual, contrib/docs/errors.md and the
 * tests are compared with the help that is made of this. */
#include <stdbool.h>
#include <stddef.h>

enum command_exit {
    EXIT_USAGE = 1,
    EXIT_CONFIGURATION = 2,
    EXIT_CREDENTIALS = 3,
    EXIT_NETWORK = 4,
    EXIT_NOT_FOUND = 5,
    EXIT_ABANDONED = 6, /* of unmount: and no call told it */
    EXIT_DAMAGED = 7,
    EXIT_MOUNTING = 32,
    EXIT_INTERRUPTED = 130, /* as of a process that SIGINT has ended */
};

struct exit_meaning {
    int code;
    const char *means; /* a few words, static text; NULL: the end */
};

#define EXIT_OWN_MEANINGS 4 /* the maximum of one command, with the end */

/* The code with this number, from 0 on, and what it means. own: where this command's meanings
 * differ. False: there is none. */
bool exit_codes_get(size_t number, const struct exit_meaning own[EXIT_OWN_MEANINGS],
                    struct exit_meaning *ret);

#endif
