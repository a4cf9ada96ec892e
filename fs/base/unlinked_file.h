/* SPDX-License-Identifier: MIT */
#ifndef FS_BASE_UNLINKED_FILE_H
#define FS_BASE_UNLINKED_FILE_H
/* A file without a name for what waits: it is gone when the process ends. */

/* Where such files belong that have no better place: TMPDIR, or /var/tmp. */
const char *unlinked_file_directory(void);
/* Opens one in the directory for reading and writing. The descriptor, or -errno. */
int unlinked_file_open(const char *directory);

#endif
