/* SPDX-License-Identifier: MIT */
#include "fs/cli/csv_options.h"
#include "client/entity/csv_rows.h"
#include "fs/cli/verb.h"

int csv_options_take_format(struct csv_options *options, const struct verb *verb, const char *text)
{
    options->is_csv = strcmp(text, "csv") == 0;
    if (options->is_csv || strcmp(text, "json") == 0)
        return 0;
    return verb_refuse(verb, "--format=%s: expected json or csv", verb_printable(text));
}

int csv_options_take_delimiter(struct csv_options *options, const struct verb *verb,
                               const char *text)
{
    if (csv_delimiter_parse(text, &options->delimiter))
        return 0;
    return verb_refuse(verb, "--delimiter=%s: expected , ; | or tab", verb_printable(text));
}
