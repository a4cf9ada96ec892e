/* SPDX-License-Identifier: MIT */
#ifndef FS_OPS_OPEN_FILE_H
#define FS_OPS_OPEN_FILE_H
/* An open file, which info->fh points to. There are three sorts:
 *
 *   - a text: of a version of an entity, or of a control file. It stays as its node has it, also
 *     when the entity changes
 *   - a handle of a writer: the file is open for writing, or it is a new file that is not stored
 *     yet, which its readers see as it is written
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
    struct entity entity;               /* page NULL: the text is not of an entity */
    struct writer_handle *writer;       /* NULL: of another sort */
    struct scratch_file *scratch;       /* the same */
    struct control_text *control;       /* the same */
    struct locked_file *locked;         /* NULL: it cannot be locked; see fs/ops/lock_ops */
    bool is_reader;                     /* of a writer's: opened without the right to write */
    char command[PROCESS_COMMAND_SIZE]; /* of a writer's: the opener's. RELEASE tells no process */
};

/* Copies the entity. Otherwise an open file would keep a whole page of entities in memory. 0 or
 * -ENOMEM. */
int open_file_create_entity(const struct entity *entity, struct open_file **ret);
/* Takes the reference in any case. 0 or -ENOMEM. */
int open_file_create_control(struct control_text *control, struct open_file **ret);
/* Takes the handle on success. 0 or -ENOMEM. */
int open_file_create_writer(struct writer_handle *writer, bool is_reader, const char *command,
                            struct open_file **ret);
/* Takes the handle on success. 0 or -ENOMEM. */
int open_file_create_scratch(struct scratch_file *scratch, struct open_file **ret);
/* Takes NULL. A handle of a writer is not closed: its close may take long, and may fail. */
void open_file_destroy(struct open_file *file);
DEFINE_CLEANUP(struct open_file *, open_file_destroy);
/* Of a text: a view into the file, shorter than `size` at the end of the text. */
struct bytes open_file_read(const struct open_file *file, off_t offset, size_t size);

#endif
