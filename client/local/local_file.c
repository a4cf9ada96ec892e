/* SPDX-License-Identifier: MIT */
#include "client/local/local_file.h"
#include "client/base/bytes.h"
#include "client/local/local_schema.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define HEADER_SIZE       72 /* up to the application id */
#define FORMAT_AT         60 /* big-endian, as the next; https://sqlite.org/fileformat2.html */
#define APPLICATION_ID_AT 68
#define SQLITE_LOCKS_AT   0x40000000 /* the same page, "Lock-Byte Page" */
#define SQLITE_LOCKS_SIZE 512

static const char advice_create[] =
    "check the name; mount -o create (without ro) and import --create make a new account there";

static int fail(struct call *call, int error)
{
    return call_fail_with(
        call, error,
        error == -EACCES || error == -EPERM
            ? "choose a FILE that this user may read and write; `namei -l FILE` shows "
              "whose the directories are"
            : NULL,
        "%s", strerrordesc_np(-error));
}

/* With -o create a missing file is expected, and one that another user has put there would be taken
 * for it. */
static int check_owner(const struct stat *status, struct call *call)
{
    bool is_own = status->st_uid == geteuid() || status->st_uid == 0;
    if (is_own && !(status->st_mode & S_IWOTH))
        return 0;
    return call_fail_with(
        call, -EPERM, "if it is the right file, leave out the option that creates one", "%s",
        is_own ? "every user may write to the file" : "the file is another user's");
}

int local_file_find(const char *path, bool may_create, struct call *call, char **ret_real_path,
                    bool *ret_is_created)
{
    struct stat status;
    /* mknod creates a file without opening it */
    bool is_created = may_create && mknod(path, S_IFREG | 0600, 0) == 0;
    if (may_create && !is_created && errno != EEXIST)
        return fail(call, -errno);
    _cleanup_(freep) char *real_path = realpath(path, NULL);
    if (!real_path || stat(real_path, &status) < 0) {
        int r = fail(call, -errno);
        if (!may_create && r == -ENOENT)
            call->failure.advice = advice_create;
        return r;
    }
    if (S_ISDIR(status.st_mode))
        return call_fail_with(call, -EISDIR, "name a file in it",
                              "a directory, where the account's file should be");
    if (!S_ISREG(status.st_mode))
        return call_fail_with(call, -EINVAL, "name another FILE", "not a regular file");
    int r = may_create ? check_owner(&status, call) : 0;
    if (r < 0)
        return r;
    *ret_real_path = TAKE_PTR(real_path);
    *ret_is_created = is_created;
    return 0;
}

static uint32_t read_number(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int read_format(int fd)
{
    unsigned char header[HEADER_SIZE];
    bool is_read = pread(fd, header, sizeof(header), 0) == sizeof(header);
    return is_read && read_number(header + APPLICATION_ID_AT) == LOCAL_SCHEMA_APPLICATION_ID
               ? (int)read_number(header + FORMAT_AT)
               : 0;
}

int local_file_peek_format(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* it may be a FIFO */
    if (fd < 0)
        return 0;
    int format = read_format(fd);
    (void)close(fd);
    return format;
}

/* While SQLite has an account open, it holds a lock on a part of these bytes of the file. */
static bool lock_exclusively(int fd)
{
    struct flock lock = {.l_type = F_WRLCK,
                         .l_whence = SEEK_SET,
                         .l_start = SQLITE_LOCKS_AT,
                         .l_len = SQLITE_LOCKS_SIZE};
    return fcntl(fd, F_SETLK, &lock) == 0;
}

static void remove_with(const char *real_path, const char *end)
{
    char path[PATH_MAX + sizeof("-wal")];
    (void)snprintf(path, sizeof(path), "%s%s", real_path, end);
    (void)unlink(path);
}

/* Another process that opens the file while it is locked notices that it was removed
 * (local_files.h). */
void local_file_remove_created(const char *real_path)
{
    int fd = open(real_path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    if (lock_exclusively(fd) && read_format(fd) == 0 && !local_file_has_wal(real_path)) {
        remove_with(real_path, "-shm");
        remove_with(real_path, "-wal");
        remove_with(real_path, "");
    }
    (void)close(fd);
}

bool local_file_has_wal(const char *real_path)
{
    char path[PATH_MAX + sizeof("-wal")];
    struct stat status;
    (void)snprintf(path, sizeof(path), "%s-wal", real_path);
    return stat(path, &status) == 0 && status.st_size > 0;
}

char *local_file_uri(const char *real_path)
{
    struct statvfs system;
    struct buffer uri;
    buffer_init(&uri, (size_t)4 * PATH_MAX);
    (void)buffer_append_string(&uri, "file://");
    for (const char *c = real_path; *c; c++)
        (void)(strchr("%?#", *c) ? buffer_append_format(&uri, "%%%02x", (unsigned char)*c)
                                 : buffer_append_char(&uri, *c));
    if (statvfs(real_path, &system) == 0 && (system.f_flag & ST_RDONLY) &&
        !local_file_has_wal(real_path))
        (void)buffer_append_string(&uri, "?immutable=1");
    if (!buffer_string(&uri))
        buffer_finish(&uri);
    return uri.data;
}
