/* SPDX-License-Identifier: MIT */
#include "cache/bulk/version_file.h"

#include <stdio.h>
#include <unistd.h>

struct version_file {
    FILE *stream;
    uint64_t count, taken;
};

struct sizes { /* what stands before a version in the file */
    uint32_t position, etag;
};

int version_file_create(int fd, struct version_file **ret)
{
    struct version_file *file = calloc(1, sizeof(*file));
    if (file)
        file->stream = fdopen(fd, "w+");
    if (!file || !file->stream) {
        free(file);
        (void)close(fd);
        return -ENOMEM;
    }
    *ret = file;
    return 0;
}

void version_file_destroy(struct version_file *file)
{
    if (!file)
        return;
    (void)fclose(file->stream);
    free(file);
}

static bool put(struct version_file *file, const void *data, size_t size)
{
    return size == 0 || fwrite(data, size, 1, file->stream) == 1;
}

int version_file_add(struct version_file *file, struct bytes position, struct bytes etag)
{
    const struct sizes sizes = {(uint32_t)position.size, (uint32_t)etag.size};
    errno = EIO;
    if (!put(file, &sizes, sizeof(sizes)) || !put(file, position.data, position.size) ||
        !put(file, etag.data, etag.size))
        return -errno;
    file->count++;
    return 0;
}

uint64_t version_file_count(const struct version_file *file)
{
    return file->count;
}

int version_file_rewind(struct version_file *file)
{
    errno = EIO;
    file->taken = 0;
    return fflush(file->stream) == 0 && fseeko(file->stream, 0, SEEK_SET) == 0 ? 0 : -errno;
}

int version_file_next(struct version_file *file, struct buffer *ret, size_t *ret_position_size)
{
    struct sizes sizes;
    if (file->taken == file->count)
        return 0;
    errno = EIO;
    if (fread(&sizes, sizeof(sizes), 1, file->stream) != 1)
        return -errno;
    size_t size = (size_t)sizes.position + sizes.etag;
    char *room = buffer_reserve(ret, size);
    if (!room)
        return ret->error;
    if (fread(room, 1, size, file->stream) != size)
        return -errno;
    ret->size += size;
    file->taken++;
    *ret_position_size = sizes.position;
    return 1;
}
