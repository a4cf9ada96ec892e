/* SPDX-License-Identifier: MIT */
#ifndef FS_OPS_OWN_NAMES_H
#define FS_OPS_OWN_NAMES_H
/* The names in an open directory that the service does not have: local directories, new files that
 * are not stored yet, and after those scratch files. READDIR returns them after the names of the
 * listing, without those that the listing has shown.
 *
 * A new file may be stored while the listing runs. Then the listing may already be past its name,
 * and at the end the file is not new any more. So this module records the new files at the start of
 * the listing, and which of them the listing shows. The others are shown after the listing, unless
 * they are known to be removed.
 *
 * The other names are not recorded. Only the last returned name is, with its cookie: the next name
 * is the first one after it, so no name is skipped when another one is removed meanwhile. For any
 * other cookie, as after seekdir, the names are counted from the first.
 *
 * One thread at a time; no lock; never blocks. */
#include "fs/scratch/scratch.h"
#include "fs/text/writer.h"

#include <bsd/sys/tree.h>

/* The cookie before the first name. The listing's are lower. */
#define OWN_NAMES_BEGIN ((uint64_t)1 << 62)

/* How many new files are recorded, in the order of names. If there are more, the others are shown
 * only if they are still new after the listing. */
#define OWN_NAMES_MAX 1000

RB_HEAD(own_files, own_file);

struct own_names { /* embedded, or on the stack; private */
    struct directory directory;
    struct address scratch_directory;
    struct listing *listing;    /* NULL: there are none of the account */
    struct writers *writers;    /* NULL: there are no new files */
    struct scratch *scratch;    /* NULL: there are no scratch files */
    uint64_t last;              /* the cookie of the last own_names_next */
    struct buffer before, next; /* the name with that cookie, and the one that was returned:
                                 * range.lo, or the name of a scratch file */
    bool before_is_scratch, next_is_scratch;
    struct scratch_attributes next_attributes;
    struct own_files files; /* that were new when the listing began */
    size_t files_count;
    bool is_listed; /* the listing has shown an entry, or its end, since it began */
};
struct own_name {
    struct bytes name; /* of a scratch file; else empty */
    uint64_t number;   /* its st_ino */
    bool is_directory;
    enum name_kind kind; /* if `name` is empty: how the key becomes a name */
    struct bytes key;    /* name and key are views, valid until the next call */
    uint64_t cookie;
};

/* All objects outlive it, and so do the strings of the two directories. */
void own_names_init(struct own_names *names, const struct directory *directory,
                    struct address scratch_directory, struct listing *listing,
                    struct writers *writers, struct scratch *scratch);
void own_names_finish(struct own_names *names);
/* Called before the listing's first entry is read, and again after a rewind: if the listing has
 * shown anything since, the new files are recorded anew, else the recorded ones stay. 0 or -ENOMEM.
 */
int own_names_begin(struct own_names *names);
/* The listing shows this entry. */
void own_names_listed(struct own_names *names, struct bytes key);
/* Called after the listing's end. 1: ret is the first name after the cookie. 0: there is none.
 * -ENOMEM. */
int own_names_next(struct own_names *names, uint64_t cookie, struct own_name *ret);

#endif
