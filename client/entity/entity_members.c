/* SPDX-License-Identifier: MIT */
#include "client/entity/entity_members.h"
#include "client/entity/entity_lines.h"
#include "client/text/json_string.h"

#define FIRST_MEMBERS     32                 /* doubled as needed */
#define MAX_SCRATCH_BYTES ((size_t)64 << 20) /* the maximum of an answer */

static const struct bytes annotation_suffix = BYTES_LITERAL(ENTITY_ANNOTATION_SUFFIX);

int entity_members_init(struct entity_members *members)
{
    *members = (struct entity_members){.capacity = FIRST_MEMBERS};
    buffer_init(&members->respelled, MAX_SCRATCH_BYTES);
    members->members = calloc(FIRST_MEMBERS, sizeof(*members->members));
    return members->members ? 0 : -ENOMEM;
}

void entity_members_finish(struct entity_members *members)
{
    buffer_finish(&members->respelled);
    free(members->members);
}

void entity_members_clear(struct entity_members *members)
{
    members->count = 0;
    buffer_clear(&members->respelled);
}

/* The canonical form is never longer. `respelled` gets room for the whole rest of the text, so that
 * it is not reallocated before the text ends. */
int entity_members_respell(struct entity_members *members, const struct json_reader *reader,
                           struct json_token *token)
{
    struct buffer *respelled = &members->respelled;
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

/* Room for one member more than are kept. */
static int grow(struct entity_members *members)
{
    if (members->count < members->capacity)
        return 0;
    size_t capacity = members->capacity * 2;
    struct entity_member *grown = reallocarray(members->members, capacity, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    members->members = grown;
    members->capacity = capacity;
    return 0;
}

static int read_name(struct entity_members *members, struct json_reader *reader,
                     struct entity_member *ret)
{
    struct json_token name;
    switch ((int)json_reader_next(reader, &name)) {
    case JSON_OBJECT_END:
        return 0;
    case JSON_NAME:
        break;
    default:
        return -EPROTO;
    }
    ret->raw = name.text.data;
    int r = entity_members_respell(members, reader, &name);
    ret->name = name.text;
    ret->has_escapes = name.has_escapes;
    return r < 0 ? r : 1;
}

int entity_members_read(struct entity_members *members, struct json_reader *reader,
                        struct entity_member **ret)
{
    int r = grow(members);
    if (r < 0)
        return r;
    struct entity_member *member = &members->members[members->count];
    r = read_name(members, reader, member);
    if (r <= 0)
        return r;
    if (json_reader_next(reader, &member->value) == JSON_ERROR)
        return -EPROTO;
    member->is_annotation = false;
    member->object = 0;
    *ret = member;
    return 1;
}

bool entity_member_is_nested(const struct entity_member *member)
{
    return member->value.kind == JSON_OBJECT_BEGIN || member->value.kind == JSON_ARRAY_BEGIN;
}

enum entity_member_role entity_member_role_of(struct bytes name)
{
    if (bytes_equal(name, BYTES_LITERAL("PartitionKey")))
        return ENTITY_MEMBER_PARTITION_KEY;
    if (bytes_equal(name, BYTES_LITERAL("RowKey")))
        return ENTITY_MEMBER_ROW_KEY;
    if (bytes_equal(name, BYTES_LITERAL("Timestamp")))
        return ENTITY_MEMBER_TIMESTAMP;
    if (bytes_equal(name, BYTES_LITERAL("odata.etag")))
        return ENTITY_MEMBER_ETAG;
    if (bytes_start_with(name, BYTES_LITERAL("odata.")))
        return ENTITY_MEMBER_METADATA;
    return bytes_end_with(name, annotation_suffix) ? ENTITY_MEMBER_ANNOTATION
                                                   : ENTITY_MEMBER_PROPERTY;
}

int entity_members_keep(struct entity_members *members)
{
    if (members->count == ENTITY_MAX_MEMBERS)
        return -EFBIG;
    members->members[members->count].order = (uint32_t)members->count;
    members->count++;
    return 0;
}

int entity_members_keep_annotation(struct entity_members *members, struct json_reader *reader)
{
    struct entity_member *annotation = &members->members[members->count];
    if (annotation->value.kind != JSON_STRING) {
        json_reader_reject(reader, "an annotation that is not a string");
        return -EPROTO;
    }
    int r = entity_members_respell(members, reader, &annotation->value);
    if (r < 0)
        return r;
    annotation->name.size -= annotation_suffix.size;
    annotation->is_annotation = true;
    return entity_members_keep(members);
}

static int compare_names(const struct entity_member *a, const struct entity_member *b)
{
    if (a->has_escapes || b->has_escapes)
        return json_string_compare(a->name, b->name);
    return bytes_compare(a->name, b->name);
}

static int compare(const void *left, const void *right)
{
    const struct entity_member *a = left, *b = right;
    int order = compare_names(a, b);
    if (order != 0)
        return order;
    if (a->object != b->object)
        return a->object < b->object ? -1 : 1;
    if (a->is_annotation != b->is_annotation)
        return a->is_annotation ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

/* Entities usually have few members, often in order already: then insertion is faster than
 * qsort. */
void entity_members_sort(struct entity_members *members)
{
    struct entity_member *all = members->members;
    if (members->count > 32) {
        qsort(all, members->count, sizeof(*all), compare);
        return;
    }
    for (size_t i = 1; i < members->count; i++) {
        struct entity_member member = all[i];
        size_t at = i;
        for (; at > 0 && compare(&all[at - 1], &member) > 0; at--)
            all[at] = all[at - 1];
        all[at] = member;
    }
}
