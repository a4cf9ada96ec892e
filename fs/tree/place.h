/* SPDX-License-Identifier: MIT */
#ifndef FS_TREE_PLACE_H
#define FS_TREE_PLACE_H
/* What a node stands for. Places are made from names: only this module turns a path into keys, and
 * recognises names with a leading dot. Pure. A place owns its strings, and does not change, except
 * by place_settle.
 *
 * Threads: place_settle is atomic for all functions except place_root and place_finish. Each call
 * sees the place, or the parent, either before or after the settlement. Two calls may see different
 * states.
 *
 * Example: in the root, `T` is the directory of table T. In it, `p` is the directory of partition p
 * and `Ne+` the directory of the partitions that start with Ne. In `p`, `r.json` is the entity (p,
 * r). In each of `T`, `p` and `Ne+`, `.filter/EXPR` is the same directory with another listing,
 * which shows only what matches EXPR. A lookup below it finds also what does not match. */
#include "cache/address.h"
#include "fs/tree/names.h"

enum place_kind {
    PLACE_DIRECTORY,         /* of tables, partitions or entities: place_directory */
    PLACE_ENTITY,            /* place_address */
    PLACE_SCRATCH,           /* a scratch file: place_scratch_directory */
    PLACE_CONTROL_DIRECTORY, /* .tablefuse */
    PLACE_CONTROL_FILE,      /* place.control_file */
    PLACE_DROP_DIRECTORY,    /* .tablefuse/drop */
    PLACE_DROPPED_TABLE,     /* TABLE! in it, whose rmdir drops the table: place_directory */
    PLACE_SCRATCH_DIRECTORY, /* a directory of scratch files: place_scratch_directory */
    PLACE_FILTERS,           /* .filter, whose entries are named by filters: filter_name.h */
};

enum control_file {
    CONTROL_STATS,
    CONTROL_ERRORS,
    CONTROL_VERSION,
    CONTROL_CONFIG,
    CONTROL_DROP, /* a directory: PLACE_DROP_DIRECTORY */
    CONTROL_FILES
};

#define CONTROL_DIRECTORY_NAME ".tablefuse"
extern const char *const control_file_names[CONTROL_FILES];
/* Each name in `drop` ends in this, so that `TABLE!` differs from the name of the table. Programs
 * that move a directory to a place where one of the same name exists remove the latter first; here
 * that would drop the table. */
#define DROPPED_SUFFIX "!"

struct place {
    enum place_kind kind : 8;
    enum directory_kind directory_kind : 8;
    enum directory_kind layout : 8; /* of the directories of tables */
    enum control_file control_file : 8;
    bool is_root;
    bool is_given; /* it exists if its parent does: no request is needed */
    bool is_cut;   /* from a cut name, and only the key's beginning is known; see place_of_key */
    struct place_text *text; /* last: table, range, filter; an entity's position is range.lo */
};

/* The root of the mount. table NULL: the directory of all tables; else the directory of that table.
 * layout: DIRECTORY_AUTO or DIRECTORY_FLAT, for every table below. 0 or -ENOMEM. */
int place_root(const char *table, enum directory_kind layout, struct place *ret);
void place_finish(struct place *place);

/* What `name` stands for in the directory `parent`: anything but a scratch file; nothing else has
 * names of scratch files (scratch_name.h). Sends no request: the child may not exist. The child's
 * range lies within the parent's. 0, -ENOENT (no child can have this name), -ENAMETOOLONG,
 * -ENOTDIR, -ENOMEM; for a name in PLACE_FILTERS -EINVAL, whose reason filter_name.h gives. */
int place_child(const struct place *parent, struct bytes name, struct place *ret);
/* The child of the parent that stands for this key. It replaces the cut place of the child when its
 * key was found. 0, -ENOMEM, -EPROTO (the bytes are no key). */
int place_of_key(const struct place *parent, struct bytes key, struct place *ret);
/* The child that is created under a cut name while its key is not known: it gets an unsettled key
 * (client/base/position.h). `cut`: the cut place of the name. 0 or -ENOMEM. */
int place_of_unsettled(const struct place *parent, struct bytes name, const struct place *cut,
                       struct place *ret);
/* Does the place, or its partition, have an unsettled key? */
bool place_is_unsettled(const struct place *place);
/* Settles the place, if the settlement concerns it. Other threads may use the place meanwhile, and
 * keep views of it: these show the old key, and stay valid as long as the place lives. Only one
 * thread at a time may settle it. 0 or -ENOMEM: then nothing has changed. */
int place_settle(struct place *place, const struct settlement *settlement);
/* The directory of the keys that start with `prefix`, in a level or a partition. 0, -ENOMEM, or
 * -ENOENT: the parent shows no prefixes, or the prefix is not longer than the parent's own or does
 * not start with it. */
int place_of_prefix(const struct place *parent, struct bytes prefix, struct place *ret);

/* A scratch file in a directory for which place_holds_scratch is true. 0 or -ENOMEM. */
int place_of_scratch(const struct place *directory, struct place *ret);
/* A directory of scratch files in one for which place_lies_in_partition is true. 0 or -ENOMEM. */
int place_of_scratch_directory(const struct place *directory, struct bytes name, struct place *ret);
/* Is it the directory of a partition, or of a prefix of its RowKeys? */
bool place_lies_in_partition(const struct place *place);
bool place_holds_scratch(const struct place *place); /* the same, or a directory of scratch files */
/* Is it .tablefuse, or a directory in it? */
bool place_is_of_control(const struct place *place);

/* Views into the place. Of a cut place: the directory whose listing holds the key, if it exists. */
struct directory place_directory(const struct place *place);
struct address place_address(const struct place *place);
/* The directory of scratch files (see scratch_directory of fs/scratch/scratch.h) for a directory,
 * or for that of a scratch file: the position at which the partition begins; in a directory of
 * scratch files followed by its name. */
struct address place_scratch_directory(const struct place *place);

/* The st_ino of a place that is no entity, made from the SHA-256 of what the place stands for. So
 * it is the same for every spelling of a path and in every mount. It lies between PLACE_NUMBER_MIN
 * and twice that; the numbers of files are lower (fs/tree/numbers.h). */
#define PLACE_NUMBER_MIN ((uint64_t)1 << 62)
uint64_t place_number(const struct place *place);

#endif
