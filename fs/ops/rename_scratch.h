/* SPDX-License-Identifier: MIT */
#ifndef FS_OPS_RENAME_SCRATCH_H
#define FS_OPS_RENAME_SCRATCH_H
/* Renames between scratch files and entities: how editors, `sed -i` and rsync save.
 *
 * A scratch file that gets an entity's name is stored, and is gone. An entity that gets a scratch
 * file's name is masked (account_mask): it becomes the original of a backup, and other clients see
 * it all the time. With the backup's removal the original is deleted, unless a new version has
 * taken its place by then. With the backup's return to its name it is shown again.
 *
 * All functions: 0 or -errno, the reason in the call; after an error nothing has changed here, but
 * as rename_scratch_to_entity says. Any thread. request_may_wait was called. */
#include "fs/ops/change.h"

/* Settles the place of `to`, an entity's, by the key of the entity of which the file is a backup,
 * or by the file's text. As settler_settle. */
int rename_scratch_settle(struct request *request, struct scratch_file *file, struct child *to);
/* -EINVAL: the text is refused; or it is empty, and an entity has the name. -EEXIST: is_exclusive,
 * and something has the name. If the file is the backup of another entity, that one is deleted
 * after the store: if that fails, the text is stored, and the file stays a backup. The writers of
 * the name are held. An open file of it cannot be written any more. */
int rename_scratch_to_entity(struct request *request, struct scratch_file *file, struct address to,
                             bool is_exclusive);
/* from: of an entity; path: of it. to: a scratch file's name; what has it is replaced. ret_number:
 * the st_ino of the backup; that of the entity is the next file's of its name. -EBUSY: the file is
 * not stored yet. */
int rename_scratch_from_entity(struct request *request, const struct child *from,
                               const struct directory_path *path, const struct child *to,
                               bool is_exclusive, uint64_t *ret_number);
/* Deletes the original, if the file is the backup of one that is still masked. For what removes the
 * file, or puts another one in its place. */
int rename_scratch_delete_original(struct request *request, struct scratch_file *file);

#endif
