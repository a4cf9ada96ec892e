/* SPDX-License-Identifier: MIT */
#include "fs/mount/mountpoint.h"
#include "client/base/bytes.h"
#include "fs/base/bounded.h"
#include "fs/base/process_id.h"
#include "fs/base/say.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

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
    int r = bounded_call(answer_path, given, limit_ms, &answer, sizeof(answer));
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
    dev_t device;
    bool is_tablefuse, is_read_only;
};

/* /proc escapes blanks, line ends and backslashes as \040. */
static void unescape(char *text)
{
    char *end = text;
    for (const char *c = text; *c; end++) {
        bool is_escaped = c[0] == '\\' && c[1] && c[2] && c[3];
        if (is_escaped)
            *end = (char)((c[1] & 3) << 6 | (c[2] & 7) << 3 | (c[3] & 7));
        else
            *end = *c;
        c += is_escaped ? 4 : 1;
    }
    *end = '\0';
}

/* A line of /proc/self/mountinfo (its format: proc_pid_mountinfo(5)), which is changed. The mount
 * point, or NULL. */
static const char *parse_line(char *line, struct mount_of_path *ret)
{
    static const char kind[] = "fuse.tablefuse ";
    unsigned major, minor;
    int at = 0;
    if (sscanf(line, "%*u %*u %u:%u %*s %n", &major, &minor, &at) != 2 || at == 0)
        return NULL;
    char *directory = line + at;
    const char *type = strstr(directory, " - ");
    if (!type)
        return NULL;
    ret->is_tablefuse = strncmp(type + 3, kind, strlen(kind)) == 0;
    ret->device = makedev(major, minor);
    char *options = directory + strcspn(directory, " ");
    ret->is_read_only = strncmp(options, " ro", 3) == 0;
    *options = '\0';
    unescape(directory);
    ret->size = strlen(directory);
    return directory;
}

/* Without `with_point`, a mount whose mount point the path itself is does not count. */
static struct mount_of_path find_mount(const char *path, bool with_point)
{
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    _cleanup_(freep) char *line = NULL;
    size_t room = 0;
    struct mount_of_path found = {0}, one;
    while (mounts && getline(&line, &room, mounts) > 0) {
        const char *directory = parse_line(line, &one);
        if (!directory || one.size < found.size || strncmp(path, directory, one.size) != 0)
            continue;
        bool is_root = strcmp(directory, "/") == 0;
        if (is_root || path[one.size] == '/' || (path[one.size] == '\0' && with_point))
            found = one;
    }
    if (mounts)
        (void)fclose(mounts);
    return found;
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

static void close_one(int *descriptor)
{
    if (*descriptor >= 0)
        (void)close(*descriptor);
    *descriptor = -1;
}

/* An empty mask: the kernel then returns the device without the daemon, also for a mount whose
 * owner allows no one else. */
static int device_of(int descriptor, dev_t *ret)
{
    struct statx status;
    if (statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &status) < 0)
        return -errno;
    *ret = makedev(status.stx_dev_major, status.stx_dev_minor);
    return 0;
}

static int open_name(const struct mountpoint *place, dev_t *ret_device)
{
    int root = openat(place->above, place->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    int r = root < 0 ? -errno : device_of(root, ret_device);
    if (r < 0)
        close_one(&root);
    return r < 0 ? r : root;
}

int mountpoint_check(struct mountpoint *place)
{
    close_one(&place->root);
    int root = open_name(place, &place->device);
    if (root < 0)
        return root;
    struct mount_of_path found = find_mount(place->path, true);
    place->root = root;
    place->is_tablefuse =
        found.is_tablefuse && found.size == strlen(place->path) && found.device == place->device;
    place->is_read_only = found.is_read_only;
    return 0;
}

/* The path has no symbolic link: one that is there now was put there since. */
static int open_above(const char *path, size_t size)
{
    const struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                                 .resolve = RESOLVE_NO_SYMLINKS};
    _cleanup_(freep) char *above = strndup(path, MAX(size, 1));
    if (!above)
        return -ENOMEM;
    int directory = (int)syscall(SYS_openat2, AT_FDCWD, above, &how, sizeof(how));
    return directory < 0 ? -errno : directory;
}

int mountpoint_open(const char *path, struct mountpoint *ret)
{
    const char *slash = strrchr(path, '/');
    *ret = (struct mountpoint){.path = strdup(path), .root = -1};
    ret->above = ret->path ? open_above(path, (size_t)(slash - path)) : -ENOMEM;
    int r = MIN(ret->above, 0);
    if (r == 0) {
        ret->name = strcmp(path, "/") == 0 ? "." : ret->path + (slash - path) + 1;
        r = mountpoint_check(ret);
    }
    if (r < 0)
        mountpoint_finish(ret);
    return r;
}

void mountpoint_close_root(struct mountpoint *place)
{
    close_one(&place->root);
}

void mountpoint_close(struct mountpoint *place)
{
    close_one(&place->root);
    close_one(&place->above);
}

void mountpoint_finish(struct mountpoint *place)
{
    mountpoint_close(place);
    free(place->path);
    *place = MOUNTPOINT_NONE;
}

bool mountpoint_is_empty(const struct mountpoint *place)
{
    int opened = openat(place->root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = opened < 0 ? NULL : fdopendir(opened);
    bool is_empty = true;
    for (struct dirent *entry; directory && is_empty && (entry = readdir(directory));)
        is_empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (directory)
        (void)closedir(directory);
    else
        close_one(&opened);
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

/* The word in the line `name`, which begins with a line end. "": there is none, or no room. */
static void find_word(struct bytes text, const char *name, char *ret, size_t size)
{
    const char *found = bytes_find(text, bytes_of(name));
    ret[0] = '\0';
    if (!found)
        return;
    struct bytes rest = bytes_skip(text, (size_t)(found - text.data) + strlen(name));
    const char *end = bytes_find(rest, BYTES_LITERAL("\n"));
    if (end && (size_t)(end - rest.data) < size)
        (void)snprintf(ret, size, "%.*s", (int)(end - rest.data), rest.data);
}

/* What .tablefuse/version says of the daemon. */
static void read_daemon(int root, struct mountpoint_daemon *ret)
{
    char text[512];
    int fd = openat(root, ".tablefuse/version", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
    close_one(&fd);
    struct bytes version = {text, (size_t)MAX(n, 0)};
    uint64_t pid, space;
    if (!find_number(version, "\npid ", INT32_MAX, &pid))
        return;
    ret->process = (pid_t)pid;
    find_word(version, "\nexit_socket ", ret->exit_socket, sizeof(ret->exit_socket));
    /* an older daemon has no such line */
    if (find_number(version, "\npid_namespace ", UINT64_MAX, &space) &&
        (space == 0 || space != process_namespace()))
        ret->process = MOUNTPOINT_DAEMON_ELSEWHERE;
}

struct answer {
    enum mountpoint_state state;
    struct mountpoint_daemon daemon;
};

/* The kernel does not cache what fstatfs answers, as it does attributes. ECONNABORTED: the daemon
 * has ended meanwhile. */
static size_t answer_state(const void *context, void *ret)
{
    const struct mountpoint *place = context;
    struct answer *answer = ret;
    struct statfs statistics;
    *answer = (struct answer){.state = MOUNTPOINT_LIVE};
    if (fstatfs(place->root, &statistics) < 0 && (errno == ENOTCONN || errno == ECONNABORTED))
        answer->state = MOUNTPOINT_DEAD;
    else
        read_daemon(place->root, &answer->daemon);
    return sizeof(*answer);
}

int mountpoint_query(const struct mountpoint *place, int64_t limit_ms,
                     struct mountpoint_daemon *ret)
{
    struct answer answer = {.state = MOUNTPOINT_SILENT};
    int r = bounded_call(answer_state, place, limit_ms, &answer, sizeof(answer));
    *ret = r == 0 ? answer.daemon : (struct mountpoint_daemon){0};
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
        say("tablefuse: cannot run fusermount3: %s -- install the package fuse3\n", strerror(r));
        return -EIO;
    }
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EIO;
}

/* The system call takes no descriptor. */
static int unmount_name(const struct mountpoint *place, bool is_lazy)
{
    int flags = (is_lazy ? MNT_DETACH : 0) | UMOUNT_NOFOLLOW;
    int before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int r =
        before >= 0 && fchdir(place->above) == 0 && umount2(place->name, flags) == 0 ? 0 : -errno;
    if (before >= 0 && fchdir(before) < 0 && chdir("/") < 0)
        r = -errno;
    close_one(&before);
    return r;
}

/* Unmounts what is open, whatever its name is now. Not without /proc, and for root alone. */
static int detach_root(const struct mountpoint *place)
{
    char link[32];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", place->root);
    return umount2(link, MNT_DETACH) < 0 ? -errno : 0;
}

int mountpoint_unmount(struct mountpoint *place, bool is_lazy)
{
    dev_t device = 0;
    if (is_lazy && detach_root(place) == 0)
        return 0;
    int root = open_name(place, &device);
    close_one(&place->root); /* the mount would be busy */
    if (root < 0)
        return root;
    close_one(&root);
    if (device != place->device)
        return -ESTALE;
    return geteuid() == 0 ? unmount_name(place, is_lazy) : run_fusermount(place->path, is_lazy);
}

ino_t mountpoint_identify(dev_t device)
{
    char path[64];
    struct stat entry;
    (void)snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u", major(device), minor(device));
    return lstat(path, &entry) < 0 ? 0 : entry.st_ino;
}
