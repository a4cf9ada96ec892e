/* SPDX-License-Identifier: MIT */
#ifndef FS_OPS_RENAME_OPS_H
#define FS_OPS_RENAME_OPS_H
/* The handler of RENAME. The kernel locks both directories while it runs (fs/ops/change_ops.h).
 *
 *   what is renamed    to                      what RENAME does
 *   an entity          an entity's name        account_rename. Writers of the renamed entity store
 *                                              under the new name from then on. Writers of a
 *                                              replaced entity store nothing any more
 *   a scratch file     an entity's name        see fs/ops/rename_scratch.h
 *   an entity          a scratch file's name   the same
 *   a scratch file     a scratch file's name   scratch_rename. A delete is sent if that replaces a
 *                                              backup whose original is still masked
 *   a new file that    a name without an       its writer has the new name, and stores there.
 *   is not stored      entity                  Nothing is sent
 *   the same           an entity               EBUSY: the entity would become empty, or get half a
 *                                              text
 *   anything           a name that cannot be   EPERM, with the reason
 *                      created
 *   a directory                                EXDEV, so that mv copies and deletes
 *   anything           another spelling of     0, and both stay
 *                      its own name
 *
 * RENAME_EXCHANGE is EINVAL. */
#include "fs/kernel/request.h"

void rename_ops_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
                       const char *new_name, unsigned flags);

#endif
