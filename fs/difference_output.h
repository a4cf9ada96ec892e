/* SPDX-License-Identifier: MIT */
#ifndef FS_DIFFERENCE_OUTPUT_H
#define FS_DIFFERENCE_OUTPUT_H
/* What a comparison of two tables has found, as lines on standard output and counts. One thread.
 *
 *     + zlib/1.3.1.json     only FROM has it
 *     - zlib/1.2.0.json     only TO has it
 *     ~ zlib/1.2.1.json     both have it, and their texts differ
 *
 * As JSON, with the lines of entity_line.h, or null: {"from":{...},"to":null} */
#include "cache/account.h"
#include "fs/line_output.h"
#include "fs/progress.h"

#define DIFFERENCE_SHOWN          100  /* entities of one kind of trouble that are named */
#define DIFFERENCE_PROGRESS_EVERY 1024 /* pairs between two calls of progress_show */

struct difference_output {
    struct line_output *output; /* NULL: differences are counted, and not written */
    bool is_json;
    const struct progress *progress;      /* is removed before a message */
    uint64_t counts[PAIR_UNREADABLE + 1]; /* by kind */
};

/* Tells a key that cannot be compared on standard error. 0 or an errno of the output. */
int difference_output_take(struct difference_output *output, const struct pair *pair);
uint64_t difference_output_found(const struct difference_output *output); /* differences */

#endif
