/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_IDENTITY_CREDENTIAL_LINES_H
#define CLIENT_IDENTITY_CREDENTIAL_LINES_H
/* Parses a file of credentials: lines NAME=value, with the names of the environment variables.
 * Empty lines and comments, which begin with #, are allowed. Blanks around a name are ignored;
 * values are not changed, and may be empty. One thread. A message has line numbers and names, but
 * never a value: text before `=` is repeated only if it looks like a variable's name. */
#include "client/store/call.h"

#define CREDENTIAL_LINES_NAMES 10
extern const char *const credential_lines_names[CREDENTIAL_LINES_NAMES];

struct credential_lines {
    char *text; /* the values point into it */
    size_t size;
    const char *values[CREDENTIAL_LINES_NAMES]; /* NULL: no such line */
};

/* Takes ownership of `text`, which is on the heap and ends with NUL, also on failure. The caller
 * finishes ret after a success. -EINVAL, with the reason in call->failure: a line is not
 * NAME=value, or its name is unknown or occurs twice. */
int credential_lines_parse(char *text, struct call *call, struct credential_lines *ret);
void credential_lines_finish(struct credential_lines *lines); /* wipes the text */

/* NULL: no such line. */
const char *credential_lines_get(const struct credential_lines *lines, const char *name);
/* Does it have a key, a SAS or a connection string? */
bool credential_lines_has_credential(const struct credential_lines *lines);

#endif
