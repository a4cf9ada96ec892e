/* SPDX-License-Identifier: MIT */
#include "fs/output/object_input.h"
#include "client/base/clock.h"
#include "client/entity/object_stream.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#define READS_MAX 64 /* of one call: up to 16 MiB */

struct object_input {
    int fd;
    uint64_t size;
    int64_t waited_ms;
    bool is_ended;
    struct object_source *source;
};

int object_input_create(int fd, const struct csv_rows_options *csv, struct object_input **ret)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return -errno;
    if (S_ISDIR(status.st_mode))
        return -EISDIR;
    struct object_input *input = calloc(1, sizeof(*input));
    if (!input)
        return -ENOMEM;
    input->fd = fd;
    off_t at = S_ISREG(status.st_mode) ? lseek(fd, 0, SEEK_CUR) : -1;
    input->size = at >= 0 && at < status.st_size ? (uint64_t)(status.st_size - at) : 0;
    int r = csv ? csv_rows_create(csv, &input->source) : object_stream_create(&input->source);
    if (r < 0)
        object_input_destroy(input);
    else
        *ret = input;
    return r;
}

void object_input_destroy(struct object_input *input)
{
    if (!input)
        return;
    object_source_destroy(input->source);
    free(input);
}

uint64_t object_input_size(const struct object_input *input)
{
    return input->size;
}

int64_t object_input_waited_ms(const struct object_input *input)
{
    return input->waited_ms;
}

/* 1: there is input, or its end; 0: no input yet; -errno. */
static int wait_for_input(struct object_input *input)
{
    struct pollfd poll_fd = {.fd = input->fd, .events = POLLIN};
    int64_t began_ms = clock_now_ms(&clock_system);
    int r = poll(&poll_fd, 1, OBJECT_INPUT_POLL_MS);
    r = r >= 0 ? r : errno == EINTR ? 0 : -errno;
    input->waited_ms += clock_now_ms(&clock_system) - began_ms;
    return r;
}

/* Reads more, or notes the end. 0; -EAGAIN: there is nothing yet. */
static int read_more(struct object_input *input)
{
    char *room;
    size_t size;
    int r = wait_for_input(input);
    if (r <= 0)
        return r == 0 ? -EAGAIN : r;
    r = object_source_room(input->source, &room, &size);
    if (r < 0)
        return r;
    ssize_t n = read(input->fd, room, size);
    if (n < 0)
        return errno == EINTR ? -EAGAIN : -errno;
    input->is_ended = n == 0;
    object_source_add(input->source, (size_t)n);
    return 0;
}

int object_input_next(struct object_input *input, struct stream_object *ret)
{
    int r;
    for (int reads = 0; (r = object_source_next(input->source, ret)) == 0 && !input->is_ended;
         reads++) {
        if (reads == READS_MAX)
            return -EAGAIN;
        r = read_more(input);
        if (r < 0)
            return r;
    }
    return r;
}
