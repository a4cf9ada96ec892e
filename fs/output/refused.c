/* SPDX-License-Identifier: MIT */
#include "fs/output/refused.h"
#include "client/entity/entity_line.h"
#include "client/text/json_string.h"
#include "fs/base/file_io.h"
#include "fs/base/say.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_MAX_BYTES ((size_t)8 << 20)

int refused_open(struct refused *ret, const char *file, bool is_csv,
                 const struct progress *progress)
{
    struct stat status;
    *ret = (struct refused){.fd = -1, .is_csv = is_csv, .progress = progress};
    if (!file)
        return 0;
    ret->fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (ret->fd < 0 || fstat(ret->fd, &status) < 0)
        return -errno;
    return S_ISREG(status.st_mode) && status.st_size > 0 ? -EEXIST : 0;
}

int refused_close(struct refused *refused)
{
    int fd = refused->fd;
    refused->fd = -1;
    if (fd >= 0 && close(fd) < 0 && refused->error == 0)
        refused->error = -errno;
    return refused->error;
}

static void keep(struct refused *refused, struct bytes text)
{
    if (refused->fd >= 0 && refused->error == 0)
        refused->error = file_write_all(refused->fd, text);
}

/* So that the file has one format. */
static void keep_string(struct refused *refused, struct bytes text)
{
    struct buffer line = {.max = 6 * LINE_MAX_BYTES}; /* \u0001 */
    if (buffer_append_char(&line, '"') == 0 && json_string_append_of_utf8(&line, text) == 0 &&
        buffer_append(&line, BYTES_LITERAL("\"\n")) == 0)
        keep(refused, buffer_bytes(&line));
    else if (refused->error == 0)
        refused->error = line.error;
    buffer_finish(&line);
}

/* count: of the refused objects or of the notes. */
static bool may_show(const struct refused *refused, uint64_t *count)
{
    return progress_may_report(refused->progress, ++*count,
                               count == &refused->noted ? "more notes are not shown"
                                                        : "more refused objects are not shown");
}

/* Prints the refusal. Its place in the object becomes one in the input; for a row of CSV it is a
 * line. */
static void show(struct refused *refused, uint64_t *count, const struct stream_object *object,
                 const struct entity_input_refusal *refusal)
{
    struct buffer line = {.max = ENTITY_INPUT_MAX_LINE + 1};
    struct entity_input_refusal placed = *refusal;
    size_t row = MAX(refusal->line, 1), column = MAX(refusal->column, 1);
    placed.line = (size_t)object->line + row - 1;
    placed.column = row == 1 ? (size_t)object->column + column - 1 : column;
    if (object->column == 0)
        placed.column = 0;
    if (may_show(refused, count) && entity_input_refusal_append(&line, &placed) == 0)
        say("tablefuse: %s%s\n", buffer_string(&line),
            count == &refused->noted ? " (the entity is taken)" : "");
    buffer_finish(&line);
}

void refused_note_text(struct refused *refused, const struct stream_object *object,
                       const struct entity_input_refusal *refusal)
{
    show(refused, &refused->refused, object, refusal);
    if (refused->is_csv && object->refusal) {
        keep_string(refused, object->text);
        return;
    }
    keep(refused, object->text);
    keep(refused, BYTES_LITERAL("\n"));
}

void refused_note_ignored(struct refused *refused, const struct stream_object *object,
                          const struct entity_input_refusal *ignored)
{
    show(refused, &refused->noted, object, ignored);
}

void refused_note_change(struct refused *refused, const struct grouped *change,
                         const struct failure *failure)
{
    struct buffer line = {.max = LINE_MAX_BYTES};
    const struct write *write = &change->write;
    const struct entity_line keys = {
        .text = write->text, .position = write->position, .etag = write->if_match};
    if (may_show(refused, &refused->refused))
        say("tablefuse: line %" PRIu64 ": %s%s%s\n", change->line, failure->code,
            failure->code[0] ? ": " : "",
            failure->error == -EEXIST ? "it exists, with another text" : failure->message);
    int r = refused->fd >= 0 ? entity_line_append(&line, &keys) : 0;
    if (r == 0)
        keep(refused, buffer_bytes(&line));
    else if (refused->error == 0)
        refused->error = r;
    buffer_finish(&line);
}
