#ifndef FS_FILES_OPEN_FILE_H
#define FS_FILES_OPEN_FILE_H
/* An open file: the text as it was at open, whatever the service does meanwhile. Immutable after
 * creation, any thread. */
#include "client/page.h"

struct open_file {
    struct entity entity; /* of an entity; else: */
    struct buffer text;   /* generated */
};

/* copies it: an open file keeps no page of a listing in memory */
int open_file_create_entity(const struct entity *entity, struct open_file **ret);
/* takes the text on success */
int open_file_create_text(struct buffer *text, struct open_file **ret);
void open_file_destroy(struct open_file *handle); /* takes NULL */
struct bytes open_file_read(const struct open_file *handle, off_t offset, size_t size);

#endif
