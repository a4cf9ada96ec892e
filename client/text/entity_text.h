#ifndef CLIENT_TEXT_ENTITY_TEXT_H
#define CLIENT_TEXT_ENTITY_TEXT_H
/* The canonical text of an entity, made from what the service answers: pretty-printed JSON, one
 * property a line, PartitionKey and RowKey first, then by name; nothing lost on the way. Pure;
 * an object belongs to one thread.
 *
 *     {
 *       "PartitionKey": "Newtonsoft.Json",
 *       "RowKey": "13.0.1",
 *       "Downloads@odata.type": "Edm.Int64",
 *       "Downloads": "1234567890123",
 *       "Listed": true
 *     }
 *
 * Names are in the order of their UTF-8, an annotation stands before its property, values are as
 * edm_value.h makes them, so equal entities have equal texts, whichever service told of them and
 * in whichever order. Not in the text: Timestamp, everything called odata.*, properties that are
 * null, annotations of properties that are not there. Of members with one name the last counts. */
#include "client/text/json_reader.h"

#define ENTITY_TEXT_MAX_MEMBERS 65536 /* of one entity; the service allows some 500 */

struct entity_text; /* scratch memory, used again for every entity of a page */
int entity_text_create(struct entity_text **ret);
void entity_text_destroy(struct entity_text *text); /* takes NULL */

struct entity_facts { /* beside the text; views into `entity_text`, until the next call */
    struct bytes partition_key, row_key; /* CESU-8 */
    struct bytes etag;                   /* odata.etag, unescaped; empty: none */
    int64_t timestamp;                   /* 100 ns since 1970; 0: none */
    bool has_partition_key, has_row_key;
};

/* The reader, fed with a whole text, stands behind the `{` of an entity in
 * `odata=minimalmetadata` (fullmetadata works too), and afterwards behind its `}`. The canonical
 * text is appended to ret_text (NULL: keys and facts only). -EPROTO: not such an entity;
 * json_reader_problem and _offset say why and where. -EFBIG: over ret_text's maximum, after
 * which ret_text holds a part of it. -ENOMEM. */
int entity_text_from_service(struct entity_text *text, struct json_reader *reader,
                             struct buffer *ret_text, struct entity_facts *ret);

DEFINE_CLEANUP(struct entity_text *, entity_text_destroy);

#endif
