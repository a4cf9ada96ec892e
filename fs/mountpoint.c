#include "fs/mountpoint.h"
#include "client/bytes.h"

#include <fcntl.h>
#include <mntent.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

int mountpoint_resolve(const char *given, char **ret)
{
    _cleanup_(freep) char *directory = strdup(given);
    if (!directory)
        return -ENOMEM;
    for (size_t n = strlen(directory); n > 1 && directory[n - 1] == '/'; n--)
        directory[n - 1] = '\0'; /* with a slash at the end, a dead mount's path fails */
    char *path = realpath(directory, NULL);
    /* The last part is a dead mount. Its parent directory can still be resolved. */
    if (!path && errno == ENOTCONN) {
        const char *slash = strrchr(directory, '/');
        const char *name = slash ? slash + 1 : directory;
        _cleanup_(freep) char *above =
            slash ? strndup(directory, (size_t)MAX(slash - directory, 1)) : strdup(".");
        _cleanup_(freep) char *parent = above ? realpath(above, NULL) : NULL;
        if (!parent)
            return -errno;
        if (asprintf(&path, "%s/%s", strcmp(parent, "/") == 0 ? "" : parent, name) < 0)
            return -ENOMEM;
    }
    if (!path)
        return -errno;
    *ret = path;
    return 0;
}

bool mountpoint_is_tablefuse(const char *path)
{
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    struct mntent entry;
    char text[8192];
    bool is_ours = false;
    while (mounts && getmntent_r(mounts, &entry, text, sizeof(text)))
        if (strcmp(entry.mnt_dir, path) == 0)
            is_ours = strcmp(entry.mnt_type, "fuse.tablefuse") == 0; /* the last one is topmost */
    if (mounts)
        (void)endmntent(mounts);
    return is_ours;
}

bool mountpoint_is_dead(const char *path)
{
    struct statfs statistics; /* the kernel does not cache these, as it does attributes */
    return statfs(path, &statistics) < 0 && errno == ENOTCONN;
}

static int run_fusermount(const char *path, bool is_lazy)
{
    pid_t child = fork();
    if (child < 0)
        return -errno;
    if (child == 0) {
        (void)execlp("fusermount3", "fusermount3", is_lazy ? "-uz" : "-u", "--", path, NULL);
        (void)fprintf(stderr,
                      "tablefuse: cannot run fusermount3: %s -- install the package fuse3\n",
                      strerror(errno));
        _exit(127);
    }
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

int mountpoint_unmount(const char *path, bool is_lazy)
{
    if (geteuid() != 0)
        return run_fusermount(path, is_lazy);
    return umount2(path, (is_lazy ? MNT_DETACH : 0) | UMOUNT_NOFOLLOW) < 0 ? -errno : 0;
}

pid_t mountpoint_daemon(const char *path)
{
    _cleanup_(freep) char *file = NULL;
    char text[256];
    if (asprintf(&file, "%s/.tablefuse/version", path) < 0)
        return 0;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
    if (fd >= 0)
        (void)close(fd);
    struct bytes rest = {text, (size_t)MAX(n, 0)};
    const char *pid = bytes_find(rest, BYTES_LITERAL("\npid "));
    if (!pid)
        return 0;
    rest = bytes_skip(rest, (size_t)(pid - text) + strlen("\npid "));
    const char *end = bytes_find(rest, BYTES_LITERAL("\n"));
    uint64_t value;
    if (!end ||
        !bytes_parse_unsigned(bytes_first(rest, (size_t)(end - rest.data)), INT32_MAX, &value))
        return 0;
    return (pid_t)value;
}
