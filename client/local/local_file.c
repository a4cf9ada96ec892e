#include "client/local/local_file.h"
#include "client/bytes.h"

#include <limits.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

static int fail(struct call *call, int error)
{
    return call_fail(call, error, "%s", strerrordesc_np(-error));
}

int local_file_find(const char *path, struct call *call, char **ret_real_path)
{
    struct stat status;
    /* mknod creates a file without opening it */
    if (mknod(path, S_IFREG | 0600, 0) < 0 && errno != EEXIST)
        return fail(call, -errno);
    _cleanup_(freep) char *real_path = realpath(path, NULL);
    if (!real_path || stat(real_path, &status) < 0)
        return fail(call, -errno);
    if (S_ISDIR(status.st_mode))
        return call_fail(call, -EISDIR, "a directory, where the account's file should be");
    if (!S_ISREG(status.st_mode))
        return call_fail(call, -EINVAL, "not a regular file");
    *ret_real_path = TAKE_PTR(real_path);
    return 0;
}

static bool has_wal(const char *real_path)
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
    if (statvfs(real_path, &system) == 0 && (system.f_flag & ST_RDONLY) && !has_wal(real_path))
        (void)buffer_append_string(&uri, "?immutable=1");
    if (!buffer_string(&uri))
        buffer_finish(&uri);
    return uri.data;
}
