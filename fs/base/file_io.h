/* SPDX-License-Identifier: MIT */
#ifndef FS_BASE_FILE_IO_H
#define FS_BASE_FILE_IO_H
/* Helpers for local files. Any thread. */
#include "client/base/bytes.h"

/* Writes the whole text, also after EINTR and partial writes. 0; -errno: a part may be written. */
int file_write_all(int file, struct bytes text);
/* Syncs the directory, so that its names survive a crash. The descriptor may have been opened with
 * O_PATH. 0 or -errno; 0, too, if the directory may not be read, or its file system cannot sync
 * one. */
int file_sync_directory(int directory);
/* Does the file begin as a database of SQLite, or as the WAL of one? An account may be in it, so it
 * is no file to write a result to. Call it before the account is opened: closing a descriptor of a
 * database releases the locks that SQLite holds on it. */
bool file_is_database(const char *path);

#endif
