/* SPDX-License-Identifier: MIT */
#include "fs/base/file_io.h"

#include <fcntl.h>
#include <unistd.h>

int file_write_all(int file, struct bytes text)
{
    while (text.size > 0) {
        ssize_t n = write(file, text.data, text.size);
        if (n >= 0)
            text = bytes_skip(text, (size_t)n);
        else if (errno != EINTR)
            return -errno;
    }
    return 0;
}

int file_sync_directory(int directory)
{
    int opened = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0)
        return errno == EACCES ? 0 : -errno;
    int r = fsync(opened) == 0 || errno == EINVAL ? 0 : -errno;
    (void)close(opened);
    return r;
}

bool file_is_database(const char *path)
{
    static const char database[16] = "SQLite format 3";
    /* without the last bit, which says in which order its checksums read bytes */
    static const unsigned char wal[3] = {0x37, 0x7f, 0x06};
    char begin[sizeof(database)] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? pread(fd, begin, sizeof(begin), 0) : -1;
    if (fd >= 0)
        (void)close(fd);
    return n == (ssize_t)sizeof(begin) &&
           (memcmp(begin, database, sizeof(database)) == 0 ||
            (memcmp(begin, wal, sizeof(wal)) == 0 && ((unsigned char)begin[3] & ~1) == 0x82));
}
