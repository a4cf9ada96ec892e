/* SPDX-License-Identifier: MIT */
#include "client/entity/entity_text.h"
#include "client/base/unicode.h"
#include "client/entity/entity_lines.h"
#include "client/entity/entity_members.h"
#include "client/text/edm_datetime.h"
#include "client/text/json_string.h"

#define MAX_SCRATCH_BYTES ((size_t)64 << 20) /* the maximum of an answer */

/* The members are kept as views of the answer until all have been read; then they are sorted and
 * written. */
struct entity_text {
    struct entity_members members;
    struct json_token partition_key, row_key; /* strings; JSON_NULL: none */
    const char *problem;                      /* the first one; NULL: none */
    struct bytes property;                    /* that has it; empty: no one property */
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
    text->problem = NULL;
    text->property = BYTES_LITERAL("");
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

/* Notes why the entity cannot be understood. It is read to its end nevertheless, for the keys that
 * may follow. */
static void note_problem(struct entity_text *text, struct bytes property, const char *problem)
{
    if (text->problem)
        return;
    text->problem = problem;
    text->property = property;
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

static int take_etag(struct entity_text *text, const struct json_token *value)
{
    static const struct bytes no_property = BYTES_LITERAL("");
    buffer_clear(&text->etag);
    if (value->kind != JSON_STRING) {
        note_problem(text, no_property, "an ETag that is not a string");
        return 0;
    }
    int r = json_string_append_utf8(&text->etag, value->text);
    if (r != -EILSEQ)
        return r;
    buffer_clear(&text->etag);
    note_problem(text, no_property, "an ETag that is not text");
    return 0;
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
        note_problem(text, BYTES_LITERAL(""), "a Timestamp that is no time");
    return 0;
}

static int keep_member(struct entity_text *text, struct json_reader *reader, bool is_annotation)
{
    struct bytes name = text->members.members[text->members.count].name;
    int r = is_annotation ? entity_members_keep_annotation(&text->members, reader)
                          : entity_members_keep(&text->members);
    if (r == -EFBIG && text->members.count == ENTITY_MAX_MEMBERS) {
        note_problem(text, name, "more than 65,536 members");
        r = 0;
    }
    return r;
}

static int take_member(struct entity_text *text, struct json_reader *reader,
                       struct entity_member *member)
{
    struct json_token *value = &member->value;
    switch (entity_member_role_of(member->name)) {
    case ENTITY_MEMBER_ANNOTATION:
        if (value->kind == JSON_STRING)
            return keep_member(text, reader, true);
        note_problem(text, member->name, "an annotation that is not a string");
        return 0;
    case ENTITY_MEMBER_PARTITION_KEY:
        return take_key(reader, value, &text->partition_key, &text->partition_key_cesu8);
    case ENTITY_MEMBER_ROW_KEY:
        return take_key(reader, value, &text->row_key, &text->row_key_cesu8);
    case ENTITY_MEMBER_TIMESTAMP:
        return take_timestamp(text, reader, value);
    case ENTITY_MEMBER_ETAG:
        return take_etag(text, value);
    case ENTITY_MEMBER_METADATA:
        return 0;
    case ENTITY_MEMBER_PROPERTY:
    default:
        return keep_member(text, reader, false);
    }
}

static int skip_nested(struct json_reader *reader)
{
    return json_reader_skip_rest(reader) < JSON_OBJECT_BEGIN ? -EPROTO : 0;
}

static bool is_key(struct bytes name)
{
    enum entity_member_role role = entity_member_role_of(name);
    return role == ENTITY_MEMBER_PARTITION_KEY || role == ENTITY_MEMBER_ROW_KEY;
}

static int take_members(struct entity_text *text, struct json_reader *reader)
{
    struct entity_member *member;
    int r;
    while ((r = entity_members_read(&text->members, reader, &member)) > 0) {
        bool is_nested = entity_member_is_nested(member) && !is_key(member->name);
        if (is_nested)
            note_problem(text, member->name, ENTITY_NESTED_PROBLEM);
        r = is_nested ? skip_nested(reader) : take_member(text, reader, member);
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

static void append_members(struct entity_text *text, struct buffer *ret, size_t begin)
{
    const struct entity_member *at = text->members.members;
    const struct entity_member *end = at + text->members.count;
    while (at < end && !text->problem) {
        const struct entity_member *annotation, *property;
        struct bytes name = at->name;
        if (!take_name(&at, end, &annotation, &property))
            note_problem(text, name, "a property that occurs twice");
        if (!property || property->value.kind == JSON_NULL)
            continue;
        struct edm_value value = edm_value_of(
            &property->value, annotation ? annotation->value.text : (struct bytes){NULL, 0});
        append_property(ret, begin, name, &value);
    }
}

static int append_entity(struct entity_text *text, struct buffer *ret)
{
    size_t begin = ret->size;
    if (!text->problem) {
        entity_members_sort(&text->members);
        append_key(ret, begin, BYTES_LITERAL("PartitionKey"), &text->partition_key);
        append_key(ret, begin, BYTES_LITERAL("RowKey"), &text->row_key);
        append_members(text, ret, begin);
    }
    if (!text->problem)
        return entity_lines_append_end(ret, begin);
    ret->size = begin;
    return ret->error;
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
                                 .problem = text->problem,
                                 .property = text->property,
                                 .has_partition_key = text->partition_key.kind == JSON_STRING,
                                 .has_row_key = text->row_key.kind == JSON_STRING};
    return 0;
}

static int append_problem(struct entity_text *text, struct bytes json, struct buffer *ret)
{
    _cleanup_(buffer_finish) struct buffer canonical = {.max = MAX_SCRATCH_BYTES};
    struct json_reader reader;
    struct json_token token;
    struct entity_facts facts;
    json_reader_init(&reader);
    json_reader_feed(&reader, json, true);
    if (json_reader_next(&reader, &token) != JSON_OBJECT_BEGIN)
        return -EPROTO;
    int r = entity_text_from_service(text, &reader, &canonical, &facts);
    if (r < 0)
        return r;
    if (!facts.problem)
        return -EPROTO;
    struct bytes property = utf8_first(facts.property, 40); /* short, for a message */
    (void)buffer_append_string(ret, facts.problem);
    if (property.size == 0)
        return ret->error;
    (void)buffer_append_string(ret, ": ");
    return buffer_append(ret, property);
}

int entity_text_append_problem(struct bytes json, struct buffer *ret)
{
    _cleanup_(entity_text_destroyp) struct entity_text *text = NULL;
    int r = entity_text_create(&text);
    return r < 0 ? r : append_problem(text, json, ret);
}
