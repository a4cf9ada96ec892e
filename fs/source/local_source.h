/* SPDX-License-Identifier: MIT */
#ifndef FS_SOURCE_LOCAL_SOURCE_H
#define FS_SOURCE_LOCAL_SOURCE_H
/* An account in a file as a source. One thread. Where "an exit code" is returned, it is 0; or a
 * code of fs/base/exit_codes.h, and then one line was written to standard error. */
#include "client/store/call.h"

#define LOCAL_SOURCE "local:" /* an account in one file */

/* How long the file system of that file may take to answer the first time. */
#define LOCAL_SOURCE_MS 5000
#define LOCAL_SOURCE_HANGS                                                                         \
    "the file system that it lies in does not answer -- if that is a tablefuse mount, "            \
    "`tablefuse unmount -z` there first"

struct table_store;

struct local_source { /* embedded, zeroed */
    char *path;       /* of the file, absolute; NULL: it is not an account in a file */
    bool has_checksums, is_read_only;
};
void local_source_finish(struct local_source *source);

bool local_source_is_named(const char *name); /* is it local:FILE? NULL is not */

/* Called first, before the process forks. If SOURCE is a file in an older format, writes that to
 * standard error and upgrades the file, which may take minutes. With `ro`, or if the file is
 * damaged or there is no room, it writes that the file stays as it is, and sets *ret_is_as_is,
 * which the caller passes to local_source_open. A file in a file system that does not answer is
 * refused. Otherwise it does nothing; local_source_open reports what is wrong with the file. An
 * exit code. */
int local_source_prepare(const char *name, bool is_read_only, bool *ret_is_as_is);
/* Sets the path, and finds the table that follows it in local:FILE/TABLE; "": none follows.
 * is_new: FILE need not exist. The caller frees ret_table. An exit code. */
int local_source_resolve(struct local_source *source, const char *name, bool is_new,
                         char **ret_table);
struct local_source_use {
    const char *name; /* for messages */
    bool may_create;  /* a missing file is created */
    bool is_as_is;    /* the file is opened without changing it */
};
/* After local_source_resolve: the store, which the caller destroys. An exit code. */
int local_source_open(struct local_source *source, const struct local_source_use *use,
                      struct call *call, struct table_store **ret);

#endif
