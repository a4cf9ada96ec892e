/* SPDX-License-Identifier: MIT */
#ifndef FS_OUTPUT_REFUSED_H
#define FS_OUTPUT_REFUSED_H
/* Reports the objects that an import does not store: writes the objects to a file, which another
 * import can read, and the first PROGRESS_REPORTED reasons to standard error; likewise the first
 * notes. One thread. */
#include "cache/account.h"
#include "client/entity/object_source.h"
#include "fs/cli/progress.h"

struct refused {
    int fd;                          /* of the file; -1: none */
    bool is_csv;                     /* the input is CSV */
    const struct progress *progress; /* its line is cleared before a message */
    uint64_t refused, noted;         /* counts of reasons and of notes */
    int error;                       /* -errno: an object could not be written to the file; 0 */
};

/* file NULL: no file. A file with content is never changed, because it may be the input, or the
 * account: -EEXIST. 0 or -errno. */
int refused_open(struct refused *ret, const char *file, bool is_csv,
                 const struct progress *progress);
/* 0; -errno: the file is incomplete. */
int refused_close(struct refused *refused);

/* An object was refused before it was sent. Writes it to the file as it was. Of CSV: writes the row
 * as JSON, or, if the text could not be read as a row, writes the text as a JSON string. */
void refused_note_text(struct refused *refused, const struct stream_object *object,
                       const struct entity_input_refusal *refusal);
/* The service has refused the change. Writes the object to the file as `export` would write it. */
void refused_note_change(struct refused *refused, const struct grouped *change,
                         const struct failure *failure);
/* An object is stored, but a part of it is ignored: writes a note. */
void refused_note_ignored(struct refused *refused, const struct stream_object *object,
                          const struct entity_input_refusal *ignored);

#endif
