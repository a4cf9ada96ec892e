/* SPDX-License-Identifier: MIT */
#include "fs/base/secret_file.h"
#include "client/base/bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail_reading(struct call *call, const char *what, int error)
{
    return call_fail_with(call, error,
                          "`ls -lL FILE` shows whether it is there, and who may read it",
                          "%s cannot be read: %s", what, strerrordesc_np(-error));
}

static const char advice_content[] = "write the secret into it, and nothing else";

/* Up to size bytes. How many, or -errno. */
static ssize_t read_all(int file, char *text, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = read(file, text + done, size - done);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 0)
            break;
        done += (size_t)MAX(n, 0);
    }
    return (ssize_t)done;
}

/* Is it blanks, line ends and perhaps a byte order mark: what users do not see? */
static bool is_blank(struct bytes text)
{
    struct bytes rest = bytes_trim(text);
    return rest.size == 0 || bytes_equal(rest, BYTES_LITERAL("\xEF\xBB\xBF"));
}

static const char advice_whose[] =
    "let the user who mounts own it, or root, and nobody else read it: `chmod 600 FILE`";

/* Why the file must not be used; NULL: it may be. */
static const char *find_fault(const struct stat *status, enum secret_file_rule rule)
{
    mode_t others = status->st_mode & (S_IRWXG | S_IRWXO);
    if (!S_ISREG(status->st_mode))
        return "is no regular file";
    if (rule == SECRET_FILE_ANY)
        return NULL;
    if (status->st_uid != 0 && status->st_uid != geteuid())
        return "belongs to another user";
    if (rule == SECRET_FILE_OF_SYSTEMD && status->st_uid == 0)
        others &= S_IRWXO;
    return others ? "is not for its owner alone" : NULL;
}

/* text has room for one byte more than a secret may have, and a NUL. */
static int read_text(int file, const char *what, enum secret_file_rule rule, char *text,
                     struct call *call)
{
    struct stat status;
    if (fstat(file, &status) < 0)
        return fail_reading(call, what, -errno);
    const char *fault = find_fault(&status, rule);
    if (fault)
        return call_fail_with(call, -EINVAL, advice_whose, "%s %s", what, fault);
    ssize_t n = read_all(file, text, SECRET_FILE_MAX_BYTES + 1);
    if (n < 0)
        return fail_reading(call, what, (int)n);
    size_t size = (size_t)n;
    if (size > SECRET_FILE_MAX_BYTES)
        return call_fail_with(call, -EINVAL, advice_content, "%s is larger than 64 KiB", what);
    if (size > 0 && text[size - 1] == '\n')
        size--;
    if (size > 0 && text[size - 1] == '\r')
        size--;
    text[size] = '\0';
    if (is_blank((struct bytes){text, size}))
        return call_fail_with(call, -EINVAL, advice_content, "%s is empty", what);
    return strlen(text) == size ? 0
                                : call_fail_with(call, -EINVAL, advice_content,
                                                 "%s has a NUL byte: it is no text", what);
}

int secret_file_read(const char *what, const char *path, enum secret_file_rule rule,
                     struct call *call, char **ret)
{
    char *text = malloc(SECRET_FILE_MAX_BYTES + 2);
    if (!text)
        return call_fail(call, -ENOMEM, "out of memory");
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* it may be a FIFO */
    int r = file < 0 ? fail_reading(call, what, -errno) : read_text(file, what, rule, text, call);
    if (file >= 0)
        (void)close(file);
    if (r == 0) {
        *ret = text;
        return 0;
    }
    explicit_bzero(text, SECRET_FILE_MAX_BYTES + 2);
    free(text);
    return r;
}

void secret_file_wipe(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}
