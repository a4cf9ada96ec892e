/* SPDX-License-Identifier: MIT */
#ifndef FS_MOUNT_SAS_END_H
#define FS_MOUNT_SAS_END_H
/* Warns when the SAS of a mount ends within a day. `mount` warns on standard error; a later
 * request, on any thread, in `errors` and the log. The functions are called by one thread. */
#include "fs/source/mount_source.h"

struct account;

struct sas_end { /* of a mount; embedded, or on the stack while the account lives */
    const struct mount_source *source;
    struct account *account;
};

void sas_end_warn(const struct mount_source *source);
/* From now on the first request that finds that the SAS ends soon adds a note to the account's
 * failure log; likewise for each SAS that replaces it. Called before the mount serves requests. */
void sas_end_watch(struct sas_end *end, struct mount_source *source, struct account *account);

#endif
