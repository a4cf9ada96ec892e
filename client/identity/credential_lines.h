/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_IDENTITY_CREDENTIAL_LINES_H
#define CLIENT_IDENTITY_CREDENTIAL_LINES_H
/* The text of a file of credentials: lines NAME=value, with the names of the environment's
 * variables. Empty lines are allowed, and comments, which begin with #. Blanks around a name do not
 * count; values stay as they are, and may be empty. One thread. A message names lines and names,
 * and never a value: what stands before `=` is repeated only if it looks like a variable's name. */
#include "client/store/call.h"

#define CREDENTIAL_LINES_NAMES 10
extern const char *const credential_lines_names[CREDENTIAL_LINES_NAMES];

struct credential_lines {
    char *text; /* the values are in it */
    size_t size;
    const char *values[CREDENTIAL_LINES_NAMES]; /* NULL: it has no such line */
};

/* Takes `text`, which is on the heap and ends with NUL, also after a failure. The caller finishes
 * ret after a success. -EINVAL, the reason in call->failure: a line is not NAME=value, or its name
 * is unknown, or stands twice. */
int credential_lines_parse(char *text, struct call *call, struct credential_lines *ret);
void credential_lines_finish(struct credential_lines *lines); /* wipes the text */

/* NULL: it has no such line. */
const char *credential_lines_get(const struct credential_lines *lines, const char *name);
/* Is there a key, a SAS or a connection string in it? */
bool credential_lines_has_credential(const struct credential_lines *lines);

#endif
