/* SPDX-License-Identifier: MIT */
#include "fs/base/unlinked_file.h"
#include "client/base/base.h"

#include <fcntl.h>
#include <unistd.h>

const char *unlinked_file_directory(void)
{
    const char *other = getenv("TMPDIR");
    return other && other[0] ? other : "/var/tmp";
}

/* A name that is in the directory for a moment, where the file system has no files without one. */
static int open_and_unlink(const char *directory)
{
    _cleanup_(freep) char *name = NULL;
    if (asprintf(&name, "%s/tablefuse-XXXXXX", directory) < 0) {
        name = NULL;
        return -ENOMEM;
    }
    int fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    (void)unlink(name);
    return fd;
}

int unlinked_file_open(const char *directory)
{
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return fd >= 0 ? fd : open_and_unlink(directory);
}
