/* SPDX-License-Identifier: MIT */
#include "fs/tree/attributes.h"
#include "client/base/clock.h"

/* Rounds down, also before 1970, so that tv_nsec is not negative. */
static struct timespec time_of(int64_t at_100ns)
{
    int64_t sec = at_100ns / TICKS_PER_SEC, ticks = at_100ns % TICKS_PER_SEC;
    if (ticks < 0) {
        ticks += TICKS_PER_SEC;
        sec--;
    }
    return (struct timespec){.tv_sec = sec, .tv_nsec = ticks * 100};
}

static void fill(const struct attributes *attributes, uint64_t number, mode_t mode,
                 int64_t at_100ns, struct stat *ret)
{
    *ret = (struct stat){.st_ino = number,
                         .st_mode = mode & ~attributes->umask,
                         .st_nlink = 1,
                         .st_uid = attributes->uid,
                         .st_gid = attributes->gid,
                         .st_blksize = 4096};
    ret->st_atim = ret->st_mtim = ret->st_ctim = time_of(at_100ns);
}

void attributes_of_file(const struct attributes *attributes, uint64_t number, uint64_t size,
                        int64_t timestamp_100ns, struct stat *ret)
{
    fill(attributes, number, S_IFREG | 0666, timestamp_100ns, ret);
    ret->st_size = (off_t)size;
    /* With 0 blocks, tar would take the file for a sparse file without data. */
    ret->st_blocks = (blkcnt_t)((size + 511) / 512);
}

void attributes_of_directory(const struct attributes *attributes, uint64_t number, struct stat *ret)
{
    fill(attributes, number, S_IFDIR | 0777, attributes->mounted_at_100ns, ret);
}
