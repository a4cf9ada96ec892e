/* SPDX-License-Identifier: MIT */
#ifndef TESTS_STORES_PENDING_CHECK_H
#define TESTS_STORES_PENDING_CHECK_H
/* What holds of a `struct pending` whenever its monitor is free. Any thread. */
#include "cache/queue/pending.h"

/* Are the counts and the order right, and is every record in use? */
bool pending_is_consistent(struct pending *pending);
/* Is a position of the table claimed or queued? */
bool pending_is_changing_in(struct pending *pending, const char *table);

#endif
