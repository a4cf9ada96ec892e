/* SPDX-License-Identifier: MIT */
#ifndef FS_MOUNT_SAS_END_H
#define FS_MOUNT_SAS_END_H
/* Warns that the SAS of a mount ends within a day: `mount` does so on standard error, and a later
 * request in `errors` and the log. One thread; the request's warning comes from any thread. */
#include "fs/source/mount_source.h"

struct account;

struct sas_end { /* of a mount; in its owner's memory while the account lives */
    const struct mount_source *source;
    struct account *account;
};

void sas_end_warn(const struct mount_source *source);
/* From now on the first request that finds that the SAS ends soon adds a note to the failures of
 * the account; so does that of each SAS which replaces it. To be called before the mount serves. */
void sas_end_watch(struct sas_end *end, struct mount_source *source, struct account *account);

#endif
