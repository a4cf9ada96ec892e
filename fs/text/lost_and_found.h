/* SPDX-License-Identifier: MIT */
#ifndef FS_TEXT_LOST_AND_FOUND_H
#define FS_TEXT_LOST_AND_FOUND_H
/* Texts that the service did not take. Each is written to disk at once, as a file of its own in the
 * directory `tablefuse/lost+found` of the user's state directory. The name tells when the text was
 * lost, and of which account and entity it is; the reason is in a file beside it. Example:
 *
 *   20261122T100000.000Z-ACCOUNT-orders-p-r.json          the text, as written; perhaps half of one
 *   20261122T100000.000Z-ACCOUNT-orders-p-r.json.reason   the line of .tablefuse/errors
 *
 * A key that is too long has the digits of its digest, as in a cut name (fs/tree/names.h): two keys
 * hardly ever share a name here. Of an entity LOST_AND_FOUND_MAX_OF_ENTITY texts are kept, and an
 * equal text is not kept again (but where several mounts lose one at the same moment).
 *
 * There is no copy in memory and no second place. Nothing here is ever removed, because the files
 * are the user's; but for texts that were queued, or open, at the end of a mount, when they are
 * stored or have another file.
 *
 * Files have mode 0600, directories that are made here mode 0700. `tablefuse` and `lost+found` must
 * belong to the process, and are never reached through a symbolic link; `lost+found` must have mode
 * 0700 when the mount is made. So another user with write
 * access to the state directory cannot redirect a text. Directories that were removed are made
 * again.
 *
 * Thread-safety: any thread; one leaf mutex while names are looked at and a file is created. Blocks
 * as long as the disk does. */
#include "cache/address.h"
#include "cache/failure_log.h"

#include <limits.h>

/* Where state may be kept, in the order in which the places are tried. The first three count if
 * they belong to the process's effective user. One that is absent counts if the directory above
 * belongs to that user or root. A symbolic link on the way has to belong to one of these, too. */
struct state_places {
    const char *xdg_state_home; /* of the environment; NULL, empty or relative: not set */
    const char *home;           /* of the environment, as above; its .local/state is used */
    char *(*ask_home)(void);    /* as `home`, but asked of the system; takes a while; NULL: none */
    const char *system;         /* absolute; for services without a home: "/var/lib" */
};

struct lost_and_found;
/* Makes the directory in the first place where it can be made. `mountpoint` is an absolute path
 * without symbolic links; nothing is mounted there yet. `account` is any name: names of files have
 * its first bytes, with `_` for `-`. 0 or -errno, and then ret_why is a sentence for the user (its
 * maximum leaves room for two paths):
 * -ELOOP: the place that would be used lies in the mount. Nothing was made there, and no other
 *         place was tried.
 * Others: no place can be used; the error is that of the first. -EPERM: it, or `tablefuse` or
 *         `lost+found` in it, is another user's or behind another user's link. -ENOTSUP:
 *         `lost+found` has another mode than 0700. */
int lost_and_found_create(const struct state_places *places, const char *mountpoint,
                          const char *account, struct buffer *ret_why, struct lost_and_found **ret);
void lost_and_found_destroy(struct lost_and_found *lost); /* takes NULL */
#define LOST_AND_FOUND_MAX_OF_ENTITY 16
#define LOST_AND_FOUND_FULL          2
/* is_limited: the user knows of it, because a call has failed; then not more than
 * LOST_AND_FOUND_MAX_OF_ENTITY texts of an entity are kept. Always kept are a text whose store had
 * been acknowledged, and one that is lost at the end of the mount. 0: the text is on the disk; the
 * path of its file, or of an earlier one with an equal text, is appended to ret_path, which has
 * room for PATH_MAX bytes. The reason may be missing, when the disk is full. Else no part of the
 * text was kept: LOST_AND_FOUND_FULL: there are as many of the entity already. -errno: it could not
 * be written. */
int lost_and_found_put(struct lost_and_found *lost, const struct failure_record *record,
                       struct bytes text, bool is_limited, struct buffer *ret_path);
/* The text of a scratch file, at the end of a mount. It gets no reason, and is not counted; there
 * may be any number of a name. Its name has the file's name, as far as there is room:
 * 20261122T100000.000Z-ACCOUNT-orders-p-notes.tmp. With table NULL a text of the mount:
 * 20261122T100000.000Z-ACCOUNT-queued-deletes. 0: it is on the disk; -errno: no part of it was
 * kept. */
int lost_and_found_keep(struct lost_and_found *lost, int64_t at_100ns, struct address directory,
                        struct bytes name, struct bytes text);
/* A file that the caller writes, for the time in which a mount ends (queued_texts.h): of lines, the
 * texts of a table that are queued; with a position, the text of an entity's open file. Answers its
 * descriptor, or -errno. lost_and_found_end closes it: 0, and all of it is on the disk; or -errno.
 */
int lost_and_found_begin(struct lost_and_found *lost, int64_t at_100ns, struct address address,
                         char ret_name[NAME_MAX + 1]);
int lost_and_found_end(struct lost_and_found *lost, int file);
void lost_and_found_put_reason(struct lost_and_found *lost, const char *name,
                               const struct failure_record *record);
/* Such a file has no reason yet. */
void lost_and_found_remove(struct lost_and_found *lost, const char *name);
int lost_and_found_append_path(const struct lost_and_found *lost,
                               struct buffer *ret);       /* of itself */
size_t lost_and_found_count(struct lost_and_found *lost); /* texts that this mount has lost */
/* Counts the texts of this account that have come since they were told last, also by other mounts,
 * and notes in the file `tablefuse/ACCOUNT.told` that they are told now. 0 or -errno. */
int lost_and_found_count_new(struct lost_and_found *lost, int64_t now_100ns, size_t *ret);

DEFINE_CLEANUP(struct lost_and_found *, lost_and_found_destroy);

#endif
