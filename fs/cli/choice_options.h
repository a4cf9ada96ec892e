/* SPDX-License-Identifier: MIT */
#ifndef FS_CLI_CHOICE_OPTIONS_H
#define FS_CLI_CHOICE_OPTIONS_H
/* The options of export and count that tell which entities and which of their properties are asked
 * for. Each function takes an option's text: 0, or an exit code; the cause is written then. */
#include "client/filter/filter.h"

struct verb;

/* --filter; *filter is NULL before, and the caller's afterwards. */
int choice_options_take_filter(struct filter **filter, const struct verb *verb, const char *text);
/* --select; *select is a view of the text afterwards, and has_timestamp tells if it names
 * Timestamp.
 */
int choice_options_take_select(const char **select, bool *has_timestamp, const struct verb *verb,
                               const char *text);

#endif
