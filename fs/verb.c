#include "fs/verb.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *verb_printable(const char *word)
{
    return strchr(word, '=') ? "(not shown, because it may hold a secret)" : word;
}

int verb_refuse(const struct verb *verb, const char *cause, ...)
{
    va_list list;
    va_start(list, cause);
    (void)fprintf(stderr, "tablefuse: %s: ", verb->name);
    (void)vfprintf(stderr, cause, list);
    (void)fputc('\n', stderr);
    va_end(list);
    return verb_point_to_help(verb);
}

int verb_point_to_help(const struct verb *verb)
{
    (void)fprintf(stderr, "try `tablefuse %s --help`\n", verb->name);
    return EXIT_USAGE;
}

int verb_refuse_option(const struct verb *verb, int returned, char **argv)
{
    if (returned == ':')
        return verb_refuse(verb, "option -%c needs a value", optopt);
    if (optopt != 0)
        return verb_refuse(verb, "unknown option -%c", optopt);
    return verb_refuse(verb, "unknown option %s", verb_printable(argv[optind - 1]));
}
