/* SPDX-License-Identifier: MIT */
#ifndef FS_OPS_LOOKUP_OPS_H
#define FS_OPS_LOOKUP_OPS_H
/* The handlers of LOOKUP and FORGET. */
#include "fs/kernel/request.h"

void lookup_ops_lookup(fuse_req_t req, fuse_ino_t parent, const char *name);
void lookup_ops_forget(fuse_req_t req, fuse_ino_t id, uint64_t lookups);
void lookup_ops_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets);

#endif
