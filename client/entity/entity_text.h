/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_ENTITY_ENTITY_TEXT_H
#define CLIENT_ENTITY_ENTITY_TEXT_H
/* The canonical text of an entity, made from the service's JSON: pretty-printed JSON, one property
 * on each line, PartitionKey and RowKey first, then by name. Values are never rounded. Pure; an
 * object is used by one thread.
 *
 *     {
 *       "PartitionKey": "Newtonsoft.Json",
 *       "RowKey": "13.0.1",
 *       "Downloads@odata.type": "Edm.Int64",
 *       "Downloads": "1234567890123",
 *       "Listed": true
 *     }
 *
 * Names are sorted by their UTF-8, an annotation precedes its property, and values are as
 * edm_value.h writes them. So equal entities have equal texts, whatever service sent them and in
 * whatever order. Not in the text: Timestamp, names that begin with "odata.", properties that are
 * null, annotations of absent properties.
 *
 * A value that its type does not allow, such as an Int64 with letters, is shown as it came: the
 * service has taken it. An entity has no text if what it holds would be a guess: a property occurs
 * twice; a value is an object or array; an annotation or the ETag is no string; the Timestamp is no
 * time; there are too many members. Such an entity still has its keys: it can be named and deleted.
 */
#include "client/text/json_reader.h"

struct entity_text; /* scratch memory, reused for every entity of a page */
int entity_text_create(struct entity_text **ret);
void entity_text_destroy(struct entity_text *text); /* takes NULL */

struct entity_facts { /* not in the text; views of `entity_text`, valid until the next call */
    struct bytes partition_key, row_key; /* CESU-8 */
    struct bytes etag;                   /* odata.etag, unescaped; empty: none */
    int64_t timestamp;                   /* 100 ns since 1970; 0: none */
    const char *problem;                 /* why there is no text, a static text; NULL: there is */
    struct bytes property;               /* which has the problem; empty: no one property */
    bool has_partition_key, has_row_key;
};

/* Reads an entity in `odata=minimalmetadata` (fullmetadata works, too). The reader was fed with a
 * whole text and has read the `{` of the entity; afterwards it has read its `}`. The canonical text
 * is appended to ret_text (NULL: keys and facts only; then a name that occurs twice is no problem).
 * -EPROTO: not JSON, or a key that is not a string or occurs twice; json_reader_problem and _offset
 * say why and where. -EFBIG: longer than ret_text's maximum; then ret_text holds a part of it.
 * -ENOMEM. */
int entity_text_from_service(struct entity_text *text, struct json_reader *reader,
                             struct buffer *ret_text, struct entity_facts *ret);

/* Appends why this JSON of an entity has no text, with the property, its name shortened:
 * "a property that occurs twice: x". -EPROTO: it is not such an entity. -ENOMEM. */
int entity_text_append_problem(struct bytes json, struct buffer *ret);

DEFINE_CLEANUP(struct entity_text *, entity_text_destroy);

#endif
