/* SPDX-License-Identifier: MIT */
#include "fs/cli/choice_options.h"
#include "client/entity/entity_select.h"
#include "fs/cli/verb.h"

int choice_options_take_filter(struct filter **filter, const struct verb *verb, const char *text)
{
    struct filter_error error = {0};
    if (*filter)
        return verb_refuse(verb, "two --filter: write both as one, (FIRST) and (SECOND)");
    int r = filter_create(bytes_of(text), filter, &error);
    if (r == -ENOMEM)
        return verb_complain_memory();
    return r < 0 ? verb_refuse(verb, "--filter: the filter's byte %zu: %s", error.at, error.problem)
                 : 0;
}

int choice_options_take_select(const char **select, bool *has_timestamp, const struct verb *verb,
                               const char *text)
{
    struct entity_select names;
    const char *problem;
    size_t at;
    if (entity_select_init(&names, bytes_of(text), &problem, &at) < 0)
        return verb_refuse(verb, "--select: byte %zu: %s -- names of properties, for example A,B",
                           at, problem);
    *select = text;
    *has_timestamp = entity_select_has(&names, BYTES_LITERAL("Timestamp"));
    return 0;
}
