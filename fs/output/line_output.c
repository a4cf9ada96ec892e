/* SPDX-License-Identifier: MIT */
#include "fs/output/line_output.h"
#include "fs/base/file_io.h"

#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define FLUSH_BYTES    ((size_t)256 << 10)
#define LINE_MAX_BYTES ((size_t)16 << 20) /* far longer than an entity of 1 MiB can be */
#define READ_BYTES     ((size_t)64 << 10)
#define POLL_MS        50

struct line_output {
    char *file, *partial; /* NULL: standard output */
    int fd;
    bool may_block; /* it is no regular file */
    bool is_apart;  /* a close before its finish removes `partial` */
    line_output_cancelled *is_cancelled;
    void *context;
    struct buffer lines, last;
};

void line_output_close(struct line_output *output)
{
    if (!output)
        return;
    if (output->is_apart && output->fd >= 0)
        (void)unlink(output->partial);
    if (output->file && output->fd >= 0)
        (void)close(output->fd);
    buffer_finish(&output->lines);
    buffer_finish(&output->last);
    free(output->file);
    free(output->partial);
    free(output);
}

/* Reads `size` bytes before `end` into the buffer. */
static int read_before(int fd, off_t end, size_t size, struct buffer *ret)
{
    buffer_clear(ret);
    char *data = buffer_reserve(ret, size);
    if (!data)
        return ret->error;
    for (size_t done = 0; done < size;) {
        ssize_t n = pread(fd, data + done, size - done, end - (off_t)(size - done));
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        done += (size_t)n;
    }
    ret->size += size;
    return 0;
}

/* Finds the last line that has an end in the file, and cuts off what follows it. */
static int find_last(struct line_output *output)
{
    struct stat status;
    if (fstat(output->fd, &status) < 0)
        return -errno;
    off_t end = status.st_size;
    for (size_t size = READ_BYTES; end > 0; size *= 2) {
        size_t have = MIN(size, (size_t)end);
        int r = read_before(output->fd, end, have, &output->last);
        if (r < 0)
            return r;
        struct bytes text = buffer_bytes(&output->last);
        const char *stop = memrchr(text.data, '\n', text.size);
        const char *begin = stop ? memrchr(text.data, '\n', (size_t)(stop - text.data)) : NULL;
        bool is_all = have == (size_t)end;
        if (!begin && !is_all)
            continue;
        if (!stop)
            break;
        size_t first = begin ? (size_t)(begin - text.data) + 1 : 0;
        size_t cut = text.size - (size_t)(stop - text.data) - 1;
        output->last.size = (size_t)(stop - text.data);
        memmove(output->last.data, output->last.data + first, output->last.size - first);
        output->last.size -= first;
        end -= (off_t)cut;
        return ftruncate(output->fd, end) < 0 || lseek(output->fd, end, SEEK_SET) < 0 ? -errno : 0;
    }
    buffer_clear(&output->last);
    return ftruncate(output->fd, 0) < 0 ? -errno : 0;
}

/* A device or a pipe is not to be replaced by a file. */
static int check_regular(const char *file)
{
    struct stat status;
    if (stat(file, &status) < 0 || S_ISREG(status.st_mode))
        return 0;
    return S_ISDIR(status.st_mode) ? -EISDIR : -ENOTSUP;
}

static int open_partial(struct line_output *output, const char *file, bool resumes)
{
    int r = check_regular(file);
    if (r < 0)
        return r;
    output->file = strdup(file);
    if (!output->file || asprintf(&output->partial, "%s.partial", file) < 0) {
        output->partial = NULL;
        return -ENOMEM;
    }
    output->fd = open(output->partial, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (output->fd < 0)
        return -errno;
    if (flock(output->fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? -EBUSY : -errno;
    if (resumes)
        return find_last(output);
    return ftruncate(output->fd, 0) < 0 ? -errno : 0;
}

static int open_apart(struct line_output *output, const char *file)
{
    uint64_t random;
    char host[64] = "";
    int r = check_regular(file);
    if (r < 0)
        return r;
    (void)gethostname(host, sizeof(host) - 1);
    for (char *slash; (slash = strchr(host, '/')) != NULL;)
        *slash = '-';
    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return -EIO;
    output->file = strdup(file);
    if (!output->file || asprintf(&output->partial, "%s.%s.%ld.%016llx.tmp", file, host,
                                  (long)getpid(), (unsigned long long)random) < 0) {
        output->partial = NULL;
        return -ENOMEM;
    }
    output->fd = open(output->partial, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (output->fd < 0)
        return -errno;
    output->is_apart = true;
    return 0;
}

static int create(line_output_cancelled *is_cancelled, void *context, struct line_output **ret)
{
    struct line_output *output = calloc(1, sizeof(*output));
    if (!output)
        return -ENOMEM;
    output->fd = STDOUT_FILENO;
    output->is_cancelled = is_cancelled;
    output->context = context;
    buffer_init(&output->lines, FLUSH_BYTES + LINE_MAX_BYTES);
    buffer_init(&output->last, LINE_MAX_BYTES);
    *ret = output;
    return 0;
}

int line_output_open_apart(const char *file, line_output_cancelled *is_cancelled, void *context,
                           struct line_output **ret)
{
    _cleanup_(line_output_closep) struct line_output *output = NULL;
    int r = create(is_cancelled, context, &output);
    if (r == 0)
        r = open_apart(output, file);
    if (r == 0)
        *ret = TAKE_PTR(output);
    return r;
}

bool line_output_is_refused(int error)
{
    static const int refusals[] = {EACCES, EPERM,   EROFS,        ENOENT, ENOTDIR,
                                   EISDIR, ENOTSUP, ENAMETOOLONG, ELOOP};
    for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
        if (error == -refusals[i])
            return true;
    return false;
}

int line_output_rename(struct line_output *output, const char *behind)
{
    char *file;
    if (asprintf(&file, "%s%s", output->file, behind) < 0)
        return -ENOMEM;
    free(output->file);
    output->file = file;
    return 0;
}

int line_output_open(const char *file, bool resumes, line_output_cancelled *is_cancelled,
                     void *context, struct line_output **ret)
{
    _cleanup_(line_output_closep) struct line_output *output = NULL;
    struct stat status;
    int r = create(is_cancelled, context, &output);
    if (r < 0)
        return r;
    r = file ? open_partial(output, file, resumes) : 0;
    if (r < 0)
        return r;
    output->may_block = fstat(output->fd, &status) < 0 || !S_ISREG(status.st_mode);
    *ret = TAKE_PTR(output);
    return 0;
}

struct bytes line_output_last(const struct line_output *output)
{
    return buffer_bytes(&output->last);
}

struct buffer *line_output_buffer(struct line_output *output)
{
    return &output->lines;
}

/* Waits until a pipe or terminal takes PIPE_BUF bytes without blocking. */
static int wait_for_room(const struct line_output *output)
{
    struct pollfd poll_fd = {.fd = output->fd, .events = POLLOUT};
    while (!output->is_cancelled(output->context)) {
        int r = poll(&poll_fd, 1, POLL_MS);
        if (r != 0)
            return r < 0 && errno != EINTR ? -errno : 0;
    }
    return -EINTR;
}

/* How much to write at once: of what may block whole lines, if they are short enough. */
static size_t portion(const struct line_output *output, struct bytes rest)
{
    if (!output->may_block || rest.size <= PIPE_BUF)
        return rest.size;
    const char *stop = memrchr(rest.data, '\n', PIPE_BUF);
    return stop ? (size_t)(stop - rest.data) + 1 : PIPE_BUF;
}

/* Keeps the unwritten text. Returns r. */
static int keep(struct line_output *output, struct bytes rest, int r)
{
    memmove(output->lines.data, rest.data, rest.size);
    output->lines.size = rest.size;
    return r;
}

int line_output_flush(struct line_output *output)
{
    struct bytes rest = buffer_bytes(&output->lines);
    while (rest.size > 0) {
        int r = output->may_block ? wait_for_room(output) : 0;
        if (r < 0)
            return keep(output, rest, r);
        ssize_t n = write(output->fd, rest.data, portion(output, rest));
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return keep(output, rest, -errno);
        rest = bytes_skip(rest, n > 0 ? (size_t)n : 0);
    }
    buffer_clear(&output->lines);
    return 0;
}

struct bytes line_output_rest(const struct line_output *output)
{
    return buffer_bytes(&output->lines);
}

int line_output_written(struct line_output *output)
{
    if (output->lines.error < 0)
        return output->lines.error;
    return output->lines.size < FLUSH_BYTES ? 0 : line_output_flush(output);
}

/* Syncs the directory, so that the name outlives a crash. */
static int sync_directory_of(const char *file)
{
    _cleanup_(freep) char *copy = strdup(file);
    int fd = copy ? open(dirname(copy), O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd < 0)
        return copy ? -errno : -ENOMEM;
    int r = file_sync_directory(fd);
    (void)close(fd);
    return r;
}

int line_output_finish(struct line_output *output)
{
    int r = line_output_flush(output);
    if (r < 0 || !output->file)
        return r;
    if (fsync(output->fd) < 0 || rename(output->partial, output->file) < 0)
        return -errno;
    output->is_apart = false;
    return sync_directory_of(output->file);
}

void line_output_end_by_sigpipe(void)
{
    (void)signal(SIGPIPE, SIG_DFL);
    (void)raise(SIGPIPE);
    _exit(128 + SIGPIPE); /* process 1 of a container survives that: the code of a shell */
}
