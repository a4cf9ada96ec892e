/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_AZURE_TABLE_ANSWER_H
#define CLIENT_AZURE_TABLE_ANSWER_H
/* The service's list of tables: {"value":[{"TableName":"..."}, ...]}. Pure, any thread. */
#include "client/store/table_store.h"

/* Appends the names, also illegal ones. If `only` is not NULL: just that name, in exactly this
 * spelling (the service ignores case). -EPROTO: not such a list, or client/text/small_json.h
 * refuses it. -EFBIG: of the buffer in ret; -ENOMEM. After an error some names may have been
 * appended. */
int table_answer_append(struct bytes body, const char *only, struct table_names *ret);

#endif
