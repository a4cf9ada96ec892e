/* SPDX-License-Identifier: MIT */
#ifndef FS_OPS_OPEN_WRITER_H
#define FS_OPS_OPEN_WRITER_H
/* Which writer an open for writing gets. The nodes are those of fs/tree/inode. */
#include "fs/kernel/request.h"

/* Does an OPEN with these flags need a writer? O_TRUNC changes the file, too. */
bool open_writer_is_needed(int flags);

/* An OPEN for writing of an entity's node:
 *
 *   node                               the thread wants     what OPEN does
 *                                      a writer
 *   of a new file                      -                    joins its writer
 *   of a version                       no                   ESTALE: the thread wants a writer
 *   minted, or of an open writer       no                   the same: it is another thread's node
 *   minted for this thread             yes                  begins the node's writer, or joins it
 *   any, and the kernel sent no LOOKUP yes                  (1)
 *   any other                          yes                  (2)
 *
 *   - "wants a writer", "minted": fs/tree/stale_opens. To join is to open another handle of it
 *   - (1) an open of /proc/self/fd/N, which leads to a node and not to a name. For the node of a
 *     version: (2); for another node: begins its writer, or joins it
 *   - (2) begins a writer that belongs to this handle alone. If two threads look up one name at the
 *     same time, the kernel may send one LOOKUP for both, so a thread may get the node that was
 *     meant for the other. What the node shows does not change
 *
 * Returns 0 and the handle; -ESTALE: the kernel looks the name up and opens again by itself; or
 * another -errno with the reason in the call. */
int open_writer(struct request *request, const struct inode *inode, int flags,
                struct writer_handle **ret);
/* For a CREATE: begins the writer of a new file. If the file was just created under another
 * spelling of its path, and is not stored yet: joins its writer, or with O_EXCL -EEXIST. */
int open_writer_new(struct request *request, struct address address, int flags,
                    struct writer_handle **ret);
/* Joins the writer of a new file, for reading only. -ESTALE: the file has just been stored. */
int open_writer_read(struct request *request, const struct inode *inode,
                     struct writer_handle **ret);

#endif
