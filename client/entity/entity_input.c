/* SPDX-License-Identifier: MIT */
#include "client/entity/entity_input.h"
#include "client/base/position.h"
#include "client/entity/entity_lines.h"
#include "client/entity/entity_members.h"
#include "client/text/json_string.h"

#define MAX_VALUE_BYTES ((size_t)64 << 20) /* of one value: far longer than a text is */
#define NO_PLACE        SIZE_MAX

struct entity_input {
    struct entity_members members;
    struct buffer value; /* one value in canonical form */
};

struct job { /* one call of entity_input_append_over */
    struct entity_input *input;
    struct bytes position, text;
    struct bytes left_out;
    enum entity_input_kind kind;
    bool has_stored; /* what is there is known; the next three are of it */
    struct entity_lines lines;
    struct entity_property stored; /* the next one, not yet found by name */
    int stored_r;                  /* the result of entity_lines_next */
    struct entity_total total;
    struct buffer *ret;
    size_t begin; /* of the entity in ret */
    struct entity_input_refusal *refusal;
    size_t refused_at; /* its offset in `text`, or NO_PLACE */
    bool is_refused;
    struct entity_input_ignored ignored;
    const struct entity_member *orphan; /* the first annotation without its property */
    const struct entity_member *fresh;  /* the first that is not stored, without an annotation */
    struct buffer *partition_key, *row_key; /* NULL: not wanted */
};

int entity_input_create(struct entity_input **ret)
{
    struct entity_input *input = calloc(1, sizeof(*input));
    if (!input)
        return -ENOMEM;
    buffer_init(&input->value, MAX_VALUE_BYTES);
    int r = entity_members_init(&input->members);
    if (r < 0)
        entity_input_destroy(input);
    else
        *ret = input;
    return r;
}

void entity_input_destroy(struct entity_input *input)
{
    if (!input)
        return;
    buffer_finish(&input->value);
    entity_members_finish(&input->members);
    free(input);
}

/* Notes a refusal, unless there is one that stands before it. */
static void refuse(struct job *job, size_t at, const struct entity_refusal *refusal,
                   struct bytes value)
{
    if (job->is_refused && at >= job->refused_at)
        return;
    job->is_refused = true;
    job->refused_at = at;
    *job->refusal = (struct entity_input_refusal){.refusal = *refusal, .value = value};
}

/* Of the quote before the name. */
static size_t offset_of_name(const struct job *job, const struct entity_member *member)
{
    return (size_t)(member->raw - job->text.data) - 1;
}

static void refuse_name(struct job *job, const struct entity_member *member,
                        const struct entity_refusal *refusal)
{
    refuse(job, offset_of_name(job, member), refusal, (struct bytes){NULL, 0});
}

/* The value as it stands in the text, with its quotes. */
static void refuse_value(struct job *job, const struct entity_member *member,
                         const struct entity_refusal *refusal)
{
    struct bytes value = member->value.text;
    if (member->value.kind == JSON_STRING)
        value = (struct bytes){value.data - 1, value.size + 2};
    refuse(job, (size_t)(value.data - job->text.data), refusal, value);
}

/* Notes what does not count, unless there is such a note. */
static void ignore(struct job *job, size_t at, struct bytes name, const char *reason,
                   struct entity_input_refusal *ret)
{
    if (ret->refusal.reason)
        return;
    *ret = (struct entity_input_refusal){.refusal = {.reason = reason, .name = name}};
    entity_input_refusal_locate(ret, job->text, at);
}

/* Reading the text */

static int refuse_json(struct job *job, size_t offset, const char *problem)
{
    job->is_refused = true;
    return entity_input_refuse_json(job->text, offset, problem, job->refusal);
}

static const struct entity_refusal too_large = {
    -EFBIG, "EntityTooLarge", "an entity of more than 1 MiB", {NULL, 0}};
static const struct entity_refusal too_many = {
    -EFBIG, "TooManyProperties", "more than 65,536 members", {NULL, 0}};
/* escapes are resolved in a buffer of a limited size */
static const struct entity_refusal too_long = {
    -EFBIG, "EntityTooLarge", "a text with escapes of more than 64 MiB", {NULL, 0}};

/* Of the whole text. */
static int refuse_whole(struct job *job, const struct entity_refusal *refusal)
{
    refuse(job, NO_PLACE, refusal, (struct bytes){NULL, 0});
    return refusal->error;
}

/* Another key than the position's: the text was perhaps changed to move the entity. */
static void note_key(struct job *job, const struct entity_member *member, struct bytes key)
{
    const struct json_token *value = &member->value;
    if (!job->has_stored || value->kind == JSON_NULL ||
        (value->kind == JSON_STRING && json_string_compare_cesu8(value->text, key) == 0))
        return;
    ignore(job, offset_of_name(job, member), member->name,
           "not this key counts, but the one of the path", &job->ignored.key);
}

/* A key that is too long is none. */
static int take_key(struct buffer *ret, const struct entity_member *member)
{
    if (!ret || member->value.kind != JSON_STRING)
        return 0;
    buffer_clear(ret);
    int r = json_string_append_cesu8(ret, member->value.text);
    if (r < 0)
        buffer_clear(ret);
    return r == -ENOMEM ? r : 0;
}

static enum entity_member_role role_of(const struct job *job, const struct entity_member *member)
{
    return job->left_out.data && bytes_equal(member->name, job->left_out)
               ? ENTITY_MEMBER_METADATA
               : entity_member_role_of(member->name);
}

static int take_member(struct job *job, struct json_reader *reader,
                       const struct entity_member *member)
{
    struct entity_members *members = &job->input->members;
    switch (role_of(job, member)) {
    case ENTITY_MEMBER_PROPERTY:
        return entity_members_keep(members);
    case ENTITY_MEMBER_ANNOTATION:
        return member->value.kind == JSON_NULL ? 0
                                               : entity_members_keep_annotation(members, reader);
    case ENTITY_MEMBER_PARTITION_KEY:
        note_key(job, member, position_partition_key(job->position));
        return take_key(job->partition_key, member);
    case ENTITY_MEMBER_ROW_KEY:
        note_key(job, member, position_row_key(job->position));
        return take_key(job->row_key, member);
    case ENTITY_MEMBER_TIMESTAMP:
    case ENTITY_MEMBER_ETAG:
    case ENTITY_MEMBER_METADATA:
    default:
        return 0;
    }
}

/* The value of a member that does not count may be anything. */
static int read_nested(const struct job *job, struct json_reader *reader,
                       const struct entity_member *member)
{
    enum entity_member_role role = role_of(job, member);
    if (role != ENTITY_MEMBER_PROPERTY && role != ENTITY_MEMBER_ANNOTATION)
        return json_reader_skip_rest(reader) < JSON_OBJECT_BEGIN ? -EPROTO : 0;
    json_reader_reject(reader, ENTITY_NESTED_PROBLEM);
    return -EPROTO;
}

static int read_object(struct job *job, struct json_reader *reader, uint32_t object)
{
    struct json_token token;
    struct entity_member *member;
    int r;
    if (json_reader_next(reader, &token) == JSON_ERROR)
        return -EPROTO;
    while ((r = entity_members_read(&job->input->members, reader, &member)) > 0) {
        member->object = object;
        r = entity_member_is_nested(member) ? read_nested(job, reader, member) : 0;
        if (r == 0)
            r = take_member(job, reader, member);
        if (r < 0)
            return r;
    }
    return r;
}

/* What stands after an object: 1: another object, which is to be read; 0: nothing. */
static int read_end(struct job *job, struct json_reader *reader, struct bytes text)
{
    struct json_token token;
    if (json_reader_next(reader, &token) == JSON_END)
        return 0;
    char c = text.data[json_reader_offset(reader)];
    bool may_be_object = c == '{' || c == JSON_BYTE_ORDER_MARK[0];
    return may_be_object && job->kind == INPUT_MERGE ? 1 : -EPROTO;
}

static int read_objects(struct job *job)
{
    struct json_reader reader;
    size_t begin = 0;
    int r;
    for (uint32_t object = 0;; object++) {
        begin += json_count_blanks(bytes_skip(job->text, begin)); /* a byte order mark may follow */
        struct bytes text = bytes_skip(job->text, begin);
        json_reader_init_object(&reader);
        json_reader_feed(&reader, text, true);
        r = read_object(job, &reader, object);
        if (r == 0)
            r = read_end(job, &reader, text);
        if (r <= 0)
            break;
        begin += json_reader_offset(&reader);
    }
    if (r == -EPROTO)
        return refuse_json(job, begin + json_reader_offset(&reader), json_reader_problem(&reader));
    if (r != -EFBIG)
        return r;
    return refuse_whole(job, job->input->members.respelled.error < 0 ? &too_long : &too_many);
}

/* Writing the canonical text */

struct pick { /* what counts of the members of one name */
    const struct entity_member *property, *annotation;
    struct bytes kept; /* of a merge: the annotation of what is there; data NULL: none */
};

static bool is_twice(const struct entity_member *a, const struct entity_member *b)
{
    return a->object == b->object && a->is_annotation == b->is_annotation;
}

static void refuse_twice(struct job *job, const struct entity_member *member)
{
    const struct entity_refusal refusal = {-EINVAL, "DuplicatePropertiesSpecified",
                                           member->is_annotation ? "a second type for this name"
                                                                 : "a name that is there twice",
                                           member->name};
    refuse_name(job, member, &refusal);
}

/* The service would ignore it. */
static void refuse_null(struct job *job, const struct entity_member *member)
{
    struct entity_refusal refusal = {-EINVAL, "InvalidInput",
                                     "null, but a merge cannot remove a property", member->name};
    size_t at = (size_t)(member->value.text.data - job->text.data);
    if (job->kind == INPUT_MERGE && member->value.kind == JSON_NULL)
        refuse(job, at, &refusal, (struct bytes){NULL, 0});
}

/* Writes the value in canonical form into input->value; ret is a view of it. */
static int write_as(struct job *job, const struct json_token *token, struct bytes annotation,
                    struct edm_value *ret)
{
    struct buffer *written = &job->input->value;
    *ret = edm_value_of(token, annotation);
    buffer_clear(written);
    (void)edm_value_append(written, ret);
    if (!buffer_string(written)) /* edm_double_parse reads the byte after the value */
        return written->error;
    ret->token.text = buffer_bytes(written);
    if (written->data[0] == '"') {
        ret->token.kind = JSON_STRING;
        ret->token.text = (struct bytes){written->data + 1, written->size - 2};
    } else if (token->kind == JSON_STRING) {
        ret->token.kind = JSON_NUMBER; /* a Double */
    }
    return 0;
}

static bool is_of_its_type(struct bytes name, const struct edm_value *value)
{
    struct entity_total total = {0};
    struct entity_refusal refusal;
    return entity_check_property(name, value, &total, &refusal) == 0;
}

/* The same for the value of a name. Without an annotation a value keeps the type of what is
 * there, if it is one of that type; else an integer gets the type that it fits. */
static int write_value(struct job *job, const struct pick *pick, struct edm_value *ret)
{
    int64_t integer;
    const struct json_token *token = &pick->property->value;
    struct bytes implied = {NULL, 0};
    if (pick->annotation)
        return write_as(job, token, pick->annotation->value.text, ret);
    if (pick->kept.data) {
        int r = write_as(job, token, pick->kept, ret);
        if (r < 0 || is_of_its_type(pick->property->name, ret))
            return r;
    }
    if (token->is_integer && !edm_integer_parse(token->text, INT32_MIN, INT32_MAX, &integer))
        implied = BYTES_LITERAL("Edm.Int64");
    return write_as(job, token, implied, ret);
}

/* Advances to the stored property of the name. The names of the calls are in order. NULL: none. */
static const struct entity_property *find_stored(struct job *job,
                                                 const struct entity_member *member)
{
    const struct entity_property wanted = {
        .role = ENTITY_PROPERTY, .has_escapes = member->has_escapes, .name = member->name};
    int order = -1;
    while (job->stored_r > 0 && (order = entity_property_compare(&job->stored, &wanted)) < 0)
        job->stored_r = entity_lines_next(&job->lines, &job->stored);
    return order == 0 ? &job->stored : NULL;
}

/* Another object of a merge names the property again: the value so far counts as the stored one. */
static int keep_type(struct job *job, struct pick *pick)
{
    struct edm_value value;
    if (job->kind != INPUT_MERGE || !pick->property || pick->property->value.kind == JSON_NULL)
        return 0;
    int r = write_value(job, pick, &value);
    pick->kept = value.annotation;
    return r;
}

/* Keys and metadata of the service may have types, too, and are ignored with them. */
static void note_orphan(struct job *job, const struct entity_member *annotation)
{
    if (!job->orphan && entity_member_role_of(annotation->name) == ENTITY_MEMBER_PROPERTY)
        job->orphan = annotation;
}

/* Takes the members of one name, which are adjacent. */
static int take_name(struct job *job, const struct entity_member *first,
                     const struct entity_member *end, struct pick *ret)
{
    const struct entity_member *annotation = NULL;
    for (const struct entity_member *member = first; member < end; member++) {
        if (member > first && is_twice(member - 1, member))
            refuse_twice(job, member);
        if (member->is_annotation) {
            annotation = member;
            if (member + 1 == end || member[1].object != member->object)
                note_orphan(job, member);
            continue;
        }
        refuse_null(job, member);
        int r = keep_type(job, ret);
        if (r < 0)
            return r;
        ret->property = member;
        ret->annotation = annotation && annotation->object == member->object ? annotation : NULL;
    }
    return 0;
}

static void refuse_property(struct job *job, const struct pick *pick, const struct edm_value *value,
                            const struct entity_refusal *refusal)
{
    const struct entity_member *annotation = pick->annotation;
    if (!refusal->name.data)
        (void)refuse_whole(job, refusal);
    else if (bytes_start_with(bytes_of(refusal->code), BYTES_LITERAL("PropertyName")))
        refuse_name(job, pick->property, refusal);
    else if (value->type == EDM_OTHER)
        refuse(job, offset_of_name(job, annotation), refusal, annotation->value.text);
    else
        refuse_value(job, pick->property, refusal);
}

static int put_property(struct job *job, const struct pick *pick)
{
    struct edm_value value;
    struct entity_refusal refusal;
    struct bytes name = pick->property->name;
    int r = write_value(job, pick, &value);
    if (r < 0)
        return r;
    if (entity_check_property(name, &value, &job->total, &refusal) < 0) {
        refuse_property(job, pick, &value, &refusal);
        return 0;
    }
    if (job->is_refused || job->total.bytes > ENTITY_MAX_BYTES)
        return 0;
    (void)entity_lines_append_name(job->ret, job->begin, name, value.annotation);
    return buffer_append(job->ret, buffer_bytes(&job->input->value));
}

/* The members of one name. */
static int put_name(struct job *job, const struct entity_member *first,
                    const struct entity_member *end)
{
    const struct entity_property *stored = find_stored(job, first);
    struct pick pick = {0};
    if (stored && job->kind == INPUT_MERGE)
        pick.kept = stored->value.annotation;
    int r = take_name(job, first, end, &pick);
    if (r < 0 || !pick.property || pick.property->value.kind == JSON_NULL)
        return r;
    if (!stored && !pick.annotation && !job->fresh)
        job->fresh = pick.property;
    return put_property(job, &pick);
}

/* An annotation without its property is refused if it may be that of a renamed one. */
static void check_orphan(struct job *job)
{
    const struct entity_member *orphan = job->orphan;
    if (!orphan)
        return;
    size_t suffix = strlen(ENTITY_ANNOTATION_SUFFIX); /* it still stands after the name */
    struct bytes name = {orphan->name.data, orphan->name.size + suffix};
    struct entity_refusal refusal = {
        -EINVAL, "InvalidInput",
        "a type without its property, next to a new property without a type", name};
    if (job->has_stored && job->stored_r >= 0 && job->fresh)
        refuse(job, offset_of_name(job, orphan), &refusal, job->fresh->name);
    else
        ignore(job, offset_of_name(job, orphan), name, "a type without its property is dropped",
               &job->ignored.annotation);
}

/* All of them are checked even after a refusal, because another one may stand before it. */
static int put_properties(struct job *job)
{
    const struct entity_member *next, *at = job->input->members.members;
    const struct entity_member *end = at + job->input->members.count;
    entity_members_sort(&job->input->members);
    for (; at < end; at = next) {
        for (next = at + 1; next < end && bytes_equal(next->name, at->name);)
            next++;
        int r = put_name(job, at, next);
        if (r < 0)
            return r;
    }
    check_orphan(job);
    return 0;
}

static int put_key(struct job *job, struct bytes name, struct bytes key)
{
    (void)entity_lines_append_name(job->ret, job->begin, name, (struct bytes){NULL, 0});
    (void)buffer_append_char(job->ret, '"');
    (void)json_string_append_of_cesu8(job->ret, key);
    return buffer_append_char(job->ret, '"');
}

static int put_entity(struct job *job)
{
    struct entity_refusal refusal;
    struct bytes position = job->position;
    (void)put_key(job, BYTES_LITERAL("PartitionKey"), position_partition_key(position));
    (void)put_key(job, BYTES_LITERAL("RowKey"), position_row_key(position));
    int r = put_properties(job);
    if (r < 0)
        return r;
    if (entity_check_total(&job->total, &refusal) < 0)
        (void)refuse_whole(job, &refusal);
    return entity_lines_append_end(job->ret, job->begin);
}

static int make(struct job *job)
{
    struct entity_refusal refusal;
    entity_members_clear(&job->input->members);
    if (entity_check_keys(job->position, &job->total, &refusal) < 0)
        return refuse_whole(job, &refusal);
    if (job->has_stored)
        job->stored_r = entity_lines_next(&job->lines, &job->stored);
    int r = read_objects(job);
    return r < 0 ? r : put_entity(job);
}

int entity_input_append_over(struct entity_input *input, const struct entity_input_over *over,
                             struct buffer *ret, struct entity_input_ignored *ret_ignored,
                             struct entity_input_refusal *ret_refusal)
{
    struct entity_input_refusal refusal;
    struct job job = {.input = input,
                      .position = over->position,
                      .text = over->text,
                      .left_out = over->left_out,
                      .kind = over->kind,
                      .has_stored = over->stored.data != NULL,
                      .ret = ret,
                      .begin = ret->size,
                      .refusal = &refusal,
                      .refused_at = NO_PLACE};
    entity_lines_init(&job.lines, over->stored);
    int r = make(&job);
    if (r == -EFBIG && !job.is_refused) /* ret is full */
        r = refuse_whole(&job, &too_large);
    if (!job.is_refused) {
        ret->size = r < 0 ? job.begin : ret->size;
        if (r == 0)
            *ret_ignored = job.ignored;
        return r;
    }
    ret->size = job.begin;
    if (job.refused_at != NO_PLACE)
        entity_input_refusal_locate(&refusal, over->text, job.refused_at);
    *ret_refusal = refusal;
    return refusal.refusal.error;
}

int entity_input_read_keys(struct entity_input *input, struct bytes text,
                           enum entity_input_kind kind, struct buffer *ret_partition_key,
                           struct buffer *ret_row_key, struct entity_input_refusal *ret_refusal)
{
    struct entity_input_refusal refusal;
    struct job job = {.input = input,
                      .text = text,
                      .kind = kind,
                      .refusal = &refusal,
                      .refused_at = NO_PLACE,
                      .partition_key = ret_partition_key,
                      .row_key = ret_row_key};
    buffer_clear(ret_partition_key);
    buffer_clear(ret_row_key);
    entity_members_clear(&input->members);
    int r = read_objects(&job);
    if (r < 0 && job.is_refused)
        *ret_refusal = refusal;
    return r;
}
