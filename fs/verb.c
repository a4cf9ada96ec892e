#include "fs/verb.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>

int verb_refuse(const struct verb *verb, const char *cause, ...)
{
    va_list list;
    va_start(list, cause);
    (void)fprintf(stderr, "tablefuse: %s: ", verb->name);
    (void)vfprintf(stderr, cause, list);
    (void)fprintf(stderr, "\ntry `tablefuse %s --help`\n", verb->name);
    va_end(list);
    return EXIT_USAGE;
}

int verb_refuse_option(const struct verb *verb, int returned, char **argv)
{
    if (returned == ':')
        return verb_refuse(verb, "option -%c needs a value", optopt);
    if (optopt != 0)
        return verb_refuse(verb, "unknown option -%c", optopt);
    return verb_refuse(verb, "unknown option %s", argv[optind - 1]);
}
