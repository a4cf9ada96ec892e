/* SPDX-License-Identifier: MIT */
#include "fs/base/local_path.h"
#include "client/base/base.h"
#include "fs/base/bounded.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISDIR(status.st_mode);
}

/* Cuts "FILE/TABLE" into its parts if FILE is a file: then the whole is no path. -ENOTDIR: it has
 * more parts than these. */
static int cut_table(char *path, const char **ret_table)
{
    struct stat status;
    *ret_table = "";
    if (stat(path, &status) == 0 || errno != ENOTDIR)
        return 0;
    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = '\0';
    if (is_file(path))
        return 0;
    char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return -ENOTDIR;
    *ret_table = slash + 1;
    while (slash > path && slash[-1] == '/')
        slash--;
    *slash = '\0';
    return is_file(path) ? 0 : -ENOTDIR;
}

/* The absolute path of a file in a directory that exists. */
static int resolve(const char *file, char **ret)
{
    char *path = realpath(file, NULL);
    if (path || errno != ENOENT) {
        *ret = path;
        return path ? 0 : -errno;
    }
    const char *slash = strrchr(file, '/');
    _cleanup_(freep) char *above =
        slash ? strndup(file, (size_t)MAX(slash - file, 1)) : strdup(".");
    _cleanup_(freep) char *directory = above ? realpath(above, NULL) : NULL;
    if (!directory)
        return above ? -errno : -ENOMEM;
    if (asprintf(&path, "%s/%s", strcmp(directory, "/") == 0 ? "" : directory,
                 slash ? slash + 1 : file) < 0)
        return -ENOMEM;
    *ret = path;
    return 0;
}

int local_path_resolve(const char *given, char **ret_path, char **ret_table)
{
    const char *found = "";
    if (given[0] == '\0')
        return -ENOENT;
    _cleanup_(freep) char *text = strdup(given);
    int r = text ? cut_table(text, &found) : -ENOMEM;
    if (r < 0)
        return r;
    _cleanup_(freep) char *table = strdup(found);
    r = table ? resolve(text, ret_path) : -ENOMEM;
    if (r == 0)
        *ret_table = TAKE_PTR(table);
    return r;
}

int local_path_resolve_new(const char *given, char **ret_path, char **ret_table)
{
    int r = local_path_resolve(given, ret_path, ret_table);
    const char *slash = strrchr(given, '/');
    if (r != -ENOENT || !slash || slash == given || !slash[1])
        return r;
    _cleanup_(freep) char *file = strndup(given, (size_t)(slash - given));
    _cleanup_(freep) char *table = strdup(slash + 1);
    if (!file || !table)
        return -ENOMEM;
    r = resolve(file, ret_path);
    if (r == 0)
        *ret_table = TAKE_PTR(table);
    return r;
}

/* A stopped file system may answer about a file from the kernel's memory. It opens none. */
static size_t answer_at_all(const void *given, void *ret)
{
    _cleanup_(freep) char *path = NULL;
    _cleanup_(freep) char *table = NULL;
    struct stat status;
    if (local_path_resolve(given, &path, &table) == 0 && path && stat(path, &status) == 0 &&
        S_ISREG(status.st_mode)) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0)
            (void)close(fd);
    }
    *(char *)ret = 1;
    return 1;
}

bool local_path_answers(const char *given, int64_t limit_ms)
{
    char answer;
    return bounded_call(answer_at_all, given, limit_ms, &answer, sizeof(answer)) != -ETIMEDOUT;
}
