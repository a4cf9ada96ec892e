/* SPDX-License-Identifier: MIT */
#include "client/local/local_files.h"

#include <stdatomic.h>
#include <sys/stat.h>

enum file {
    ACCOUNT,
    WAL,
    SHM,
    FILES,
};

static const char *const endings[FILES] = {"", "-wal", "-shm"};

struct local_files {
    char *paths[FILES]; /* NULL: it was not there; a read-only file system needs no -wal */
    dev_t devices[FILES];
    ino_t inodes[FILES];
    _Atomic off_t shm_size; /* the most that was seen: it only grows while it is in use */
};

static int note_file(struct local_files *files, enum file file, const char *real_path)
{
    _cleanup_(freep) char *path = NULL;
    struct stat status;
    if (asprintf(&path, "%s%s", real_path, endings[file]) < 0) {
        path = NULL; /* undefined until now */
        return -ENOMEM;
    }
    if (stat(path, &status) < 0)
        return errno == ENOENT && file != ACCOUNT ? 0 : -errno;
    files->devices[file] = status.st_dev;
    files->inodes[file] = status.st_ino;
    files->paths[file] = TAKE_PTR(path);
    return 0;
}

int local_files_create(const char *real_path, struct call *call, struct local_files **ret)
{
    _cleanup_(local_files_destroyp) struct local_files *files = calloc(1, sizeof(*files));
    int r = files ? 0 : -ENOMEM;
    for (int file = 0; file < FILES && r == 0; file++)
        r = note_file(files, (enum file)file, real_path);
    if (r < 0)
        return call_fail(call, r, "the account's file: %s", strerrordesc_np(-r));
    *ret = TAKE_PTR(files);
    return 0;
}

void local_files_destroy(struct local_files *files)
{
    if (!files)
        return;
    for (int file = 0; file < FILES; file++)
        free(files->paths[file]);
    free(files);
}

static int fail(struct call *call, enum file file, const char *what)
{
    (void)call_fail(call, -EIO, "the account's file%s%s was %s",
                    file == ACCOUNT ? "" : " with ending ", endings[file], what);
    call->failure.advice = file == ACCOUNT
                               ? "unmount, put the right file in its place, and mount again"
                               : "it belongs to the account's file while that is in use: unmount, "
                                 "and mount again";
    return -EIO;
}

/* False: it has become shorter. */
static bool has_grown(struct local_files *files, off_t size)
{
    off_t seen = atomic_load(&files->shm_size);
    while (size > seen && !atomic_compare_exchange_weak(&files->shm_size, &seen, size))
        continue;
    return size >= seen;
}

int local_files_check(struct local_files *files, struct call *call)
{
    for (int file = 0; file < FILES; file++) {
        struct stat status;
        if (!files->paths[file])
            continue;
        if (stat(files->paths[file], &status) < 0 || status.st_dev != files->devices[file] ||
            status.st_ino != files->inodes[file])
            return fail(call, (enum file)file, "replaced, moved or deleted");
        if (file == SHM && !has_grown(files, status.st_size))
            return fail(call, SHM, "cut short");
    }
    return 0;
}
