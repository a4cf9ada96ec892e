/* SPDX-License-Identifier: MIT */
#ifndef FS_CLI_CHOICE_OPTIONS_H
#define FS_CLI_CHOICE_OPTIONS_H
/* The options of export and count that choose entities and properties. Each function takes an
 * option's text. 0; or an exit code, and then the cause was written to standard error. */
#include "client/filter/filter.h"

struct verb;

/* --filter. *filter is NULL before; afterwards the caller owns it. */
int choice_options_take_filter(struct filter **filter, const struct verb *verb, const char *text);
/* --select. Afterwards *select is a view of the text, and *has_timestamp whether it names
 * Timestamp.
 */
int choice_options_take_select(const char **select, bool *has_timestamp, const struct verb *verb,
                               const char *text);

#endif
