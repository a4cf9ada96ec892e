/* SPDX-License-Identifier: MIT */
#ifndef FS_OPS_RENAME_SCRATCH_H
#define FS_OPS_RENAME_SCRATCH_H
/* Renames between scratch files and entities: how editors, `sed -i` and rsync save.
 *
 * A scratch file that is renamed to an entity's name is stored, and stops being a scratch file. An
 * entity that is renamed to a scratch file's name is masked (account_mask), and a scratch file with
 * its text becomes its backup; other clients still see the entity, the backup's "original". If the
 * backup is removed, the original is deleted, unless a new version was stored over it. If the
 * backup is renamed back, the original is visible again.
 *
 * All functions: 0 or -errno, the reason in the call; after an error nothing has changed in this
 * mount, with the exception of rename_scratch_to_entity. Any thread. Called after request_may_wait.
 */
#include "fs/ops/change.h"

/* Settles the unsettled key of `to`, an entity's name: by the key of the file's original, if it is
 * a backup, or else by the file's text. As settler_settle. */
int rename_scratch_settle(struct request *request, struct scratch_file *file, struct child *to);
/* -EINVAL: the text is refused; or it is empty, and an entity has the name. -EEXIST: is_exclusive,
 * and something has the name. If the file is the backup of another entity, that one is deleted
 * after the store; if only the delete fails, the text is stored, and the file stays a backup.
 * Called while the writers of the name are held. Open handles of the scratch file cannot write any
 * more. */
int rename_scratch_to_entity(struct request *request, struct scratch_file *file, struct address to,
                             bool is_exclusive);
/* from: an entity's name; path: the entity's. to: a scratch file's name; a file with that name is
 * replaced. ret_number: the st_ino of the backup, a new one. The entity's st_ino is for the next
 * file with its name. -EBUSY: the renamed file is not stored yet. */
int rename_scratch_from_entity(struct request *request, const struct child *from,
                               const struct directory_path *path, const struct child *to,
                               bool is_exclusive, uint64_t *ret_number);
/* If the file is a backup whose original is still masked: deletes the original. Called by whatever
 * removes the file, or replaces it by another one. */
int rename_scratch_delete_original(struct request *request, struct scratch_file *file);

#endif
