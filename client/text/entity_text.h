#ifndef CLIENT_TEXT_ENTITY_TEXT_H
#define CLIENT_TEXT_ENTITY_TEXT_H
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
 * null, annotations of absent properties. A member that occurs twice is refused, and an Int64 that
 * is no integer: the service sends neither, and what the entity holds would be a guess. */
#include "client/text/json_reader.h"

struct entity_text; /* scratch memory, reused for every entity of a page */
int entity_text_create(struct entity_text **ret);
void entity_text_destroy(struct entity_text *text); /* takes NULL */

struct entity_facts { /* not in the text; views of `entity_text`, valid until the next call */
    struct bytes partition_key, row_key; /* CESU-8 */
    struct bytes etag;                   /* odata.etag, unescaped; empty: none */
    int64_t timestamp;                   /* 100 ns since 1970; 0: none */
    bool has_partition_key, has_row_key;
};

/* Reads an entity in `odata=minimalmetadata` (fullmetadata works, too). The reader was fed with a
 * whole text and has read the `{` of the entity; afterwards it has read its `}`. The canonical text
 * is appended to ret_text (NULL: keys and facts only). -EPROTO: not such an entity;
 * json_reader_problem and _offset say why and where. -EFBIG: longer than ret_text's maximum; then
 * ret_text holds a part of it. -ENOMEM. */
int entity_text_from_service(struct entity_text *text, struct json_reader *reader,
                             struct buffer *ret_text, struct entity_facts *ret);

/* Which entity was refused by the last call, as far as it was read; views of its text, in JSON's
 * escapes; empty: not known. */
struct entity_culprit {
    struct bytes partition_key, row_key;
    struct bytes property; /* the one that is the reason */
};
struct entity_culprit entity_text_culprit(const struct entity_text *text);

DEFINE_CLEANUP(struct entity_text *, entity_text_destroy);

#endif
