/* SPDX-License-Identifier: MIT */
#include "fs/source/credential_file.h"
#include "fs/base/secret_file.h"

#define SYSTEMD_VARIABLE "CREDENTIALS_DIRECTORY"
#define OF_SYSTEM        "/etc/tablefuse"

/* NULL: it is not set. */
static const char *systemd_directory(void)
{
    const char *directory = getenv(SYSTEMD_VARIABLE);
    return directory && directory[0] == '/' ? directory : NULL;
}

/* Is it a file in $CREDENTIALS_DIRECTORY itself? */
static bool is_of_systemd(const char *path)
{
    const char *directory = systemd_directory();
    size_t size = directory ? strlen(directory) : 0;
    return directory && strncmp(path, directory, size) == 0 && path[size] == '/' &&
           !strchr(path + size + 1, '/');
}

int credential_file_read(const char *what, const char *path, struct call *call,
                         struct credential_lines *ret)
{
    char *text = NULL, reason[sizeof(call->failure.message)];
    int r = secret_file_read(what, path,
                             is_of_systemd(path) ? SECRET_FILE_OF_SYSTEMD : SECRET_FILE_PRIVATE,
                             call, &text);
    if (r < 0)
        return r;
    r = credential_lines_parse(text, call, ret);
    if (r < 0) {
        memcpy(reason, call->failure.message, sizeof(reason));
        (void)call_fail_with(call, r, call->failure.advice, "%s: %.200s", what, reason);
    }
    return r;
}

/* 0: *ret_path is NULL if the file is missing, cannot be read (the reason is in call->failure), or
 * has no credential. */
static int read_in(const char *directory, const char *account, struct call *call, char **ret_path,
                   struct credential_lines *ret)
{
    const struct failure before = call->failure;
    _cleanup_(freep) char *path = NULL;
    if (asprintf(&path, "%s/%s", directory, account) < 0) {
        path = NULL;
        return call_fail(call, -ENOMEM, "out of memory");
    }
    int r = credential_file_read(path, path, call, ret);
    if (r == 0 && credential_lines_has_credential(ret))
        *ret_path = TAKE_PTR(path);
    else
        credential_lines_finish(ret);
    if (r == -ENOENT)
        call->failure = before;
    return r == -EINVAL || r == -ENOMEM ? r : 0;
}

int credential_file_find(const char *account, struct call *call, char **ret_path,
                         struct credential_lines *ret)
{
    const char *const directories[] = {systemd_directory(), OF_SYSTEM};
    int r = 0;
    for (size_t i = 0; r == 0 && !*ret_path && i < ARRAY_SIZE(directories); i++)
        if (directories[i])
            r = read_in(directories[i], account, call, ret_path, ret);
    return r;
}
