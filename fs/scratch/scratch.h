/* SPDX-License-Identifier: MIT */
#ifndef FS_SCRATCH_SCRATCH_H
#define FS_SCRATCH_SCRATCH_H
/* Scratch files: local files in the directories of partitions, with temporary names
 * (fs/tree/scratch_name). They live in memory, within one budget for all, and keep their mode,
 * their modification time and their first owner, as on a disk.
 *
 * A scratch file is in a partition, whatever path leads there: it is also shown in the directories
 * of prefixes of the partition's RowKeys.
 *
 * A directory of scratch files is a scratch file, too, without a text. It contains no other
 * directory. The `directory` of its files is the position of its partition with its name appended.
 * Example: "p NUL d" for the directory d in the partition p.
 *
 * A file ends when it has neither a name nor a handle: then its text is freed, and it does not
 * count against the budget. A node may keep the rest of the struct for long.
 *
 * A file is the backup of an entity if an editor has renamed the entity to the file's name. It then
 * has the text of that version of the entity.
 *
 * Example: vim creates .f.json.swp, renames f.json to f.json~ (a backup), writes f.json, and
 * unlinks both.
 *
 * Thread-safety: any thread; one leaf mutex; never blocks.
 * Ownership: names, directories and texts are copied. A scratch_file is reference-counted: its
 * name, each node and each handle hold a reference.
 * Units: sizes in bytes; times in 100 ns since 1970. */
#include "cache/address.h"
#include "fs/tree/inode.h"

#include <sys/types.h>

/* The maximum of all files of a mount together. */
#define SCRATCH_MAX_BYTES ((size_t)64 << 20)
/* What a file counts in addition to its text, for the struct, the name and the position. */
#define SCRATCH_FILE_BYTES ((size_t)4096)

struct scratch;      /* all scratch files */
struct scratch_file; /* one */

struct scratch_attributes {
    uint64_t size, number; /* number: the st_ino */
    bool is_directory;
    mode_t mode; /* permission bits */
    uid_t uid;   /* of the process that created the file */
    gid_t gid;
    int64_t mtime_100ns;
    bool is_named; /* false: it was removed or replaced */
};

/* max_bytes: of all files together. 0 or -errno. */
int scratch_create(size_t max_bytes, struct scratch **ret);
/* Takes NULL. Frees all files, also open ones: the kernel sends no RELEASE for a file that is open
 * while a mount ends. No node may refer to a file any more. */
void scratch_destroy(struct scratch *scratch);
size_t scratch_bytes(struct scratch *scratch); /* of all files, with SCRATCH_FILE_BYTES for each */

/* How this module identifies a directory of entities: the table, and the position at which its
 * partition begins. Views of the directory. */
struct address scratch_directory(const struct directory *directory);
/* In all functions `directory` is a result of scratch_directory, and a returned file is referenced.
 * NULL: there is no file with this name. */
struct scratch_file *scratch_find(struct scratch *scratch, struct address directory,
                                  struct bytes name);
/* Makes a new, empty file with these attributes; size and is_named are ignored. -EEXIST; -ENOENT:
 * the directory was removed; -ENOSPC: over the budget; -ENOMEM. */
int scratch_make(struct scratch *scratch, struct address directory, struct bytes name,
                 const struct scratch_attributes *attributes, struct scratch_file **ret);
/* 1: the first name after `after` (empty: the first of all), in the order of their bytes. 0: there
 * is none; -ENOMEM or -EFBIG. */
int scratch_next(struct scratch *scratch, struct address directory, struct bytes after,
                 struct buffer *ret_name, struct scratch_attributes *ret);
/* Is there a file in the directory of a partition, a prefix or a table, or in one below it? */
bool scratch_has_below(struct scratch *scratch, const struct directory *directory);
/* -ENOENT: the file has no name any more. For a directory also -ENOTEMPTY or -ENOMEM. */
int scratch_unlink(struct scratch_file *file);
/* Gives the file this name. Another file with the name is replaced; with is_exclusive -EEXIST
 * instead. If the file itself has the name, nothing changes. -ENOENT: the file has no name any
 * more, or the directory was removed; -EISDIR: a directory has the name; -ENOMEM. On failure
 * nothing has changed. */
int scratch_rename(struct scratch_file *file, struct address directory, struct bytes name,
                   bool is_exclusive);
/* A long key became known (struct settlement): moves the files of directories of the unsettled key
 * to the directories of the known key, where they replace files with the same names. 0 or -ENOMEM:
 * then some are not moved. */
int scratch_settle(struct scratch *scratch, const struct settlement *settlement);
/* At unmount, when no other call is under way: visits each file that has a name, in order. Skips
 * empty files, and those of no use after the mount, such as swap files
 * (scratch_name_is_passing). */
void scratch_for_each_kept(struct scratch *scratch,
                           void (*keep)(void *context, struct address directory, struct bytes name,
                                        struct bytes text),
                           void *context);

/* Opens a handle, which holds a reference. -ESTALE: the file has ended. */
int scratch_file_open(struct scratch_file *file);
void scratch_file_close(struct scratch_file *file);                /* takes NULL */
void scratch_file_unref(struct scratch_file *file);                /* takes NULL */
struct node_file *scratch_node_file(struct scratch_file *file);    /* for fs/tree/inode; borrowed */
struct scratch_file *scratch_of_node_file(struct node_file *file); /* takes over the reference */

bool scratch_file_is_directory(const struct scratch_file *file); /* never changes */
void scratch_file_attributes(struct scratch_file *file, struct scratch_attributes *ret);
void scratch_file_set_mode(struct scratch_file *file, mode_t mode);
void scratch_file_set_mtime(struct scratch_file *file, int64_t mtime_100ns);
/* is_append: writes after the last byte, whatever `offset` is. All or nothing is written. -ENOSPC:
 * over the budget; -ENOENT: the file has ended; -ESTALE: it is sealed; -ENOMEM. */
int scratch_file_write(struct scratch_file *file, struct bytes bytes, uint64_t offset,
                       bool is_append, int64_t now_100ns);
/* A longer file gets NULs. Errors: as scratch_file_write. */
int scratch_file_resize(struct scratch_file *file, uint64_t size, int64_t now_100ns);
/* A sealed file cannot be written. It is sealed while it is stored as an entity, because a later
 * write would be lost. */
void scratch_file_seal(struct scratch_file *file, bool is_sealed);
/* Appends at most `size` bytes, fewer at the end of the text. 0, -ENOMEM or -EFBIG. */
int scratch_file_read(struct scratch_file *file, uint64_t offset, size_t size, struct buffer *ret);

/* Makes the file, with its present text, the backup of this version of an entity. table NULL: it is
 * no backup from now on. 0 or -ENOMEM. */
int scratch_file_set_backup(struct scratch_file *file, struct address address, struct bytes etag);
/* 1: the file is the backup of the version with ret and ret_etag, which are views of ret_text. 0:
 * it is no backup; -ENOMEM. */
int scratch_file_backup(struct scratch_file *file, struct buffer *ret_text, struct address *ret,
                        struct bytes *ret_etag);
/* Was the file written or resized since it became a backup? */
bool scratch_file_was_changed(struct scratch_file *file);

DEFINE_CLEANUP(struct scratch *, scratch_destroy);
DEFINE_CLEANUP(struct scratch_file *, scratch_file_unref);

#endif
