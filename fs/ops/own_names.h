/* SPDX-License-Identifier: MIT */
#ifndef FS_OPS_OWN_NAMES_H
#define FS_OPS_OWN_NAMES_H
/* The names of an open directory that the service does not have: local directories, new files that
 * are not stored yet, and behind those scratch files. A directory shows them behind the names of
 * its listing, without those that the listing has shown.
 *
 * A new file may be stored while the listing runs: then the listing may have passed its place, and
 * at the end it is not new any more. So the names that are new when the listing begins are kept,
 * and which of them the listing shows. Those that it did not show are shown behind it, unless they
 * are known to be removed.
 *
 * The other names are not kept in a list. Only the last name that was returned is kept, with its
 * cookie: the next name is the first one behind it, so no name is skipped when another one is
 * removed meanwhile. For any other cookie, as after seekdir, the names are counted from the first.
 *
 * One thread at a time; no lock; never blocks. */
#include "fs/scratch/scratch.h"
#include "fs/text/writer.h"

#include <bsd/sys/tree.h>

/* The cookie before the first name. The listing's are lower. */
#define OWN_NAMES_BEGIN ((uint64_t)1 << 62)

/* How many names of new files are kept, the first ones of the directory. Of more files at once, the
 * others are shown only if they are still new behind the listing. */
#define OWN_NAMES_MAX 1000

RB_HEAD(own_files, own_file);

struct own_names { /* in its owner's memory; private */
    struct directory directory;
    struct address scratch_directory;
    struct listing *listing;    /* NULL: there are none of the account */
    struct writers *writers;    /* NULL: there are no new files */
    struct scratch *scratch;    /* NULL: there are no scratch files */
    uint64_t last;              /* the cookie behind which a name was last asked for */
    struct buffer before, next; /* of that name, and of the one returned: range.lo, or the name of a
                                 * scratch file */
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
    enum name_kind kind; /* of others: how the key becomes a name */
    struct bytes key;    /* all are views until the next call */
    uint64_t cookie;
};

/* All outlive it, and what the directories have views of. */
void own_names_init(struct own_names *names, const struct directory *directory,
                    struct address scratch_directory, struct listing *listing,
                    struct writers *writers, struct scratch *scratch);
void own_names_finish(struct own_names *names);
/* Before the first entry of the listing is asked for. Called again, the listing begins anew if it
 * has shown anything; else the names that are kept stay. 0 or -ENOMEM. */
int own_names_begin(struct own_names *names);
/* The listing shows this entry. */
void own_names_listed(struct own_names *names, struct bytes key);
/* For after the listing's end. The name behind the cookie: 1. 0: there is none. -ENOMEM. */
int own_names_next(struct own_names *names, uint64_t cookie, struct own_name *ret);

#endif
