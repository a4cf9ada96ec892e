/* SPDX-License-Identifier: MIT */
#ifndef FS_OPS_OPEN_FILE_H
#define FS_OPS_OPEN_FILE_H
/* An open file, to which info->fh points. There are three kinds:
 *
 *   - a text, of a version of an entity or of a control file. It stays the same when the entity
 *     changes
 *   - a handle of a writer: the file is open for writing; or it is open for reading and is a new
 *     file that is not stored yet, so that the reader sees what the writer has so far
 *   - a handle of a scratch file
 *
 * Any thread: nothing here changes after creation. The writer has its own rules. */
#include "fs/base/process_id.h"
#include "fs/scratch/scratch.h"
#include "fs/text/control_text.h"
#include "fs/text/locks.h"
#include "fs/text/writer.h"

#include <sys/types.h>

struct open_file {
    struct entity entity;               /* page NULL: another kind */
    struct writer_handle *writer;       /* NULL: another kind */
    struct scratch_file *scratch;       /* NULL: another kind */
    struct control_text *control;       /* NULL: another kind */
    struct locked_file *locked;         /* NULL: it cannot be locked; see fs/ops/lock_ops */
    bool is_reader;                     /* with `writer`: opened for reading only */
    char command[PROCESS_COMMAND_SIZE]; /* with `writer`: the opener's; RELEASE has no process */
};

/* Copies the entity, because a reference would keep a whole page of entities in memory. 0 or
 * -ENOMEM. */
int open_file_create_entity(const struct entity *entity, struct open_file **ret);
/* Takes the reference in any case. 0 or -ENOMEM. */
int open_file_create_control(struct control_text *control, struct open_file **ret);
/* Takes the handle on success. 0 or -ENOMEM. */
int open_file_create_writer(struct writer_handle *writer, bool is_reader, const char *command,
                            struct open_file **ret);
/* Takes the handle on success. 0 or -ENOMEM. */
int open_file_create_scratch(struct scratch_file *scratch, struct open_file **ret);
/* Takes NULL. Does not close the handle of a writer: the caller does that before, because it may
 * take long, and may fail. */
void open_file_destroy(struct open_file *file);
DEFINE_CLEANUP(struct open_file *, open_file_destroy);
/* For a text: a view into it, shorter than `size` at its end. */
struct bytes open_file_read(const struct open_file *file, off_t offset, size_t size);

#endif
