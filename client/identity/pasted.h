/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_IDENTITY_PASTED_H
#define CLIENT_IDENTITY_PASTED_H
/* Text that users paste from portals, files of Windows and shells. Pure, any thread. */
#include "client/base/bytes.h"
#include "client/store/call.h"

/* Cuts off blanks and line ends at both ends, and a byte order mark at the begin. -EINVAL, the
 * reason in call->failure: a quotation mark is the first or the last character. `what` names the
 * text, which is not repeated. */
int pasted_clean(const char *what, struct bytes text, struct call *call, struct bytes *ret);

#endif
