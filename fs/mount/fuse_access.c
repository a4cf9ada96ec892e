/* SPDX-License-Identifier: MIT */
#include "fs/mount/fuse_access.h"
#include "client/base/bytes.h"
#include "fs/base/exit_codes.h"
#include "fs/base/say.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEVICE        "/dev/fuse"
#define CONFIGURATION "/etc/fuse.conf"

static const struct {
    int error;
    const char *advice;
} of_device[] = {
    {ENOENT,
     "`sudo modprobe fuse`; in a container: `docker run --device " DEVICE " --cap-add SYS_ADMIN`"},
    {ENODEV, "`sudo modprobe fuse`"},
    {EACCES, "`sudo chmod 666 " DEVICE "`, as it is on most systems; or mount as root"},
    {EPERM,
     "start the container with access to it: `docker run --device " DEVICE " --cap-add SYS_ADMIN`"},
};

static int complain_device(int error)
{
    const char *advice = "`ls -l " DEVICE "` shows what is there";
    for (size_t i = 0; i < ARRAY_SIZE(of_device); i++)
        if (of_device[i].error == error)
            advice = of_device[i].advice;
    say("tablefuse: cannot open " DEVICE ": %s -- %s\n", strerror(error), advice);
    return EXIT_MOUNTING;
}

/* Can this process mount by the system call, without fusermount3? */
static bool may_mount(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    return syscall(SYS_capget, &header, data) == 0 &&
           data[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN);
}

/* As fusermount3 reads it: a comment may end each line. */
static bool is_allowing(struct bytes line)
{
    const char *comment = memchr(line.data, '#', line.size);
    if (comment)
        line.size = (size_t)(comment - line.data);
    return bytes_equal(bytes_trim(line), BYTES_LITERAL("user_allow_other"));
}

/* fusermount3 refuses allow_other without this line. If the file cannot be read, fusermount3
 * decides. */
static bool is_allow_other_allowed(void)
{
    FILE *file = fopen(CONFIGURATION, "re");
    _cleanup_(freep) char *line = NULL;
    size_t room = 0;
    bool is_found = false;
    if (!file)
        return errno != ENOENT;
    while (!is_found && getline(&line, &room, file) > 0)
        is_found = is_allowing(bytes_of(line));
    (void)fclose(file);
    return is_found;
}

/* In the directories of PATH, and where distributions have it. */
static bool is_fusermount_there(void)
{
    _cleanup_(freep) char *places = NULL;
    const char *path = getenv("PATH");
    char *rest = NULL, file[PATH_MAX];
    if (asprintf(&places, "%s:/usr/bin:/bin", path ? path : "") < 0) {
        places = NULL;
        return true;
    }
    for (char *at = strtok_r(places, ":", &rest); at; at = strtok_r(NULL, ":", &rest)) {
        (void)snprintf(file, sizeof(file), "%s/fusermount3", at);
        if (access(file, X_OK) == 0)
            return true;
    }
    return false;
}

const char *fuse_access_advice(void)
{
    if (may_mount())
        return "`sudo dmesg | tail` may show why the kernel refuses it";
    if (!is_fusermount_there())
        return "fusermount3 is missing: `sudo apt install fuse3`";
    return "mount as root; in a container: `docker run --device " DEVICE " --cap-add SYS_ADMIN`";
}

int fuse_access_check(bool allows_others)
{
    int device = open(DEVICE, O_RDWR | O_CLOEXEC);
    if (device < 0)
        return complain_device(errno);
    (void)close(device);
    if (!allows_others || may_mount() || is_allow_other_allowed())
        return 0;
    say("tablefuse: " CONFIGURATION " does not let users give the option allow_other -- `echo "
        "user_allow_other | sudo tee -a " CONFIGURATION "`, or mount as root\n");
    return EXIT_MOUNTING;
}
