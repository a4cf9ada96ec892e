#include "fs/mountpoint.h"
#include "client/bytes.h"
#include "fs/bounded.h"
#include "fs/process_id.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

/* A line of /proc/self/mounts up to its options, which are not used and may be cut. A blank or a
 * backslash of the source and of the directory takes four bytes there. */
#define LINE_BYTES (2 * 4 * PATH_MAX + 256)

static int resolve(const char *given, char **ret)
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

struct resolved {
    int error; /* negative; 0: the path follows */
    char path[PATH_MAX];
};

static size_t answer_path(const void *given, void *ret)
{
    struct resolved *answer = ret;
    _cleanup_(freep) char *path = NULL;
    answer->error = resolve(given, &path);
    size_t size = path ? strlen(path) + 1 : 0;
    if (size > sizeof(answer->path)) {
        answer->error = -ENAMETOOLONG;
        size = 0;
    }
    memcpy(answer->path, path ? path : "", size);
    return offsetof(struct resolved, path) + size;
}

int mountpoint_resolve(const char *given, int64_t limit_ms, char **ret)
{
    struct resolved answer = {0};
    int r = bounded_ask(answer_path, given, limit_ms, &answer, sizeof(answer));
    if (r == 0)
        r = answer.error;
    if (r < 0)
        return r;
    *ret = strdup(answer.path);
    return *ret ? 0 : -ENOMEM;
}

/* Of what the path is a part, or whose mount point it is: the mount with the longest mount point,
 * and of several at one place the last, which is topmost. */
struct mount_of_path {
    size_t size; /* of its mount point; 0: none was found */
    bool is_tablefuse;
};

/* Without `with_point`, a mount whose mount point the path itself is does not count. */
static struct mount_of_path find_mount(const char *path, bool with_point)
{
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    struct mntent entry;
    char text[LINE_BYTES];
    struct mount_of_path found = {0};
    while (mounts && getmntent_r(mounts, &entry, text, sizeof(text))) {
        size_t size = strlen(entry.mnt_dir);
        bool is_root = strcmp(entry.mnt_dir, "/") == 0;
        if (size < found.size || strncmp(path, entry.mnt_dir, size) != 0)
            continue;
        if (is_root || path[size] == '/' || (path[size] == '\0' && with_point))
            found = (struct mount_of_path){size, strcmp(entry.mnt_type, "fuse.tablefuse") == 0};
    }
    if (mounts)
        (void)endmntent(mounts);
    return found;
}

bool mountpoint_is_tablefuse(const char *path)
{
    struct mount_of_path found = find_mount(path, true);
    return found.is_tablefuse && found.size == strlen(path);
}

bool mountpoint_is_inside(const char *path)
{
    return find_mount(path, false).is_tablefuse;
}

size_t mountpoint_size(const char *path)
{
    struct mount_of_path found = find_mount(path, true);
    return found.is_tablefuse ? found.size : 0;
}

bool mountpoint_is_empty(const char *path)
{
    DIR *directory = opendir(path);
    bool is_empty = true;
    for (struct dirent *entry; directory && is_empty && (entry = readdir(directory));)
        is_empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (directory)
        (void)closedir(directory);
    return is_empty;
}

/* The number in the line `name`, which begins with a line end. False: there is none. */
static bool find_number(struct bytes text, const char *name, uint64_t max, uint64_t *ret)
{
    const char *found = bytes_find(text, bytes_of(name));
    if (!found)
        return false;
    struct bytes rest = bytes_skip(text, (size_t)(found - text.data) + strlen(name));
    const char *end = bytes_find(rest, BYTES_LITERAL("\n"));
    return end && bytes_parse_unsigned(bytes_first(rest, (size_t)(end - rest.data)), max, ret);
}

/* The process id of the daemon, read from .tablefuse/version; as of mountpoint_ask. */
static pid_t read_daemon(const char *path)
{
    _cleanup_(freep) char *file = NULL;
    char text[256];
    if (asprintf(&file, "%s/.tablefuse/version", path) < 0)
        return 0;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
    if (fd >= 0)
        (void)close(fd);
    struct bytes version = {text, (size_t)MAX(n, 0)};
    uint64_t pid, space;
    if (!find_number(version, "\npid ", INT32_MAX, &pid))
        return 0;
    /* an older daemon tells no namespace */
    if (find_number(version, "\npid_namespace ", UINT64_MAX, &space) &&
        (space == 0 || space != process_namespace()))
        return MOUNTPOINT_DAEMON_ELSEWHERE;
    return (pid_t)pid;
}

static bool is_dead(const char *path)
{
    struct statfs statistics; /* the kernel does not cache these, as it does attributes */
    return statfs(path, &statistics) < 0 && errno == ENOTCONN;
}

struct answer {
    enum mountpoint_state state;
    pid_t daemon;
};

static size_t answer_state(const void *path, void *ret)
{
    struct answer *answer = ret;
    *answer = (struct answer){.state = is_dead(path) ? MOUNTPOINT_DEAD : MOUNTPOINT_LIVE};
    if (answer->state == MOUNTPOINT_LIVE)
        answer->daemon = read_daemon(path);
    return sizeof(*answer);
}

int mountpoint_ask(const char *path, int64_t limit_ms, pid_t *ret_daemon)
{
    struct answer answer = {.state = MOUNTPOINT_SILENT};
    int r = bounded_ask(answer_state, path, limit_ms, &answer, sizeof(answer));
    *ret_daemon = r == 0 ? answer.daemon : 0;
    if (r == 0 || r == -ETIMEDOUT)
        return (int)answer.state;
    return r;
}

/* Also for a process with several threads. */
static int run_fusermount(const char *path, bool is_lazy)
{
    const char *const argv[] = {"fusermount3", is_lazy ? "-uz" : "-u", "--", path, NULL};
    pid_t child;
    int r = posix_spawnp(&child, argv[0], NULL, NULL, (char *const *)argv, environ);
    if (r != 0) {
        (void)fprintf(stderr,
                      "tablefuse: cannot run fusermount3: %s -- install the package fuse3\n",
                      strerror(r));
        return -EIO;
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

int mountpoint_open(const char *path, dev_t *ret_device)
{
    struct statx status;
    int root = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (root < 0)
        return -errno;
    if (statx(root, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &status) < 0) {
        int error = -errno;
        (void)close(root);
        return error;
    }
    *ret_device = makedev(status.stx_dev_major, status.stx_dev_minor);
    return root;
}

int mountpoint_detach(int root, const char *path)
{
    char link[32];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", root);
    return umount2(link, MNT_DETACH) == 0 ? 0 : mountpoint_unmount(path, true);
}

bool mountpoint_exists(dev_t device)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u", major(device), minor(device));
    return access(path, F_OK) == 0;
}
