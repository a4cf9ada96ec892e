/* SPDX-License-Identifier: MIT */
#include "fs/secret_file.h"
#include "client/bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(struct call *call, const char *variable, int error, const char *what)
{
    return call_fail(call, error, "the file that %s names %s", variable, what);
}

static int fail_reading(struct call *call, const char *variable, int error)
{
    return call_fail(call, error, "the file that %s names cannot be read: %s", variable,
                     strerrordesc_np(-error));
}

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

/* Blanks, line ends, and perhaps a byte order mark: what a user does not see. */
static bool is_blank(struct bytes text)
{
    struct bytes rest = bytes_trim(text);
    return rest.size == 0 || bytes_equal(rest, BYTES_LITERAL("\xEF\xBB\xBF"));
}

/* text has room for one byte more than a secret may have, and a NUL. */
static int read_text(int file, const char *variable, char *text, struct call *call)
{
    struct stat status;
    if (fstat(file, &status) < 0)
        return fail_reading(call, variable, -errno);
    if (!S_ISREG(status.st_mode))
        return fail(call, variable, -EINVAL, "is no regular file");
    ssize_t n = read_all(file, text, SECRET_FILE_MAX_BYTES + 1);
    if (n < 0)
        return fail_reading(call, variable, (int)n);
    size_t size = (size_t)n;
    if (size > SECRET_FILE_MAX_BYTES)
        return fail(call, variable, -EINVAL, "is larger than 64 KiB");
    if (size > 0 && text[size - 1] == '\n')
        size--;
    if (size > 0 && text[size - 1] == '\r')
        size--;
    text[size] = '\0';
    if (is_blank((struct bytes){text, size}))
        return fail(call, variable, -EINVAL, "is empty");
    return strlen(text) == size ? 0
                                : fail(call, variable, -EINVAL, "has a NUL byte: it is no text");
}

int secret_file_read(const char *variable, const char *path, struct call *call, char **ret)
{
    char *text = malloc(SECRET_FILE_MAX_BYTES + 2);
    if (!text)
        return call_fail(call, -ENOMEM, "out of memory");
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* it may be a FIFO */
    int r = file < 0 ? fail_reading(call, variable, -errno) : read_text(file, variable, text, call);
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
