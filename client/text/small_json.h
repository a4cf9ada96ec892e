/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_TEXT_SMALL_JSON_H
#define CLIENT_TEXT_SMALL_JSON_H
/* Reads with cJSON what the service answers in JSON and is no entity: errors, lists of tables. A
 * tree of a whole text, so only for small ones; entities go through json_reader. Untrusted input.
 * Any thread. Of equal names the first counts, in exactly this case: use
 * cJSON_GetObjectItemCaseSensitive, and never cJSON_GetErrorPtr, which is not thread-safe. */
#include "client/base/bytes.h"

#include <cjson/cJSON.h>

DEFINE_CLEANUP(cJSON *, cJSON_Delete);

/* Five times what a list of 1000 tables takes. The tree takes 40 times its text at most. */
#define SMALL_JSON_MAX_BYTES ((size_t)512 << 10)
#define SMALL_JSON_MAX_DEPTH 32 /* cJSON recurses */

/* The caller frees the tree with cJSON_Delete. -EPROTO: the text is not one JSON value, is too
 * long or too deep, or has a string that no C string in UTF-8 can be: with U+0000, or with half a
 * pair of surrogates. -ENOMEM. */
int small_json_parse(struct bytes text, cJSON **ret);

/* A view of the tree. Empty: `object` (NULL, too) is no object that has such a string. */
struct bytes small_json_string(const cJSON *object, const char *name);

#endif
