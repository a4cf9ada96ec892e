/* SPDX-License-Identifier: MIT */
#ifndef FS_SAS_END_H
#define FS_SAS_END_H
/* Tells the user of a mount that its SAS ends within a day: at `mount` on standard error, and later
 * in `errors` and the log. One thread, but for what a request tells. */
#include "fs/mount_source.h"

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
