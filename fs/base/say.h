/* SPDX-License-Identifier: MIT */
#ifndef FS_BASE_SAY_H
#define FS_BASE_SAY_H
/* Messages on standard error and standard output. They may hold text of others, which is made
 * printable (client/text/printable.h), so nothing else in fs/ writes there but fs/verbs/command.c,
 * whose text is its own. A message is written at once, so that threads do not mix lines. Any
 * thread. */
#include <stdarg.h>
#include <stdio.h>

#define SAY_MAX_BYTES 16384 /* what is longer is cut */

/* As printf, on standard error. Only a newline at the end of `format` stays one. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* On another stream. */
void say_to(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* With a text before it, which is ours. */
void say_list(FILE *stream, const char *before, const char *format, va_list list)
    __attribute__((format(printf, 3, 0)));

#endif
