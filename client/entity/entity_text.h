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
 * Names are sorted by their UTF-8, an annotation is directly before its property, and values are in
 * the form of edm_value.h. So equal entities have equal texts, whichever service sent them, and in
 * whichever order. Not in the text: Timestamp, names that begin with "odata.", properties that are
 * null, annotations of absent properties.
 *
 * A value that its type does not allow, such as an Int64 with letters, is copied unchanged, because
 * the service has accepted it. An entity has no text if its content is not certain: a property
 * occurs twice; a value is an object or array; an annotation or the ETag is not a string; the
 * Timestamp is not a time; there are too many members. Its keys are known nevertheless: it can be
 * listed and deleted. */
#include "client/text/json_reader.h"

struct entity_text; /* scratch memory, reused for every entity of a page */
int entity_text_create(struct entity_text **ret);
void entity_text_destroy(struct entity_text *text); /* takes NULL */

struct entity_facts { /* not in the text; views of `entity_text`, valid until the next call */
    struct bytes partition_key, row_key; /* CESU-8 */
    struct bytes etag;                   /* odata.etag, unescaped; empty: none */
    int64_t timestamp;                   /* 100 ns since 1970; 0: none */
    const char *problem;                 /* why there is no text, a static string; NULL: there is */
    struct bytes property;               /* that has the problem; empty: the whole entity */
    bool has_partition_key, has_row_key;
};

/* Reads an entity in `odata=minimalmetadata` (fullmetadata works, too). The reader was fed with a
 * whole text and has read the `{` of the entity; afterwards it has read its `}`. Appends the
 * canonical text to ret_text (NULL: reads only the facts; then a name that occurs twice is no
 * problem). -EPROTO: not JSON, or a key that is not a string or occurs twice; see
 * json_reader_problem and json_reader_offset. -EFBIG: longer than ret_text's maximum; then ret_text
 * has a part of it. -ENOMEM. */
int entity_text_from_service(struct entity_text *text, struct json_reader *reader,
                             struct buffer *ret_text, struct entity_facts *ret);

/* Appends why the entity of this JSON has no text, with the shortened name of the property: "a
 * property that occurs twice: x". -EPROTO: it has a text, or is not an entity. -ENOMEM. */
int entity_text_append_problem(struct bytes json, struct buffer *ret);

DEFINE_CLEANUP(struct entity_text *, entity_text_destroy);

#endif
