/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_IDENTITY_CONNECTION_STRING_H
#define CLIENT_IDENTITY_CONNECTION_STRING_H
/* Splits a connection string. Pure, any thread.
 * https://learn.microsoft.com/azure/storage/common/storage-configure-connection-string */
#include "client/base/bytes.h"
#include "client/store/call.h"

#define CONNECTION_STRING "AZURE_STORAGE_CONNECTION_STRING"

struct connection_string { /* views of the text; empty: not set */
    struct bytes protocol, account, key, suffix, endpoint, secondary, sas, development, proxy;
};

extern const char connection_string_advice[]; /* where to get a correct one */

/* Names are case-insensitive; names that do not concern tables are ignored, as in every SDK.
 * -EINVAL, with the reason in call->failure: a part is not NAME=VALUE, a name occurs twice, or a
 * value is in quotation marks. Values are not checked otherwise. */
int connection_string_parse(struct bytes text, struct call *call, struct connection_string *ret);

#endif
