/* SPDX-License-Identifier: MIT */
#ifndef CACHE_LIST_FORMS_H
#define CACHE_LIST_FORMS_H
/* What the directories of tables have listed last: partitions or prefixes. When this changes while
 * the account is mounted, the names in a table's directory change, and programs that were written
 * for the others may miss files or delete too many. So the failure log gets a note of each change.
 *
 * FORMS_MAX tables are remembered; of more, those that were listed first are forgotten. Any thread;
 * one leaf mutex, which is not held while the note is added. */
#include "cache/caller.h"

#define FORMS_MAX 1024

struct failure_log;
struct forms;
int forms_create(struct failure_log *failures, const struct clock *clock, struct forms **ret);
void forms_destroy(struct forms *forms); /* takes NULL */

/* The caller has listed all of the table's directory, which is not empty; its oldest answer was
 * asked for at requested_ms. What was learned from younger answers counts more. */
void forms_note(struct forms *forms, const struct caller *caller, const char *table,
                bool has_prefixes, int64_t requested_ms);

#endif
