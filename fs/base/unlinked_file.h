/* SPDX-License-Identifier: MIT */
#ifndef FS_BASE_UNLINKED_FILE_H
#define FS_BASE_UNLINKED_FILE_H
/* A file without a name, for data that a command must keep until its end: it is gone when the
 * process ends. */

/* The directory for such files if there is no better one: TMPDIR, or /var/tmp. */
const char *unlinked_file_directory(void);
/* Opens such a file for reading and writing. Returns the descriptor, or -errno. */
int unlinked_file_open(const char *directory);

#endif
