/* SPDX-License-Identifier: MIT */
#ifndef FS_CLI_CSV_OPTIONS_H
#define FS_CLI_CSV_OPTIONS_H
/* The options of export and import for the format of their output and input. Each function takes an
 * option's text: 0, or a usage error of the verb. */
#include <stdbool.h>

struct verb;

struct csv_options {
    bool is_csv;    /* --format=csv; else JSON */
    char delimiter; /* --delimiter; 0: not given */
};

int csv_options_take_format(struct csv_options *options, const struct verb *verb, const char *text);
int csv_options_take_delimiter(struct csv_options *options, const struct verb *verb,
                               const char *text);

#endif
