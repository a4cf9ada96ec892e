/* SPDX-License-Identifier: MIT */
#ifndef FS_TEXT_LOST_AND_FOUND_H
#define FS_TEXT_LOST_AND_FOUND_H
/* Keeps texts that the service did not store. Each is written to disk at once, as a file of its own
 * in the directory `tablefuse/lost+found` of the user's state directory. The name has the time, the
 * account and the entity; the reason is in a second file next to it. Example:
 *
 *   20261122T100000.000Z-ACCOUNT-orders-p-r.json          the text, as written; perhaps half of one
 *   20261122T100000.000Z-ACCOUNT-orders-p-r.json.reason   the line of .tablefuse/errors
 *
 * In the name of a key that is too long are the digits of its digest, as in a cut name
 * (fs/tree/names.h): two keys hardly ever share a name here. At most LOST_AND_FOUND_MAX_OF_ENTITY
 * texts of an entity are kept, and an equal text is not kept again (except if several mounts lose
 * it at the same moment).
 *
 * There is no copy in memory and no second place. The files are the user's, so none is ever
 * removed, with one exception: files of texts that were queued or open at the end of a mount are
 * removed when the text is stored after all, or kept in another file.
 *
 * Files have mode 0600, directories that are made here mode 0700. `tablefuse` and `lost+found` must
 * belong to the process, and are never reached through a symbolic link; `lost+found` must have mode
 * 0700 when the mount starts. So another user with write access to the state directory cannot
 * redirect a text. Directories that were removed are made again.
 *
 * Thread-safety: any thread; one leaf mutex, held while names are compared and a file is created.
 * Blocks as long as the disk does. */
#include "cache/address.h"
#include "cache/failure_log.h"

#include <limits.h>

/* The directories in which state may be kept, in the order in which they are tried. The first three
 * are used only if they belong to the process's effective user; if one does not exist, its parent
 * directory must belong to that user or to root. A symbolic link in the path must belong to one of
 * these, too. */
struct state_places {
    const char *xdg_state_home; /* of the environment; NULL, empty or relative: not set */
    const char *home;           /* of the environment, as above; its .local/state is used */
    char *(*find_home)(void);   /* gets `home` from the system, which may be slow; may be NULL */
    const char *system;         /* absolute; for services without a home: "/var/lib" */
};

struct lost_and_found;
/* Makes the directory in the first place where that is possible. `mountpoint` is an absolute path
 * without symbolic links; nothing is mounted there yet. `account` is any name: file names have its
 * first bytes, with `_` for `-`. 0 or -errno; then ret_why is a sentence for the user (its maximum
 * leaves room for two paths):
 * -ELOOP: the place that would be used lies in the mount. Nothing was made there, and no other
 *         place was tried.
 * Others: no place can be used; the error is that of the first one. -EPERM: the place, or
 *         `tablefuse` or `lost+found` in it, belongs to another user, or is reached through another
 *         user's link. -ENOTSUP: `lost+found` has another mode than 0700. */
int lost_and_found_create(const struct state_places *places, const char *mountpoint,
                          const char *account, struct buffer *ret_why, struct lost_and_found **ret);
void lost_and_found_destroy(struct lost_and_found *lost); /* takes NULL */
#define LOST_AND_FOUND_MAX_OF_ENTITY 16
#define LOST_AND_FOUND_FULL          2
/* Keeps a text. is_limited: at most LOST_AND_FOUND_MAX_OF_ENTITY texts of the entity are kept. That
 * is for texts whose loss the user knows because a call has failed; not for a text whose store was
 * acknowledged, or that is lost at the end of the mount. 0: the text is on the disk; the path of
 * its file, or of an earlier file with an equal text, is appended to ret_path, which has room for
 * PATH_MAX bytes. If the disk is full, the reason may be missing. LOST_AND_FOUND_FULL: not kept,
 * because of the limit. -errno: no part of it is kept. */
int lost_and_found_put(struct lost_and_found *lost, const struct failure_record *record,
                       struct bytes text, bool is_limited, struct buffer *ret_path);
/* Keeps the text of a scratch file at the end of a mount. There is no file with a reason, no limit,
 * and lost_and_found_count does not count it. The file's name ends in the scratch file's name, cut
 * if necessary: 20261122T100000.000Z-ACCOUNT-orders-p-notes.tmp. With directory.table NULL it is a
 * text of the mount: 20261122T100000.000Z-ACCOUNT-queued-deletes. 0: it is on the disk; -errno: no
 * part of it is kept. */
int lost_and_found_keep(struct lost_and_found *lost, int64_t at_100ns, struct address directory,
                        struct bytes name, struct bytes text);
/* Creates a file that the caller writes itself, while a mount ends (queued_texts.h). With an empty
 * position: for lines, which are the queued texts of a table. With a position: for the text of that
 * entity's open file. Returns its descriptor, or -errno. lost_and_found_end closes it: 0: all of it
 * is on the disk; or -errno.
 */
int lost_and_found_begin(struct lost_and_found *lost, int64_t at_100ns, struct address address,
                         char ret_name[NAME_MAX + 1]);
int lost_and_found_end(struct lost_and_found *lost, int file);
void lost_and_found_put_reason(struct lost_and_found *lost, const char *name,
                               const struct failure_record *record);
/* Removes such a file, which has no reason yet. */
void lost_and_found_remove(struct lost_and_found *lost, const char *name);
int lost_and_found_append_path(const struct lost_and_found *lost,
                               struct buffer *ret);       /* the directory's path */
size_t lost_and_found_count(struct lost_and_found *lost); /* texts that this mount has lost */
/* Counts the texts of this account, also of other mounts, that were added since the last report of
 * their number, and records this report in the file `tablefuse/ACCOUNT.told`. 0 or -errno. */
int lost_and_found_count_new(struct lost_and_found *lost, int64_t now_100ns, size_t *ret);

DEFINE_CLEANUP(struct lost_and_found *, lost_and_found_destroy);

#endif
