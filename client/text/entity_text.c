#include "client/text/entity_text.h"
#include "client/text/edm_datetime.h"
#include "client/text/entity_lines.h"
#include "client/text/entity_members.h"
#include "client/text/json_string.h"

#define MAX_SCRATCH_BYTES ((size_t)64 << 20) /* the maximum of an answer */

/* The members are kept as views of the answer until all have been read; then they are sorted and
 * written. */
struct entity_text {
    struct entity_members members;
    struct json_token partition_key, row_key; /* strings; JSON_NULL: none */
    struct bytes wrong_property;
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
    text->wrong_property = BYTES_LITERAL("");
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
    if (ret_key->kind == JSON_STRING)
        return reject(reader, "a key that occurs twice");
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

#define INT64_SURE_DIGITS 18 /* any integer of 18 digits fits */

/* written: in canonical form, with its quotes. */
static bool is_int64(struct bytes written)
{
    int64_t ignored;
    if (written.size < 2 || written.data[0] != '"')
        return false;
    struct bytes text = {written.data + 1, written.size - 2};
    size_t digits = 0;
    while (digits < text.size && text.data[digits] >= '0' && text.data[digits] <= '9')
        digits++;
    if (digits == text.size && digits > 0 && digits <= INT64_SURE_DIGITS)
        return true;
    return edm_integer_parse(text, INT64_MIN, INT64_MAX, &ignored);
}

/* False: it is an Int64 that is no integer. */
static bool append_property(struct buffer *ret, size_t begin, struct bytes name,
                            const struct edm_value *value)
{
    (void)entity_lines_append_name(ret, begin, name, value->annotation);
    size_t at = ret->size;
    return edm_value_append(ret, value) < 0 || value->type != EDM_INT64 ||
           is_int64(bytes_skip(buffer_bytes(ret), at));
}

static void append_key(struct buffer *ret, size_t begin, struct bytes name,
                       const struct json_token *key)
{
    struct edm_value value = edm_value_of(key, (struct bytes){NULL, 0});
    if (key->kind == JSON_STRING)
        (void)append_property(ret, begin, name, &value);
}

/* Takes the members of one name, which are adjacent: an annotation, a property, or both in this
 * order. False: one of them occurs twice. */
static bool take_name(const struct entity_member **at, const struct entity_member *end,
                      const struct entity_member **ret_annotation,
                      const struct entity_member **ret_property)
{
    const struct entity_member *first = *at, *next = first + 1;
    bool has_next = next < end && bytes_equal(next->name, first->name);
    *ret_annotation = first->is_annotation ? first : NULL;
    *ret_property = first->is_annotation ? NULL : first;
    *at = next;
    if (!has_next)
        return true;
    if (!first->is_annotation || next->is_annotation)
        return false;
    *ret_property = next;
    *at = next + 1;
    return *at == end || !bytes_equal((*at)->name, first->name);
}

static int reject_property(struct entity_text *text, struct json_reader *reader, struct bytes name,
                           const char *problem)
{
    text->wrong_property = name;
    return reject(reader, problem);
}

static int append_members(struct entity_text *text, struct json_reader *reader, struct buffer *ret,
                          size_t begin)
{
    const struct entity_member *at = text->members.members;
    const struct entity_member *end = at + text->members.count;
    while (at < end) {
        const struct entity_member *annotation, *property;
        struct bytes name = at->name;
        if (!take_name(&at, end, &annotation, &property))
            return reject_property(text, reader, name, "a property that occurs twice");
        if (!property || property->value.kind == JSON_NULL)
            continue;
        struct edm_value value = edm_value_of(
            &property->value, annotation ? annotation->value.text : (struct bytes){NULL, 0});
        if (!append_property(ret, begin, name, &value))
            return reject_property(text, reader, name, "an Int64 that is no integer of 64 bits");
    }
    return 0;
}

static int append_entity(struct entity_text *text, struct json_reader *reader, struct buffer *ret)
{
    size_t begin = ret->size;
    entity_members_sort(&text->members);
    append_key(ret, begin, BYTES_LITERAL("PartitionKey"), &text->partition_key);
    append_key(ret, begin, BYTES_LITERAL("RowKey"), &text->row_key);
    int r = append_members(text, reader, ret, begin);
    return r < 0 ? r : entity_lines_append_end(ret, begin);
}

static struct bytes key_text(const struct json_token *key)
{
    return key->kind == JSON_STRING ? key->text : BYTES_LITERAL("");
}

struct entity_culprit entity_text_culprit(const struct entity_text *text)
{
    return (struct entity_culprit){.partition_key = key_text(&text->partition_key),
                                   .row_key = key_text(&text->row_key),
                                   .property = text->wrong_property};
}

int entity_text_from_service(struct entity_text *text, struct json_reader *reader,
                             struct buffer *ret_text, struct entity_facts *ret)
{
    clear(text);
    int r = take_members(text, reader);
    if (r == 0 && ret_text)
        r = append_entity(text, reader, ret_text);
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
