/* SPDX-License-Identifier: MIT */
#include "fs/cli/verb.h"
#include "client/base/base.h"
#include "fs/base/file_io.h"
#include "fs/base/say.h"

#include <getopt.h>
#include <stdarg.h>
#include <sys/stat.h>

const char *verb_printable(const char *word)
{
    return strchr(word, '=') ? "(not shown, because it may hold a secret)" : word;
}

/* A directory may be called date=2026. Neither a token nor a connection string is the beginning of
 * a path that is there. */
const char *verb_printable_path(const char *word)
{
    const char *last = strrchr(word, '=');
    if (!last)
        return word;
    _cleanup_(freep) char *there = strndup(word, (size_t)(strchrnul(last, '/') - word));
    struct stat status;
    return there && lstat(there, &status) == 0 ? word : verb_printable(word);
}

int verb_refuse(const struct verb *verb, const char *cause, ...)
{
    va_list list;
    va_start(list, cause);
    say("tablefuse: %s%s", verb ? verb->name : "", verb ? ": " : "");
    say_list(stderr, "", cause, list);
    say("\n");
    va_end(list);
    return verb_point_to_help(verb);
}

int verb_point_to_help(const struct verb *verb)
{
    say("try `tablefuse %s%s--help`\n", verb ? verb->name : "", verb ? " " : "");
    return verb_usage_code(verb);
}

int verb_usage_code(const struct verb *verb)
{
    return verb && verb->usage_code != 0 ? verb->usage_code : EXIT_USAGE;
}

int verb_check_output(const struct verb *verb, const char *option, const char *file)
{
    return file_is_database(file)
               ? verb_refuse(verb,
                             "%s %s: it is a database of SQLite, as an account in a file is -- "
                             "name another file",
                             option, verb_printable_path(file))
               : 0;
}

int verb_refuse_option(const struct verb *verb, int returned, char **argv)
{
    const char *word = verb_printable(argv[optind - 1]);
    bool is_letter = optopt > ' '; /* else a long option has it as its number, or nothing has */
    if (returned == ':')
        return is_letter ? verb_refuse(verb, "option -%c needs a value", optopt)
                         : verb_refuse(verb, "option %s needs a value", word);
    return is_letter ? verb_refuse(verb, "unknown option -%c", optopt)
                     : verb_refuse(verb, "unknown option %s", word);
}

int verb_complain_memory(void)
{
    say("tablefuse: out of memory -- free some memory and try again\n");
    return EXIT_MOUNTING;
}
