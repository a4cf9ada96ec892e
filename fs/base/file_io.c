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
