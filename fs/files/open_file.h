#ifndef FS_FILES_OPEN_FILE_H
#define FS_FILES_OPEN_FILE_H
/* An open file. It keeps the text that it was opened with, also when the entity changes. It never
 * changes after creation. Any thread. */
#include "client/page.h"

struct open_file {
    struct entity entity; /* page NULL: the file is not of an entity */
    struct buffer text;   /* of a control file */
};

/* Copies the entity. Otherwise an open file would keep a whole page of entities in memory. 0 or
 * -ENOMEM. */
int open_file_create_entity(const struct entity *entity, struct open_file **ret);
/* Takes the text on success. 0 or -ENOMEM. */
int open_file_create_text(struct buffer *text, struct open_file **ret);
void open_file_destroy(struct open_file *handle); /* takes NULL */
/* A view into the handle, shorter than `size` at the end of the text. */
struct bytes open_file_read(const struct open_file *handle, off_t offset, size_t size);

#endif
