#include "client/text/entity_text.h"
#include "client/text/entity_lines.h"
#include "client/text/json_string.h"

#define FIRST_MEMBERS     32                 /* doubled up to ENTITY_TEXT_MAX_MEMBERS */
#define MAX_SCRATCH_BYTES ((size_t)64 << 20) /* the maximum of an answer */

/* A member is kept as views of the answer until all have been read; then they are sorted and
 * written. */
struct member {
    struct bytes name; /* in canonical form; of an annotation: its property's */
    bool has_escapes;  /* the name, in canonical form */
    bool is_annotation;
    uint32_t order;          /* in the answer */
    struct json_token value; /* of an annotation: a string in canonical form */
};

struct entity_text {
    struct member *members;
    size_t count, capacity;
    struct json_token partition_key, row_key; /* strings; JSON_NULL: none */
    int64_t timestamp;
    struct buffer partition_key_cesu8, row_key_cesu8, etag;
    struct buffer respelled; /* names and strings; never reallocated while there are views of it */
};

enum role {
    ROLE_PROPERTY,
    ROLE_ANNOTATION,
    ROLE_PARTITION_KEY,
    ROLE_ROW_KEY,
    ROLE_TIMESTAMP,
    ROLE_ETAG,
    ROLE_METADATA,
};

static const struct bytes annotation_suffix = BYTES_LITERAL(ENTITY_ANNOTATION_SUFFIX);

int entity_text_create(struct entity_text **ret)
{
    _cleanup_(entity_text_destroyp) struct entity_text *text = calloc(1, sizeof(*text));
    if (!text)
        return -ENOMEM;
    buffer_init(&text->partition_key_cesu8, MAX_SCRATCH_BYTES);
    buffer_init(&text->row_key_cesu8, MAX_SCRATCH_BYTES);
    buffer_init(&text->etag, MAX_SCRATCH_BYTES);
    buffer_init(&text->respelled, MAX_SCRATCH_BYTES);
    text->members = calloc(FIRST_MEMBERS, sizeof(*text->members));
    text->capacity = FIRST_MEMBERS;
    if (!text->members)
        return -ENOMEM;
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
    buffer_finish(&text->respelled);
    free(text->members);
    free(text);
}

static void clear(struct entity_text *text)
{
    text->count = 0;
    text->partition_key = text->row_key = (struct json_token){.kind = JSON_NULL};
    text->timestamp = 0;
    buffer_clear(&text->partition_key_cesu8);
    buffer_clear(&text->row_key_cesu8);
    buffer_clear(&text->etag);
    buffer_clear(&text->respelled);
}

static int reject(struct json_reader *reader, const char *problem)
{
    json_reader_reject(reader, problem);
    return -EPROTO;
}

/* Converts a name or string to canonical form, which is never longer. `respelled` gets room for
 * the whole rest of the text, so that it is not reallocated before the entity ends. */
static int respell(struct entity_text *text, const struct json_reader *reader,
                   struct json_token *token)
{
    struct buffer *respelled = &text->respelled;
    if (!token->has_escapes)
        return 0;
    if (!buffer_reserve(respelled, token->text.size + json_reader_left(reader)))
        return respelled->error;
    size_t begin = respelled->size;
    int r = json_string_append_canonical(respelled, token->text);
    if (r < 0)
        return r;
    token->text = bytes_skip(buffer_bytes(respelled), begin);
    token->has_escapes = bytes_find(token->text, BYTES_LITERAL("\\")) != NULL;
    return 0;
}

static enum role role_of(struct bytes name)
{
    if (bytes_equal(name, BYTES_LITERAL("PartitionKey")))
        return ROLE_PARTITION_KEY;
    if (bytes_equal(name, BYTES_LITERAL("RowKey")))
        return ROLE_ROW_KEY;
    if (bytes_equal(name, BYTES_LITERAL("Timestamp")))
        return ROLE_TIMESTAMP;
    if (bytes_equal(name, BYTES_LITERAL("odata.etag")))
        return ROLE_ETAG;
    if (bytes_start_with(name, BYTES_LITERAL("odata.")))
        return ROLE_METADATA;
    return bytes_end_with(name, annotation_suffix) ? ROLE_ANNOTATION : ROLE_PROPERTY;
}

static int grow_members(struct entity_text *text)
{
    if (text->count < text->capacity)
        return 0;
    if (text->capacity == ENTITY_TEXT_MAX_MEMBERS)
        return -EFBIG;
    size_t capacity = text->capacity * 2;
    struct member *members = reallocarray(text->members, capacity, sizeof(*members));
    if (!members)
        return -ENOMEM;
    text->members = members;
    text->capacity = capacity;
    return 0;
}

static int add_member(struct entity_text *text, const struct json_token *name,
                      const struct json_token *value, bool is_annotation)
{
    int r = grow_members(text);
    if (r < 0)
        return r;
    text->members[text->count] = (struct member){.name = name->text,
                                                 .has_escapes = name->has_escapes,
                                                 .is_annotation = is_annotation,
                                                 .order = (uint32_t)text->count,
                                                 .value = *value};
    text->count++;
    return 0;
}

static int add_annotation(struct entity_text *text, struct json_reader *reader,
                          struct json_token *name, struct json_token *value)
{
    if (value->kind != JSON_STRING)
        return reject(reader, "an annotation that is not a string");
    int r = respell(text, reader, value);
    if (r < 0)
        return r;
    name->text.size -= annotation_suffix.size;
    return add_member(text, name, value, true);
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
    int r = respell(text, reader, value);
    if (r < 0)
        return r;
    if (value->kind != JSON_STRING || !edm_datetime_parse(value->text, &text->timestamp))
        return reject(reader, "a Timestamp that is no time");
    return 0;
}

static int take_member(struct entity_text *text, struct json_reader *reader,
                       struct json_token *name)
{
    struct json_token value;
    int r = respell(text, reader, name);
    if (r < 0)
        return r;
    if (json_reader_next(reader, &value) == JSON_ERROR)
        return -EPROTO;
    if (value.kind == JSON_OBJECT_BEGIN || value.kind == JSON_ARRAY_BEGIN)
        return reject(reader, "an object or array as a property's value");
    switch (role_of(name->text)) {
    case ROLE_ANNOTATION:
        return add_annotation(text, reader, name, &value);
    case ROLE_PARTITION_KEY:
        return take_key(reader, &value, &text->partition_key, &text->partition_key_cesu8);
    case ROLE_ROW_KEY:
        return take_key(reader, &value, &text->row_key, &text->row_key_cesu8);
    case ROLE_TIMESTAMP:
        return take_timestamp(text, reader, &value);
    case ROLE_ETAG:
        return take_etag(text, reader, &value);
    case ROLE_METADATA:
        return 0;
    case ROLE_PROPERTY:
    default:
        return add_member(text, name, &value, false);
    }
}

static int take_members(struct entity_text *text, struct json_reader *reader)
{
    struct json_token token;
    for (;;) {
        switch ((int)json_reader_next(reader, &token)) {
        case JSON_OBJECT_END:
            return 0;
        case JSON_NAME:
            break;
        default:
            return -EPROTO;
        }
        int r = take_member(text, reader, &token);
        if (r < 0)
            return r;
    }
}

static int compare_names(const struct member *a, const struct member *b)
{
    if (a->has_escapes || b->has_escapes)
        return json_string_compare(a->name, b->name);
    return bytes_compare(a->name, b->name);
}

/* By name, then annotations before properties, then in the order of the answer, so that the last
 * of several is the one that counts. */
static int compare_members(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    int order = compare_names(a, b);
    if (order != 0)
        return order;
    if (a->is_annotation != b->is_annotation)
        return a->is_annotation ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

/* Entities usually have few members, often in order already: then insertion is faster than
 * qsort. */
static void sort_members(struct member *members, size_t count)
{
    if (count > 32) {
        qsort(members, count, sizeof(*members), compare_members);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        struct member member = members[i];
        size_t at = i;
        for (; at > 0 && compare_members(&members[at - 1], &member) > 0; at--)
            members[at] = members[at - 1];
        members[at] = member;
    }
}

static void begin_line(struct buffer *ret, size_t begin, struct bytes name)
{
    (void)entity_lines_append(ret, begin, BYTES_LITERAL("\""));
    (void)buffer_append(ret, name);
}

static void append_property(struct buffer *ret, size_t begin, struct bytes name,
                            const struct edm_value *value)
{
    if (value->annotation.data) {
        begin_line(ret, begin, name);
        (void)buffer_append(ret, BYTES_LITERAL(ENTITY_ANNOTATION_SUFFIX "\": \""));
        (void)buffer_append(ret, value->annotation);
        (void)buffer_append_char(ret, '"');
    }
    begin_line(ret, begin, name);
    (void)buffer_append(ret, BYTES_LITERAL("\": "));
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
static const struct member *take_name(const struct member **at, const struct member *end,
                                      struct bytes *ret_annotation)
{
    struct bytes name = (*at)->name;
    const struct member *property = NULL;
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
    const struct member *at = text->members, *end = at + text->count;
    while (at < end) {
        struct bytes annotation;
        const struct member *property = take_name(&at, end, &annotation);
        if (!property || property->value.kind == JSON_NULL)
            continue;
        struct edm_value value = edm_value_of(&property->value, annotation);
        append_property(ret, begin, property->name, &value);
    }
}

static int append_entity(struct entity_text *text, struct buffer *ret)
{
    size_t begin = ret->size;
    sort_members(text->members, text->count);
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
