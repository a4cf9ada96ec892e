#include "client/text/entity_text.h"
#include "client/text/entity_lines.h"
#include "client/text/entity_members.h"
#include "client/text/json_string.h"

#define MAX_SCRATCH_BYTES ((size_t)64 << 20) /* the maximum of an answer */

/* The members are kept as views of the answer until all have been read; then they are sorted and
 * written. */
struct entity_text {
    struct entity_members members;
    struct json_token partition_key, row_key; /* strings; JSON_NULL: none */
    int64_t timestamp;
    struct buffer partition_key_cesu8, row_key_cesu8, etag;
};

int entity_text_create(struct entity_text **ret)
{
    _cleanup_(entity_text_destroyp) struct entity_text *text = calloc(1, sizeof(*text));
    if (!text)
        return -ENOMEM;
    buffer_init(&text->partition_key_cesu8, MAX_SCRATCH_BYTES);
    buffer_init(&text->row_key_cesu8, MAX_SCRATCH_BYTES);
    buffer_init(&text->etag, MAX_SCRATCH_BYTES);
    int r = entity_members_init(&text->members);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(text);
    return 0;
}

void entity_text_destroy(struct entity_text *text)
{
    if (!text)
        return;
    buffer_finish(&text->partition_key_cesu8);
    buffer_finish(&text->row_key_cesu8);
    buffer_finish(&text->etag);
    entity_members_finish(&text->members);
    free(text);
}

static void clear(struct entity_text *text)
{
    entity_members_clear(&text->members);
    text->partition_key = text->row_key = (struct json_token){.kind = JSON_NULL};
    text->timestamp = 0;
    buffer_clear(&text->partition_key_cesu8);
    buffer_clear(&text->row_key_cesu8);
    buffer_clear(&text->etag);
}

static int reject(struct json_reader *reader, const char *problem)
{
    json_reader_reject(reader, problem);
    return -EPROTO;
}

static int take_key(struct json_reader *reader, const struct json_token *value,
                    struct json_token *ret_key, struct buffer *ret_cesu8)
{
    if (value->kind != JSON_STRING && value->kind != JSON_NULL)
        return reject(reader, "a key that is not a string");
    *ret_key = *value;
    buffer_clear(ret_cesu8);
    return value->kind == JSON_NULL ? 0 : json_string_append_cesu8(ret_cesu8, value->text);
}

static int take_etag(struct entity_text *text, struct json_reader *reader,
                     const struct json_token *value)
{
    if (value->kind != JSON_STRING)
        return reject(reader, "an ETag that is not a string");
    buffer_clear(&text->etag);
    int r = json_string_append_utf8(&text->etag, value->text);
    return r == -EILSEQ ? reject(reader, "an ETag that is not text") : r;
}

/* The service sends null for a selected property that is absent. */
static int take_timestamp(struct entity_text *text, struct json_reader *reader,
                          struct json_token *value)
{
    text->timestamp = 0;
    if (value->kind == JSON_NULL)
        return 0;
    int r = entity_members_respell(&text->members, reader, value);
    if (r < 0)
        return r;
    if (value->kind != JSON_STRING || !edm_datetime_parse(value->text, &text->timestamp))
        return reject(reader, "a Timestamp that is no time");
    return 0;
}

static int take_member(struct entity_text *text, struct json_reader *reader,
                       struct entity_member *member)
{
    struct json_token *value = &member->value;
    switch (entity_member_role_of(member->name)) {
    case ENTITY_MEMBER_ANNOTATION:
        return entity_members_keep_annotation(&text->members, reader);
    case ENTITY_MEMBER_PARTITION_KEY:
        return take_key(reader, value, &text->partition_key, &text->partition_key_cesu8);
    case ENTITY_MEMBER_ROW_KEY:
        return take_key(reader, value, &text->row_key, &text->row_key_cesu8);
    case ENTITY_MEMBER_TIMESTAMP:
        return take_timestamp(text, reader, value);
    case ENTITY_MEMBER_ETAG:
        return take_etag(text, reader, value);
    case ENTITY_MEMBER_METADATA:
        return 0;
    case ENTITY_MEMBER_PROPERTY:
    default:
        return entity_members_keep(&text->members);
    }
}

static int take_members(struct entity_text *text, struct json_reader *reader)
{
    struct entity_member *member;
    int r;
    while ((r = entity_members_read(&text->members, reader, &member)) > 0) {
        r = take_member(text, reader, member);
        if (r < 0)
            return r;
    }
    return r;
}

static void append_property(struct buffer *ret, size_t begin, struct bytes name,
                            const struct edm_value *value)
{
    (void)entity_lines_append_name(ret, begin, name, value->annotation);
    (void)edm_value_append(ret, value);
}

static void append_key(struct buffer *ret, size_t begin, struct bytes name,
                       const struct json_token *key)
{
    struct edm_value value = edm_value_of(key, (struct bytes){NULL, 0});
    if (key->kind == JSON_STRING)
        append_property(ret, begin, name, &value);
}

/* Takes the members of one name, which are adjacent. Returns the last property and the last
 * annotation; NULL: there is none. */
static const struct entity_member *take_name(const struct entity_member **at,
                                             const struct entity_member *end,
                                             struct bytes *ret_annotation)
{
    struct bytes name = (*at)->name;
    const struct entity_member *property = NULL;
    *ret_annotation = (struct bytes){NULL, 0};
    do {
        if ((*at)->is_annotation)
            *ret_annotation = (*at)->value.text;
        else
            property = *at;
        *at += 1;
    } while (*at < end && bytes_equal((*at)->name, name));
    return property;
}

static void append_members(const struct entity_text *text, struct buffer *ret, size_t begin)
{
    const struct entity_member *at = text->members.members;
    const struct entity_member *end = at + text->members.count;
    while (at < end) {
        struct bytes annotation;
        const struct entity_member *property = take_name(&at, end, &annotation);
        if (!property || property->value.kind == JSON_NULL)
            continue;
        struct edm_value value = edm_value_of(&property->value, annotation);
        append_property(ret, begin, property->name, &value);
    }
}

static int append_entity(struct entity_text *text, struct buffer *ret)
{
    size_t begin = ret->size;
    entity_members_sort(&text->members);
    append_key(ret, begin, BYTES_LITERAL("PartitionKey"), &text->partition_key);
    append_key(ret, begin, BYTES_LITERAL("RowKey"), &text->row_key);
    append_members(text, ret, begin);
    return entity_lines_append_end(ret, begin);
}

int entity_text_from_service(struct entity_text *text, struct json_reader *reader,
                             struct buffer *ret_text, struct entity_facts *ret)
{
    clear(text);
    int r = take_members(text, reader);
    if (r == 0 && ret_text)
        r = append_entity(text, ret_text);
    if (r < 0)
        return r;
    *ret = (struct entity_facts){.partition_key = buffer_bytes(&text->partition_key_cesu8),
                                 .row_key = buffer_bytes(&text->row_key_cesu8),
                                 .etag = buffer_bytes(&text->etag),
                                 .timestamp = text->timestamp,
                                 .has_partition_key = text->partition_key.kind == JSON_STRING,
                                 .has_row_key = text->row_key.kind == JSON_STRING};
    return 0;
}
