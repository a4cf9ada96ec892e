/* SPDX-License-Identifier: MIT */
#ifndef FS_CLI_MOUNT_HINT_H
#define FS_CLI_MOUNT_HINT_H
/* Refuses an option that `tablefuse mount` does not have, and suggests what the user may mean: it
 * may be an option of other mount programs, or one for `-o`. One thread. */
#include "fs/cli/verb.h"

/* Like verb_refuse_option, for an error that getopt_long has returned. EXIT_USAGE. */
int mount_hint_refuse(const struct verb *verb, int returned, char **argv);
/* For an option where a command is expected. EXIT_USAGE. */
int mount_hint_refuse_command(const char *option);

#endif
