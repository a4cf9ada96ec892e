/* SPDX-License-Identifier: MIT */
#ifndef FS_SCRATCH_SCRATCH_TEXT_H
#define FS_SCRATCH_SCRATCH_TEXT_H
/* The text of a scratch file: bytes in memory, within a budget that the texts of a mount share.
 *
 * Both structs are embedded, or on the stack, and begin as zeros, except max_bytes. Not
 * thread-safe: one lock of the owner guards a budget and all its texts. Sizes in bytes. */
#include "client/base/bytes.h"

struct scratch_budget {
    size_t max_bytes;
    size_t bytes; /* in use; at most max_bytes */
};
/* For what a file needs in addition to its text. -ENOSPC: over the budget. */
int scratch_budget_take(struct scratch_budget *budget, size_t bytes);
void scratch_budget_give_back(struct scratch_budget *budget, size_t bytes);

struct scratch_text { /* fields are read by the owner, and set by scratch_text.c alone */
    char *data;
    size_t size, capacity; /* the budget counts the size, not the capacity */
};
/* Frees the memory, without giving it back to the budget: either the text is empty, or the budget
 * ends, too. */
void scratch_text_finish(struct scratch_text *text);
/* All or nothing is written. A text that ends before `offset` gets NULs up to there. -ENOSPC: over
 * the budget; -ENOMEM. */
int scratch_text_write(struct scratch_text *text, struct scratch_budget *budget, struct bytes bytes,
                       uint64_t offset);
/* A longer text gets NULs. Errors: as above; never fails if the text gets shorter. */
int scratch_text_resize(struct scratch_text *text, struct scratch_budget *budget, uint64_t size);

#endif
