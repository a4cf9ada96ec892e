/* SPDX-License-Identifier: MIT */
#ifndef FS_SCRATCH_SCRATCH_H
#define FS_SCRATCH_SCRATCH_H
/* Scratch files: local files in the directories of partitions, with temporary names
 * (fs/tree/scratch_name). They live in memory, within one budget for all, and keep their mode,
 * their modification time and their first owner, as on a disk.
 *
 * The directory of a scratch file is its partition, whatever path leads there: the file is in the
 * directories of the partition's row key prefixes, too.
 *
 * A directory of scratch files is a scratch file, too, without a text. The directory of its files
 * has its own directory's position with its name behind. There is none in it.
 *
 * A file ends when it has neither a name nor a handle: then its text is freed, and it counts no
 * more. A node may keep the rest of it for long.
 *
 * A file may be the backup of an entity: an editor has renamed the entity to the file's name.
 *
 * Example: vim creates .f.json.swp, renames f.json to f.json~ (a backup), writes f.json, and
 * unlinks both.
 *
 * Thread-safety: any thread; one leaf mutex; never blocks.
 * Ownership: names, directories and texts are copied. A scratch_file is counted: its name has a
 * reference, and each node and each handle.
 * Units: sizes in bytes; times in 100 ns since 1970. */
#include "cache/address.h"
#include "fs/tree/inode.h"

#include <sys/types.h>

/* Of all files of a mount. */
#define SCRATCH_MAX_BYTES ((size_t)64 << 20)
/* What a file counts beside its text, for the struct, the name and the position. */
#define SCRATCH_FILE_BYTES ((size_t)4096)

struct scratch;      /* all scratch files */
struct scratch_file; /* one */

struct scratch_attributes {
    uint64_t size, number; /* number: the st_ino */
    bool is_directory;
    mode_t mode; /* permission bits */
    uid_t uid;   /* of the process that made the file */
    gid_t gid;
    int64_t mtime_100ns;
    bool is_named; /* else it has been removed or replaced */
};

/* max_bytes: of all files together. 0 or -errno. */
int scratch_create(size_t max_bytes, struct scratch **ret);
/* Takes NULL. Frees all files, also those that are open: the kernel sends no RELEASE for a file
 * that is open while a mount ends. No node has one any more. */
void scratch_destroy(struct scratch *scratch);
size_t scratch_bytes(struct scratch *scratch); /* of all files, with SCRATCH_FILE_BYTES for each */

/* What a directory of entities is here: the table, and the position at which its partition begins.
 * Views of the directory. */
struct address scratch_directory(const struct directory *directory);
/* In all functions `directory` is what scratch_directory answers. A file that is returned is
 * referenced. NULL: there is none of the name. */
struct scratch_file *scratch_find(struct scratch *scratch, struct address directory,
                                  struct bytes name);
/* A new, empty file with these attributes; size and is_named are not used. -EEXIST; -ENOENT: the
 * directory is gone; -ENOSPC: beyond the budget; -ENOMEM. */
int scratch_make(struct scratch *scratch, struct address directory, struct bytes name,
                 const struct scratch_attributes *attributes, struct scratch_file **ret);
/* The first name behind `after` (empty: the first of all), in the order of their bytes: 1. 0: there
 * is none; -ENOMEM or -EFBIG. */
int scratch_next(struct scratch *scratch, struct address directory, struct bytes after,
                 struct buffer *ret_name, struct scratch_attributes *ret);
/* Is there a file in the directory of a partition, a prefix or a table, or in one below it? */
bool scratch_has_below(struct scratch *scratch, const struct directory *directory);
/* -ENOENT: the file has no name any more. Of a directory: -ENOTEMPTY or -ENOMEM. */
int scratch_unlink(struct scratch_file *file);
/* A file that has the name is replaced. is_exclusive: -EEXIST in that case. A file that has this
 * very name keeps it. -ENOENT: the file has no name any more, or the directory is gone; -EISDIR: a
 * directory has the name; -ENOMEM. On failure nothing has changed. */
int scratch_rename(struct scratch_file *file, struct address directory, struct bytes name,
                   bool is_exclusive);
/* The files of a directory that the settlement concerns get into the settled one, and replace those
 * of their names there. 0 or -ENOMEM: then some are not there. */
int scratch_settle(struct scratch *scratch, const struct settlement *settlement);
/* At unmount, when no other call is under way: each file that has a name, in order, but those of
 * scratch_name_is_passing and empty ones. */
void scratch_for_each_kept(struct scratch *scratch,
                           void (*keep)(void *context, struct address directory, struct bytes name,
                                        struct bytes text),
                           void *context);

/* A handle, which is a reference, too. -ESTALE: the file has ended. */
int scratch_file_open(struct scratch_file *file);
void scratch_file_close(struct scratch_file *file); /* takes NULL */
struct scratch_file *scratch_file_ref(struct scratch_file *file);
void scratch_file_unref(struct scratch_file *file);                /* takes NULL */
struct node_file *scratch_node_file(struct scratch_file *file);    /* for fs/tree/inode; borrowed */
struct scratch_file *scratch_of_node_file(struct node_file *file); /* the reference goes along */

bool scratch_file_is_directory(const struct scratch_file *file); /* it never changes */
void scratch_file_attributes(struct scratch_file *file, struct scratch_attributes *ret);
void scratch_file_set_mode(struct scratch_file *file, mode_t mode);
void scratch_file_set_mtime(struct scratch_file *file, int64_t mtime_100ns);
/* is_append: behind the last byte, whatever `offset` is. All or nothing is written. -ENOSPC: beyond
 * the budget; -ENOENT: the file has ended; -ESTALE: it is sealed; -ENOMEM. */
int scratch_file_write(struct scratch_file *file, struct bytes bytes, uint64_t offset,
                       bool is_append, int64_t now_100ns);
/* What is added is NULs. As scratch_file_write. */
int scratch_file_resize(struct scratch_file *file, uint64_t size, int64_t now_100ns);
/* A sealed file keeps its text. What is written to it after it was
 * stored as an entity would be lost. */
void scratch_file_seal(struct scratch_file *file, bool is_sealed);
/* Appends at most `size` bytes, fewer at the end of the text. 0, -ENOMEM or -EFBIG. */
int scratch_file_read(struct scratch_file *file, uint64_t offset, size_t size, struct buffer *ret);

/* Makes it the backup of that version of an entity, with its present text; table NULL: of none. 0
 * or -ENOMEM. */
int scratch_file_set_backup(struct scratch_file *file, struct address address, struct bytes etag);
/* The version of which it is the backup: 1; ret_text is a copy, and ret and ret_etag are views of
 * that. 0: of none; -ENOMEM. */
int scratch_file_backup(struct scratch_file *file, struct buffer *ret_text, struct address *ret,
                        struct bytes *ret_etag);
/* Has it been written or resized since it became a backup? */
bool scratch_file_was_changed(struct scratch_file *file);

DEFINE_CLEANUP(struct scratch *, scratch_destroy);
DEFINE_CLEANUP(struct scratch_file *, scratch_file_unref);

#endif
