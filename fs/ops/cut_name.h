/* SPDX-License-Identifier: MIT */
#ifndef FS_OPS_CUT_NAME_H
#define FS_OPS_CUT_NAME_H
/* The short name of a key that is too long for a file name (fs/tree/names). */
#include "fs/kernel/request.h"
#include "fs/tree/inode.h"

/* What this mount knows of a cut name. Sends nothing. 1: *place is that of the key, or of a new
 * file or directory whose key is not known yet; 0: *place is as before; -errno. */
int cut_name_find_known(struct request *request, const struct inode *parent, struct bytes name,
                        struct place *place);
/* Settles a cut place: lists the keys that start with its beginning, those of local directories
 * among them, and finds the key with this name. *place becomes the place of the key. If that is an
 * entity, *ret is it. request_may_wait was called, and cut_name_find_known knew nothing. 0 or
 * -errno; -ENOENT: no key has this name. */
int cut_name_settle(struct request *request, const struct inode *parent, struct bytes name,
                    struct place *place, struct entity *ret);

/* The NEW writer of a place that no node has, referenced; NULL: none. The place is settled if its
 * key became known meanwhile. 0 or -ENOMEM. */
int cut_name_find_new(struct request *request, struct place *place, struct writer **ret);
/* A node was made, perhaps of an unsettled place: settles it if the key became known meanwhile.
 * Takes NULL. */
void cut_name_settle_node(struct request *request, const struct inode *made);

#endif
