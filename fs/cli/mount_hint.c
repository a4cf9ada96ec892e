/* SPDX-License-Identifier: MIT */
#include "fs/cli/mount_hint.h"
#include "client/base/bytes.h"
#include "fs/cli/options.h"

#include <getopt.h>

#define NAME_SIZE 32 /* a longer name is none of ours */

#define MEANS_READ_ONLY  "do you mean -o ro?"
#define MEANS_FOREGROUND "do you mean -f?"
#define MEANS_DEBUG      "mount -f -o debug shows each request of the kernel"
#define MEANS_VERBOSE                                                                              \
    "mount -f shows the messages; .tablefuse/errors and .tablefuse/stats in the mount tell more"

static const struct hint {
    const char *option, *meant;
} hints[] = {
    {"-r", MEANS_READ_ONLY},
    {"--read-only", MEANS_READ_ONLY},
    {"--readonly", MEANS_READ_ONLY},
    {"-d", MEANS_DEBUG},
    {"--debug", MEANS_DEBUG},
    {"-v", MEANS_VERBOSE},
    {"--verbose", MEANS_VERBOSE},
    {"-V", "do you mean `tablefuse version`?"},
    {"--foreground", MEANS_FOREGROUND},
};

/* NULL: other programs do not have it. */
static const char *hint_of(const char *option)
{
    for (size_t i = 0; i < ARRAY_SIZE(hints); i++) {
        if (strcmp(hints[i].option, option) == 0)
            return hints[i].meant;
    }
    return NULL;
}

/* --cache-size=1G is -o cache_size=1G. A word that is only near to an option may be something else,
 * and its value may be a secret, so it is not shown. */
static int refuse_long(const struct verb *verb, const char *option)
{
    char name[NAME_SIZE];
    struct option_name near;
    const char *equals = strchrnul(option, '=');
    (void)snprintf(name, sizeof(name), "%.*s", (int)(equals - option - 2), option + 2);
    for (char *at = strchr(name, '-'); at; at = strchr(at, '-'))
        *at = '_';
    if (!options_find_near(bytes_of(name), &near))
        return verb_refuse(verb, "unknown option %s", verb_printable(option));
    bool is_same = bytes_equal(near.name, bytes_of(name));
    const char *value = *equals && is_same ? equals + 1 : "VALUE";
    return verb_refuse(verb, "unknown option %s -- do you mean -o %.*s%s%s?",
                       is_same ? option : verb_printable(option), (int)near.name.size,
                       near.name.data, near.takes_value ? "=" : "", near.takes_value ? value : "");
}

int mount_hint_refuse(const struct verb *verb, int returned, char **argv)
{
    char short_option[] = {'-', (char)optopt, '\0'};
    const char *option = optopt != 0 ? short_option : argv[optind - 1];
    const char *meant = returned == '?' ? hint_of(option) : NULL;
    if (meant)
        return verb_refuse(verb, "unknown option %s -- %s", option, meant);
    if (returned == '?' && optopt == 0)
        return refuse_long(verb, option);
    return verb_refuse_option(verb, returned, argv);
}

int mount_hint_refuse_command(const char *option)
{
    const char *meant = hint_of(option);
    if (meant)
        return verb_refuse(NULL, "unknown option %s -- %s", option, meant);
    return verb_refuse(NULL, "unknown option %s", verb_printable(option));
}
