/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_ENTITY_ENTITY_INPUT_H
#define CLIENT_ENTITY_ENTITY_INPUT_H
/* Makes the canonical text of an entity from JSON that a user wrote. (entity_text.h does it for the
 * service's JSON.) A canonical text stays the same. Pure; an object is used by one thread.
 *
 * - PartitionKey, RowKey, Timestamp and odata.* members are ignored, whatever their values: the
 *   path gives the keys. If there is no path, entity_input_read_keys reads them.
 * - The annotation gives the type. An Int64 or Double may be written as a number or a string.
 * - Without an annotation, an integer that does not fit Int32 is an Int64, and a number with a
 *   point or an exponent is a Double.
 * - An annotation without its property is dropped; with the value null it is ignored.
 * - null means "no such property". In a merge null is refused, because the service would ignore it.
 * - If the stored text that is replaced or merged into is known (entity_input_append_over): in a
 *   merge, a value without an annotation gets the type that its property has in the stored text, if
 *   that type allows the value. An annotation without its property is refused if the text also has
 *   a new property without an annotation: probably it was renamed, and would lose its type.
 * - Digits are kept; the spelling of values becomes canonical (edm_value.h).
 * - Refused: anything but one object, nested values, a name twice (case matters), and what the
 *   service would refuse (entity_check.h).
 * - A byte order mark before an object is skipped.
 * - A merge may be several objects in a row. They become one: for each property, the last object
 *   that has it counts. Types are as if the objects were merged one after the other.
 *
 * Example: {"a": 3000000000, "b": null, "RowKey": "x"} at position p/r becomes PartitionKey p,
 * RowKey r, a@odata.type Edm.Int64, a "3000000000". */
#include "client/entity/entity_input_refusal.h"

/* No accepted text is longer. At worst nearly all of it is escapes: six bytes of text for two bytes
 * as the service counts. */
#define ENTITY_INPUT_MAX_BYTES ((size_t)4 << 20)

enum entity_input_kind { INPUT_WHOLE, INPUT_MERGE };

struct entity_input; /* scratch memory, reused for every text */
int entity_input_create(struct entity_input **ret);
void entity_input_destroy(struct entity_input *input); /* takes NULL */

/* Ignored parts of an accepted text, for a message. Each is like a refusal, but refusal.error is 0;
 * refusal.reason NULL: there is none. */
struct entity_input_ignored {
    struct entity_input_refusal annotation; /* the first annotation without its property */
    struct entity_input_refusal key;        /* if `stored` is given: a key that is not the path's */
};

struct entity_input_over { /* a text, and the stored text that it replaces or is merged into */
    struct bytes position, text;
    enum entity_input_kind kind;
    struct bytes stored;   /* canonical; data NULL: there is none, or it is not known */
    struct bytes left_out; /* a name that is not treated as a property; data NULL: none */
};

/* Appends the canonical text of the entity, with the keys of `position`; ret's maximum must leave
 * room for ENTITY_INPUT_MAX_BYTES. -EINVAL, -ENAMETOOLONG or -EFBIG: refused. Then ret_refusal is
 * the refusal that occurs first in `text`, with views of `text` and of `input`, valid until the
 * next call. Otherwise -ENOMEM. An error does not change ret. ret_ignored is set on success. */
int entity_input_append_over(struct entity_input *input, const struct entity_input_over *over,
                             struct buffer *ret, struct entity_input_ignored *ret_ignored,
                             struct entity_input_refusal *ret_refusal);

/* The same without a stored text. */
static inline int entity_input_append(struct entity_input *input, struct bytes position,
                                      struct bytes text, enum entity_input_kind kind,
                                      struct buffer *ret, struct entity_input_refusal *ret_refusal)
{
    const struct entity_input_over over = {.position = position, .text = text, .kind = kind};
    struct entity_input_ignored ignored;
    return entity_input_append_over(input, &over, ret, &ignored, ret_refusal);
}

/* Reads the keys in the text, in CESU-8, for a caller without a path. Both buffers are cleared
 * first; one stays empty if the text does not have the key. Of several objects, the last one with a
 * key counts. Only the form of the text is checked; errors as of entity_input_append. */
int entity_input_read_keys(struct entity_input *input, struct bytes text,
                           enum entity_input_kind kind, struct buffer *ret_partition_key,
                           struct buffer *ret_row_key, struct entity_input_refusal *ret_refusal);

DEFINE_CLEANUP(struct entity_input *, entity_input_destroy);

#endif
