/* SPDX-License-Identifier: MIT */
#include "fs/output/csv_output.h"
#include "fs/base/file_io.h"
#include "fs/base/unlinked_file.h"

#include <libgen.h>
#include <unistd.h>

#define ROW_MAX_BYTES ((size_t)16 << 20)
#define FILE_BYTES    ((size_t)256 << 10) /* that are written or read at once */

struct waiting_row { /* the header of a waiting row, before its text */
    uint32_t columns, size;
};

struct csv_output {
    struct csv_writer *writer;
    struct line_output *output;
    char *directory;    /* of the rows that wait; NULL: none do */
    int fd;             /* of their file; -1: none */
    struct buffer rows; /* that are not written to it; at the end those that were read */
    size_t taken;       /* of them */
    bool is_waiting_failed;
};

void csv_output_destroy(struct csv_output *csv)
{
    if (!csv)
        return;
    if (csv->fd >= 0)
        (void)close(csv->fd);
    csv_writer_destroy(csv->writer);
    buffer_finish(&csv->rows);
    free(csv->directory);
    free(csv);
}

const char *csv_output_waiting_in(const struct csv_output *csv)
{
    return csv->directory;
}

bool csv_output_is_waiting_failed(const struct csv_output *csv)
{
    return csv->is_waiting_failed;
}

static int fail_waiting(struct csv_output *csv, int error)
{
    csv->is_waiting_failed = true;
    return -error;
}

static char *directory_of(const char *file)
{
    if (!file)
        return strdup(unlinked_file_directory());
    _cleanup_(freep) char *copy = strdup(file);
    return copy ? strdup(dirname(copy)) : NULL;
}

static int open_waiting(struct csv_output *csv, const char *file)
{
    csv->directory = directory_of(file);
    if (!csv->directory)
        return -ENOMEM;
    int fd = unlinked_file_open(csv->directory);
    if (fd < 0)
        return fail_waiting(csv, -fd);
    csv->fd = fd;
    return 0;
}

int csv_output_create(struct csv_writer *writer, bool has_columns, struct line_output *output,
                      const char *file, struct csv_output **ret)
{
    struct csv_output *csv = calloc(1, sizeof(*csv));
    if (!csv) {
        csv_writer_destroy(writer);
        return -ENOMEM;
    }
    *ret = csv;
    csv->writer = writer;
    csv->output = output;
    csv->fd = -1;
    buffer_init(&csv->rows, ROW_MAX_BYTES + 2 * FILE_BYTES);
    if (has_columns)
        return csv_writer_append_header(writer, line_output_buffer(output));
    return open_waiting(csv, file);
}

static int write_now(struct csv_output *csv, const struct entity_line *line, size_t *ret_size)
{
    struct buffer *lines = line_output_buffer(csv->output);
    size_t begin = lines->size;
    int r = csv_writer_append_row(csv->writer, line, lines);
    if (r < 0) {
        lines->size = begin;
        return r;
    }
    (void)csv_writer_append_end(csv->writer, csv_writer_columns(csv->writer), lines);
    *ret_size = lines->size - begin;
    return line_output_written(csv->output);
}

static int write_rows(struct csv_output *csv)
{
    int r = file_write_all(csv->fd, buffer_bytes(&csv->rows));
    if (r < 0)
        return fail_waiting(csv, -r);
    buffer_clear(&csv->rows);
    return 0;
}

static int write_later(struct csv_output *csv, const struct entity_line *line, size_t *ret_size)
{
    struct buffer *rows = &csv->rows;
    size_t begin = rows->size;
    struct waiting_row head = {0};
    (void)buffer_append(rows, (struct bytes){(const char *)&head, sizeof(head)});
    int r = csv_writer_append_row(csv->writer, line, rows);
    if (r < 0) {
        rows->size = begin;
        return r;
    }
    head.columns = (uint32_t)csv_writer_columns(csv->writer);
    head.size = (uint32_t)(rows->size - begin - sizeof(head));
    memcpy(rows->data + begin, &head, sizeof(head));
    *ret_size = head.size + 1;
    return rows->size < FILE_BYTES ? 0 : write_rows(csv);
}

int csv_output_write(struct csv_output *csv, const struct entity_line *line, size_t *ret_size)
{
    return csv->fd >= 0 ? write_later(csv, line, ret_size) : write_now(csv, line, ret_size);
}

/* Reads until `size` bytes are available. 1; 0: the file ends before. */
static int read_rows(struct csv_output *csv, size_t size)
{
    struct buffer *rows = &csv->rows;
    while (rows->size - csv->taken < size) {
        if (csv->taken > 0) {
            rows->size -= csv->taken;
            memmove(rows->data, rows->data + csv->taken, rows->size);
            csv->taken = 0;
        }
        char *room = buffer_reserve(rows, FILE_BYTES);
        if (!room)
            return rows->error;
        ssize_t n = read(csv->fd, room, FILE_BYTES);
        if (n == 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return fail_waiting(csv, errno);
        rows->size += n > 0 ? (size_t)n : 0;
    }
    return 1;
}

/* 1: a row was written; 0: there are no more. */
static int write_next(struct csv_output *csv)
{
    struct buffer *lines = line_output_buffer(csv->output);
    struct waiting_row head;
    int r = read_rows(csv, sizeof(head));
    if (r <= 0)
        return r;
    memcpy(&head, csv->rows.data + csv->taken, sizeof(head));
    csv->taken += sizeof(head);
    r = read_rows(csv, head.size);
    if (r <= 0)
        return r < 0 ? r : fail_waiting(csv, EIO);
    (void)buffer_append(lines, (struct bytes){csv->rows.data + csv->taken, head.size});
    csv->taken += head.size;
    (void)csv_writer_append_end(csv->writer, head.columns, lines);
    r = line_output_written(csv->output);
    return r < 0 ? r : 1;
}

int csv_output_finish(struct csv_output *csv, line_output_cancelled *is_cancelled, void *context)
{
    if (csv->fd < 0)
        return 0;
    int r = write_rows(csv);
    if (r == 0 && lseek(csv->fd, 0, SEEK_SET) < 0)
        r = fail_waiting(csv, errno);
    if (r == 0)
        r = csv_writer_append_header(csv->writer, line_output_buffer(csv->output));
    for (r = r < 0 ? r : 1; r > 0;)
        r = is_cancelled(context) ? -EINTR : write_next(csv);
    return r;
}
