/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_AZURE_TABLE_ANSWER_H
#define CLIENT_AZURE_TABLE_ANSWER_H
/* The service's list of tables: {"value":[{"TableName":"..."}, ...]}. Pure, any thread. */
#include "client/store/table_store.h"

/* Appends the names, also those that no table should have; of `only`, if it is given, that one
 * alone in exactly this spelling: the service compares without regard to case. -EPROTO: no such
 * list, or what client/text/small_json.h refuses. -ENOMEM; -EFBIG: the names' buffer. After an
 * error some names may have been appended. */
int table_answer_append(struct bytes body, const char *only, struct table_names *ret);

#endif
