/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_TEXT_SMALL_JSON_H
#define CLIENT_TEXT_SMALL_JSON_H
/* Reads the service's JSON that is not an entity: errors and lists of tables. cJSON makes a tree of
 * the whole text, so this is only for small texts; json_reader reads entities. Untrusted input. Any
 * thread. If a name occurs twice, the first one counts. Names are case-sensitive: use
 * cJSON_GetObjectItemCaseSensitive. Never use cJSON_GetErrorPtr: it is not thread-safe. */
#include "client/base/bytes.h"

#include <cjson/cJSON.h>

DEFINE_CLEANUP(cJSON *, cJSON_Delete);

/* Five times the size of a list of 1000 tables. The tree takes at most 40 times its text. */
#define SMALL_JSON_MAX_BYTES ((size_t)512 << 10)
#define SMALL_JSON_MAX_DEPTH 32 /* cJSON recurses */

/* The caller frees the tree with cJSON_Delete. -EPROTO: the text is not one JSON value, is too
 * long or too deep, or has a string that cannot be a C string in UTF-8: with U+0000 or a lone
 * surrogate. -ENOMEM. */
int small_json_parse(struct bytes text, cJSON **ret);

/* The string that is the member `name`, a view of the tree. Empty: there is none, or `object` is
 * not an object (it may be NULL). */
struct bytes small_json_string(const cJSON *object, const char *name);

#endif
