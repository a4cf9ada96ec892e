/* SPDX-License-Identifier: MIT */
#ifndef FS_OPS_CUT_NAME_H
#define FS_OPS_CUT_NAME_H
/* Cut names: file names of keys that are too long for one (fs/tree/names). */
#include "fs/kernel/request.h"
#include "fs/tree/inode.h"

/* Finds what this mount knows of a cut name. Sends nothing. 1: *place is the place of the key, or
 * of a new file or directory whose key is not known yet. 0: nothing is known, and *place is
 * unchanged. -errno. */
int cut_name_find_known(struct request *request, const struct inode *parent, struct bytes name,
                        struct place *place);
/* Finds the key of a cut name with requests: lists the keys that start with the beginning in the
 * name, also those of local directories, and compares their digests. *place becomes the place of
 * the key; *ret is the entity, if it is one. Called after request_may_wait, if cut_name_find_known
 * returned 0. 0 or -errno; -ENOENT: no key has this name. */
int cut_name_settle(struct request *request, const struct inode *parent, struct bytes name,
                    struct place *place, struct entity *ret);

/* The NEW writer of a place for which there is no node yet, referenced; NULL: none. The place is
 * settled if its key became known meanwhile. 0 or -ENOMEM. */
int cut_name_find_new(struct request *request, struct place *place, struct writer **ret);
/* Called after a node was made, perhaps of an unsettled place: settles it if the key became known
 * meanwhile. Takes NULL. */
void cut_name_settle_node(struct request *request, const struct inode *made);

#endif
