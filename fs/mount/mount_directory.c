/* SPDX-License-Identifier: MIT */
#include "fs/mount/mount_directory.h"
#include "fs/base/say.h"
#include "fs/cli/verb.h"
#include "fs/source/mount_source.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define QUERY_MS 5000 /* to find out whether a mount that is there already is dead */

/* shown: a path that is there, or what verb_printable returns. */
static int refuse_directory(const char *shown, const char *reason, const char *advice)
{
    say("tablefuse: cannot mount at %s: %s -- %s\n", shown, reason, advice);
    return EXIT_MOUNTING;
}

static const char *advice_of(int error)
{
    switch (error) {
    case ENOENT:
        return "create the directory first: `mkdir -p DIR`";
    case EMFILE:
    case ENFILE:
        return "allow more open files: `ulimit -n 1024`";
    case ENOMEM:
        return "free some memory and try again";
    default:
        return "`namei -l DIR` shows the way to it, and whose each directory is";
    }
}

/* Why the directory could not be found. */
static int refuse_path(const char *directory, int error)
{
    if (error == -ETIMEDOUT)
        return refuse_directory(
            verb_printable(directory), "the file system that it lies in does not answer",
            "if that is a tablefuse mount, `tablefuse unmount -z` there first, or "
            "choose another directory");
    bool is_source = strncmp(directory, LOCAL_SOURCE, strlen(LOCAL_SOURCE)) == 0;
    return refuse_directory(verb_printable_path(directory), strerror(-error),
                            error == -ENOENT && is_source ? "SOURCE stands before DIR"
                                                          : advice_of(-error));
}

/* Root may mount there, but then no program works any more. */
static bool hides_system(const struct mountpoint *place)
{
    struct statfs system;
    return strcmp(place->path, "/") == 0 ||
           (fstatfs(place->root, &system) == 0 &&
            (system.f_type == PROC_SUPER_MAGIC || system.f_type == SYSFS_MAGIC));
}

/* Refuses a directory that the kernel or fusermount3 would refuse, or whose content must not be
 * hidden by a mount. */
static int check_directory(const char *directory, const struct mountpoint *place)
{
    struct stat status;
    if (hides_system(place))
        return refuse_directory(directory, "the mount would hide the whole system",
                                "choose another directory: `mkdir -p ~/tables`");
    if (mountpoint_is_inside(place->path))
        return refuse_directory(directory, "it lies in a tablefuse mount",
                                "choose a directory outside: `mkdir -p ~/tables`");
    if (fstat(place->root, &status) < 0)
        return refuse_directory(directory, strerror(errno), advice_of(errno));
    if (!S_ISDIR(status.st_mode))
        return refuse_directory(directory, "it is not a directory", "create one: `mkdir -p DIR`");
    if (faccessat(place->above, place->name, W_OK, 0) < 0 && errno != EROFS)
        return refuse_directory(directory, strerror(errno),
                                "choose a directory of your own: `mkdir -p ~/tables`");
    if (!mountpoint_is_empty(place))
        say("tablefuse: warning: %s is not empty; the mount hides what is in it\n", directory);
    return 0;
}

/* Removes a dead tablefuse mount, and opens what was under it. Refuses to mount over a live one. */
static int remove_dead(struct mountpoint *place, const char *directory)
{
    struct mountpoint_daemon daemon;
    int r = mountpoint_query(place, QUERY_MS, &daemon);
    if (r == MOUNTPOINT_SILENT)
        return refuse_directory(directory,
                                "a tablefuse mount is there already, and its process does not "
                                "answer",
                                "`tablefuse unmount -z DIR` first, or choose another directory");
    if (r == MOUNTPOINT_LIVE)
        return refuse_directory(directory, "a tablefuse mount is there already",
                                "`tablefuse unmount DIR` first, or choose another directory");
    if (r == MOUNTPOINT_DEAD)
        r = mountpoint_unmount(place, true);
    if (r == 0)
        r = mountpoint_check(place);
    return r < 0 ? refuse_directory(directory, strerror(-r), advice_of(-r)) : 0;
}

int mount_directory_prepare(const char *directory, struct mountpoint *place)
{
    _cleanup_(freep) char *path = NULL;
    int r = mountpoint_resolve(directory, QUERY_MS, &path);
    if (r == 0)
        r = mountpoint_open(path, place);
    if (r < 0)
        return refuse_path(directory, r);
    int code = place->is_tablefuse ? remove_dead(place, directory) : 0;
    if (code == 0)
        code = check_directory(directory, place);
    mountpoint_close_root(place);
    return code;
}

void mount_directory_clean_up(struct mountpoint *place)
{
    struct mountpoint_daemon daemon;
    if (mountpoint_check(place) == 0 && place->is_tablefuse &&
        mountpoint_query(place, QUERY_MS, &daemon) == MOUNTPOINT_DEAD)
        (void)mountpoint_unmount(place, true);
}
