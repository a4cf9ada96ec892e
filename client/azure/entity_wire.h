#ifndef CLIENT_AZURE_ENTITY_WIRE_H
#define CLIENT_AZURE_ENTITY_WIRE_H
/* The JSON of an entity as it is sent: the inverse of what entity_text.h reads. Pure, any thread.
 *
 *     {"PartitionKey":"p","RowKey":"r","n@odata.type":"Edm.Int64","n":"1"}
 *
 * One line, compact, in UTF-8: a batch's body may hold nothing else (Azurite looks for the JSON
 * with a regular expression). U+2028 and U+2029 are escaped, which are ends of lines there. */
#include "client/bytes.h"

/* The keys are the position's, whatever the text says; a lone surrogate in them is escaped.
 * -EINVAL: a text that is not canonical, or a position that is not well-formed; the buffer's
 * errors. */
int entity_wire_append(struct buffer *ret, struct bytes position, struct bytes text);

#endif
