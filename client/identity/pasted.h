/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_IDENTITY_PASTED_H
#define CLIENT_IDENTITY_PASTED_H
/* Cleans text that users paste from portals, Windows files and shells. Pure, any thread. */
#include "client/base/bytes.h"
#include "client/store/call.h"

/* Removes blanks and line ends at both ends, and a byte order mark at the start. -EINVAL, with the
 * reason in call->failure: the first or last character is a quotation mark. `what` is the name of
 * the text in messages, which do not repeat the text. */
int pasted_clean(const char *what, struct bytes text, struct call *call, struct bytes *ret);

#endif
