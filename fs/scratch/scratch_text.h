/* SPDX-License-Identifier: MIT */
#ifndef FS_SCRATCH_SCRATCH_TEXT_H
#define FS_SCRATCH_SCRATCH_TEXT_H
/* The text of a scratch file: bytes in memory, within a budget that the texts of a mount share.
 *
 * Both are in their owner's memory and begin as zeros, but for max_bytes. Not thread-safe: one lock
 * guards a budget and all its texts. Sizes in bytes. */
#include "client/base/bytes.h"

struct scratch_budget {
    size_t max_bytes;
    size_t bytes; /* in use; at most max_bytes */
};
/* For what a file needs beside its text. -ENOSPC: beyond the budget. */
int scratch_budget_take(struct scratch_budget *budget, size_t bytes);
void scratch_budget_give_back(struct scratch_budget *budget, size_t bytes);

struct scratch_text { /* fields are read by the owner, and set by scratch_text.c alone */
    char *data;
    size_t size, capacity; /* the size counts in the budget; the capacity does not */
};
/* Frees the memory; the budget ends, too, or the text is empty. */
void scratch_text_finish(struct scratch_text *text);
/* All or nothing is written. A text that ends before `offset` gets NULs up to there. -ENOSPC:
 * beyond the budget; -ENOMEM. */
int scratch_text_write(struct scratch_text *text, struct scratch_budget *budget, struct bytes bytes,
                       uint64_t offset);
/* What is added is NULs. As above; never fails where the text gets smaller. */
int scratch_text_resize(struct scratch_text *text, struct scratch_budget *budget, uint64_t size);

#endif
