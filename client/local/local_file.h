#ifndef CLIENT_LOCAL_LOCAL_FILE_H
#define CLIENT_LOCAL_LOCAL_FILE_H
/* Where an account's file is, and how it is opened. Nothing here opens it: closing would drop the
 * locks that SQLite holds on it in this process. Any thread. */
#include "client/call.h"

/* Its path without links, dots and relative parts, on the heap. Created when missing, empty and
 * with mode 0600, which SQLite gives to the files beside it as well. -EISDIR; -EINVAL: no regular
 * file; -ENOENT: no folder for it; -EACCES... */
int local_file_find(const char *path, struct call *call, char **ret_real_path);

/* What to open, on the heap: a URI for SQLite. On a read-only file system, where no WAL can be made
 * and nothing changes, it says so. NULL: out of memory. */
char *local_file_uri(const char *real_path);

#endif
