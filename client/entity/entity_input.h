/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_ENTITY_ENTITY_INPUT_H
#define CLIENT_ENTITY_ENTITY_INPUT_H
/* Makes the canonical text of an entity from the JSON that a user wrote. The counterpart of
 * entity_text.h: a canonical text becomes itself. Pure; an object is used by one thread.
 *
 * - PartitionKey, RowKey, Timestamp and odata.* members are ignored, whatever their values are: the
 *   path is the key. Where it is not, entity_input_read_keys reads them.
 * - The annotation decides the type. An Int64 or Double may be given as a number or a string.
 * - Without an annotation, an integer that does not fit Int32 is an Int64, and a number with a
 *   point or an exponent is a Double.
 * - An annotation without its property is dropped. One that is null counts as absent.
 * - null means "no such property". In a merge null is refused: the service would ignore it.
 * - Where it is known what the text replaces, or is merged into (entity_input_append_over): in a
 *   merge a value without an annotation keeps the type that its property has there, if it is a
 *   value of that type. An annotation without its property is refused if the text also has a
 *   property that is not there, without an annotation: it was renamed, and would lose its type.
 * - Digits stay as they are; the spelling of values is the canonical one (edm_value.h).
 * - Refused: anything but one object, nested values, a name twice (names that differ in case are
 *   two), and what the service would refuse (entity_check.h).
 * - A byte order mark before an object is skipped.
 * - A merge may be several objects, one behind the other. They become one: of each property the
 *   last object that names it counts. Its type is the one that it would have if they were merged
 *   one after the other.
 *
 * Example: {"a": 3000000000, "b": null, "RowKey": "x"} at position p/r becomes PartitionKey p,
 * RowKey r, a@odata.type Edm.Int64, a "3000000000". */
#include "client/entity/entity_check.h"

/* The text of an accepted entity is shorter. At worst nearly all of it is escapes: six bytes of
 * text for two that the service counts. */
#define ENTITY_INPUT_MAX_BYTES ((size_t)4 << 20)

enum entity_input_kind { INPUT_WHOLE, INPUT_MERGE };

struct entity_input_refusal {
    size_t line, column; /* from 1, in characters; 0: no place, or column, in particular */
    struct entity_refusal refusal;
    struct bytes value; /* what is refused, as it stands in the text; empty: no one value */
};

struct entity_input; /* scratch memory, reused for every text */
int entity_input_create(struct entity_input **ret);
void entity_input_destroy(struct entity_input *input); /* takes NULL */

/* What an accepted text has that does not count, as refusals with error 0, which say so. A place
 * and views as of a refusal; without a reason: nothing. */
struct entity_input_ignored {
    struct entity_input_refusal annotation; /* the first without its property */
    struct entity_input_refusal key;        /* over a stored text: another one than the path's */
};

struct entity_input_over { /* a text, and what it is stored over */
    struct bytes position, text;
    enum entity_input_kind kind;
    struct bytes stored;   /* the canonical text that it replaces, or is merged into; data NULL:
                              nothing is there, or it is not known */
    struct bytes left_out; /* a name that is no property here; data NULL: none */
};

/* Appends the canonical text of the entity at `position`, whose keys it has; ret's maximum leaves
 * room for ENTITY_INPUT_MAX_BYTES. -EINVAL, -ENAMETOOLONG or -EFBIG: refused. Then ret_refusal is
 * set: the refusal that stands first in `text`, with views of `text` and of `input`, valid until
 * the next call. Otherwise -ENOMEM. After an error ret has the size that it had. ret_ignored is set
 * on success only. */
int entity_input_append_over(struct entity_input *input, const struct entity_input_over *over,
                             struct buffer *ret, struct entity_input_ignored *ret_ignored,
                             struct entity_input_refusal *ret_refusal);

/* The same where nothing is there, or it does not matter. */
static inline int entity_input_append(struct entity_input *input, struct bytes position,
                                      struct bytes text, enum entity_input_kind kind,
                                      struct buffer *ret, struct entity_input_refusal *ret_refusal)
{
    const struct entity_input_over over = {.position = position, .text = text, .kind = kind};
    struct entity_input_ignored ignored;
    return entity_input_append_over(input, &over, ret, &ignored, ret_refusal);
}

/* The keys that the text names, in CESU-8, for a path that does not tell them; both are cleared
 * first, and stay empty where it names none. Of several objects the last one that names a key
 * counts. The text is not checked but for its form; errors as of entity_input_append. */
int entity_input_read_keys(struct entity_input *input, struct bytes text,
                           enum entity_input_kind kind, struct buffer *ret_partition_key,
                           struct buffer *ret_row_key, struct entity_input_refusal *ret_refusal);

/* The refusal of a text that is not JSON, with the `problem` and `offset` of json_reader.h. Returns
 * its error, -EINVAL. */
int entity_input_refuse_json(struct bytes text, size_t offset, const char *problem,
                             struct entity_input_refusal *ret_refusal);

/* Appends the refusal as one line of at most ENTITY_INPUT_MAX_LINE bytes, for a log. Names and
 * values are shortened; what is no printable character becomes `?`:
 *
 *     line 3, column 12: Count: no integer of 32 bits: 3000000000 */
#define ENTITY_INPUT_MAX_LINE 255
int entity_input_refusal_append(struct buffer *ret, const struct entity_input_refusal *refusal);

DEFINE_CLEANUP(struct entity_input *, entity_input_destroy);

#endif
