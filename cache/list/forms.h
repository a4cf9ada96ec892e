/* SPDX-License-Identifier: MIT */
#ifndef CACHE_LIST_FORMS_H
#define CACHE_LIST_FORMS_H
/* The form of each table's directory: whether it last listed partitions or prefixes. If the form
 * changes while the account is mounted, the names in the directory change, and programs written for
 * the other form may miss files or delete too many. So each change is noted in the failure log.
 *
 * At most FORMS_MAX tables are remembered; then those that were listed first are forgotten. Any
 * thread; one leaf mutex, which is not held while the note is added. */
#include "cache/caller.h"

#define FORMS_MAX 1024

struct failure_log;
struct forms;
int forms_create(struct failure_log *failures, const struct clock *clock, struct forms **ret);
void forms_destroy(struct forms *forms); /* takes NULL */

/* The caller has listed the table's whole directory, which is not empty. requested_ms: when its
 * oldest answer was requested; ignored if the form is known from younger answers. */
void forms_note(struct forms *forms, const struct caller *caller, const char *table,
                bool has_prefixes, int64_t requested_ms);

#endif
