/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_ENTITY_ENTITY_INPUT_REFUSAL_H
#define CLIENT_ENTITY_ENTITY_INPUT_REFUSAL_H
/* Why the text of an entity is refused, and where in the text; also of a part of it that is ignored
 * (refusal.error is 0 then). A value with views of the text. Pure. */
#include "client/entity/entity_check.h"

struct entity_input_refusal {
    size_t line, column; /* from 1, in characters; 0: not a certain line, or column */
    struct entity_refusal refusal;
    struct bytes value; /* the refused value, as in the text; empty: not a certain value */
};

/* Sets the line and column of an offset in the text. A byte order mark at the start has none. */
void entity_input_refusal_locate(struct entity_input_refusal *refusal, struct bytes text,
                                 size_t offset);
/* Sets ret for a text that is not JSON, with the `problem` and `offset` of json_reader.h. Returns
 * -EINVAL. */
int entity_input_refuse_json(struct bytes text, size_t offset, const char *problem,
                             struct entity_input_refusal *ret);

/* Appends the refusal as one line of at most ENTITY_INPUT_MAX_LINE bytes, for a log. Names and
 * values are shortened, and made printable (client/text/printable.h):
 *
 *     line 3, column 12: Count: no integer of 32 bits: 3000000000 */
#define ENTITY_INPUT_MAX_LINE 255
int entity_input_refusal_append(struct buffer *ret, const struct entity_input_refusal *refusal);

#endif
