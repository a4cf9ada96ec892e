#ifndef CLIENT_TEXT_ENTITY_TEXT_H
#define CLIENT_TEXT_ENTITY_TEXT_H
/* The canonical text of an entity, made from what the service answers: pretty-printed JSON, one property a line,
 * PartitionKey and RowKey first, then by name; nothing lost on the way. Pure; an object belongs to one thread. */
#include "client/text/json_reader.h"

struct entity_text; /* scratch memory, used again for every entity of a page */
int entity_text_create(struct entity_text **ret);
void entity_text_destroy(struct entity_text *text); /* takes NULL */

struct entity_facts { /* what stands beside the text; views into `entity_text` and the input, until the next call */
    struct bytes partition_key, row_key; /* CESU-8 */
    struct bytes etag;                   /* odata.etag, unescaped; empty: none */
    int64_t timestamp;                   /* 100 ns since 1970; 0: none */
    bool has_partition_key, has_row_key;
};

/* The reader stands before an entity, a JSON object in `odata=minimalmetadata` (fullmetadata works too), and afterwards
 * behind it. Its canonical text is appended to ret_text (NULL: keys and facts only). -EPROTO: not such an object. */
int entity_text_from_service(struct entity_text *text, struct json_reader *reader,
                             struct buffer *ret_text, struct entity_facts *ret);

DEFINE_CLEANUP(struct entity_text *, entity_text_destroy);

#endif
