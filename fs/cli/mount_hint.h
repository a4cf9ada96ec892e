/* SPDX-License-Identifier: MIT */
#ifndef FS_CLI_MOUNT_HINT_H
#define FS_CLI_MOUNT_HINT_H
/* Refuses an option that `tablefuse mount` does not have, and says what it probably means: other
 * programs have it, or it is one of `-o`. One thread. */
#include "fs/cli/verb.h"

/* For what getopt_long has returned, as verb_refuse_option. EXIT_USAGE. */
int mount_hint_refuse(const struct verb *verb, int returned, char **argv);
/* For a word that stands in the place of a command. EXIT_USAGE. */
int mount_hint_refuse_command(const char *option);

#endif
