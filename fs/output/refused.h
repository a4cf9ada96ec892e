/* SPDX-License-Identifier: MIT */
#ifndef FS_OUTPUT_REFUSED_H
#define FS_OUTPUT_REFUSED_H
/* What an import does not store: the objects go to a file, for another import, and the reasons of
 * the first PROGRESS_REPORTED to standard error; the same of notes. One thread. */
#include "cache/account.h"
#include "client/entity/object_source.h"
#include "fs/cli/progress.h"

struct refused {
    int fd;                          /* of the file; -1: none */
    bool is_csv;                     /* the input */
    const struct progress *progress; /* which a message interrupts */
    uint64_t refused, noted;         /* reasons and notes */
    int error;                       /* of the file: an object could not be written; 0 or -errno */
};

/* file NULL: none. What it has already is never touched: it may be the input, or the account.
 * -EEXIST: it is not empty. 0 or -errno. */
int refused_open(struct refused *ret, const char *file, bool is_csv,
                 const struct progress *progress);
/* 0, or -errno: the file is not whole. */
int refused_close(struct refused *refused);

/* It goes to the file as it was; of CSV as JSON: what is no row is a string there. */
void refused_note_text(struct refused *refused, const struct stream_object *object,
                       const struct entity_input_refusal *refusal);
/* The service has refused it: as `export` writes it. */
void refused_note_change(struct refused *refused, const struct grouped *change,
                         const struct failure *failure);
/* A part of an object that is taken does not count. */
void refused_note_ignored(struct refused *refused, const struct stream_object *object,
                          const struct entity_input_refusal *ignored);

#endif
