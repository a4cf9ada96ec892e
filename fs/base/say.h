/* SPDX-License-Identifier: MIT */
#ifndef FS_BASE_SAY_H
#define FS_BASE_SAY_H
/* Messages on standard error and standard output. They may contain foreign text, such as keys,
 * which is made printable (client/text/printable.h). So everything in fs/ writes there by these
 * functions, except fs/verbs/command.c, whose text is static. A message is written with one call,
 * so that lines of several threads do not mix. Any thread. */
#include <stdarg.h>
#include <stdio.h>

#define SAY_MAX_BYTES 16384 /* what is longer is cut */

/* As printf, on standard error. A newline at the end of `format` is written; all other control
 * characters are replaced. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* On another stream. */
void say_to(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same with the text `before` in front. */
void say_list(FILE *stream, const char *before, const char *format, va_list list)
    __attribute__((format(printf, 3, 0)));

#endif
