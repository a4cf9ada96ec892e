/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_AZURE_ENTITY_WIRE_H
#define CLIENT_AZURE_ENTITY_WIRE_H
/* The JSON of an entity as it is sent, made from its canonical text: the inverse of entity_text.h.
 * Pure, any thread.
 *
 *     {"PartitionKey":"p","RowKey":"r","n@odata.type":"Edm.Int64","n":"1"}
 *
 * It is compact, in UTF-8, on one line, because Azurite finds the JSON in a batch's body with a
 * regular expression. U+2028 and U+2029 are escaped, because in that expression they end a line. */
#include "client/base/bytes.h"

/* The keys are taken from the position, not from the text; a lone surrogate in them is escaped.
 * -EINVAL: the text is not canonical, or the position is not well-formed; the buffer's errors. */
int entity_wire_append(struct buffer *ret, struct bytes position, struct bytes text);
/* An upper bound of its size; if the text has the keys, they are counted twice. */
size_t entity_wire_size(struct bytes position, struct bytes text);

#endif
