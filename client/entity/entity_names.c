/* SPDX-License-Identifier: MIT */
#include "client/entity/entity_names.h"
#include "client/base/position.h"
#include "client/entity/entity_line.h"
#include "client/text/json_reader.h"
#include "client/text/json_string.h"

#define NAME_BYTES 1024 /* with escapes; a longer one is a property's */

void entity_names_init(struct entity_names *names)
{
    *names = (struct entity_names){0};
    buffer_init(&names->partition_key, POSITION_MAX_BYTES);
    buffer_init(&names->row_key, POSITION_MAX_BYTES);
    buffer_init(&names->etag, POSITION_MAX_BYTES);
}

void entity_names_finish(struct entity_names *names)
{
    buffer_finish(&names->partition_key);
    buffer_finish(&names->row_key);
    buffer_finish(&names->etag);
}

enum { PARTITION_KEY, ROW_KEY, ETAG, SELECT, NAMES };

static int refuse(struct entity_names *names, const char *reason)
{
    names->refusal = reason;
    return -EINVAL;
}

/* Appends nothing if it is no string. */
static int take_string(const struct json_token *value, struct entity_names *names,
                       struct buffer *ret)
{
    if (value->kind != JSON_STRING)
        return 0;
    int r = json_string_append_cesu8(ret, value->text);
    return r == 0 || r == -ENOMEM ? r : refuse(names, "a key or an ETag of more than 64 KiB");
}

static int take(struct bytes name, const struct json_token *value, bool is_there[NAMES],
                struct entity_names *ret)
{
    static const struct bytes names[NAMES] = {
        [PARTITION_KEY] = BYTES_LITERAL("PartitionKey"),
        [ROW_KEY] = BYTES_LITERAL("RowKey"),
        [ETAG] = BYTES_LITERAL("odata.etag"),
        [SELECT] = BYTES_LITERAL(ENTITY_LINE_SELECT),
    };
    size_t i = 0;
    while (i < NAMES && !bytes_equal(name, names[i]))
        i++;
    if (i < NAMES && is_there[i])
        return refuse(ret, "a key, odata.etag or odata.select is there twice");
    if (i < NAMES)
        is_there[i] = true;
    switch (i) {
    case PARTITION_KEY:
        ret->has_partition_key = value->kind == JSON_STRING;
        return take_string(value, ret, &ret->partition_key);
    case ROW_KEY:
        ret->has_row_key = value->kind == JSON_STRING;
        return take_string(value, ret, &ret->row_key);
    case ETAG:
        ret->has_etag = value->kind != JSON_NULL;
        return take_string(value, ret, &ret->etag);
    case SELECT:
        ret->is_select = value->kind == JSON_TRUE;
        return 0;
    default:
        return 0;
    }
}

/* One member, whose name was read. `scratch`: for a name with escapes. */
static int read_member(struct json_reader *reader, const struct json_token *token,
                       struct buffer *scratch, bool is_there[NAMES], struct entity_names *ret)
{
    static const struct bytes odata = BYTES_LITERAL("odata.");
    struct bytes name = token->text;
    struct json_token value;
    if (token->has_escapes) {
        buffer_clear(scratch);
        if (json_string_append_cesu8(scratch, name) == -ENOMEM)
            return -ENOMEM;
        name = buffer_bytes(scratch);
    }
    if (!bytes_end_with(name, BYTES_LITERAL("Key")) && !bytes_start_with(name, odata)) {
        (void)json_reader_skip(reader);
        return 0;
    }
    enum json_kind kind = json_reader_next(reader, &value);
    if (kind == JSON_ERROR)
        return 0;
    if (kind == JSON_OBJECT_BEGIN || kind == JSON_ARRAY_BEGIN)
        (void)json_reader_skip_rest(reader);
    return take(name, &value, is_there, ret);
}

int entity_names_read(struct bytes text, struct entity_names *ret)
{
    _cleanup_(buffer_finish) struct buffer scratch = {.max = NAME_BYTES};
    struct json_reader reader;
    struct json_token token;
    ret->has_partition_key = ret->has_row_key = ret->has_etag = ret->is_select = false;
    buffer_clear(&ret->partition_key);
    buffer_clear(&ret->row_key);
    buffer_clear(&ret->etag);
    json_reader_init_object(&reader);
    json_reader_feed(&reader, text, true);
    bool is_there[NAMES] = {false};
    int r = 0;
    enum json_kind kind = json_reader_next(&reader, &token); /* of the object's begin */
    while (r == 0 && kind != JSON_ERROR && (kind = json_reader_next(&reader, &token)) == JSON_NAME)
        r = read_member(&reader, &token, &scratch, is_there, ret);
    if (r == 0 && kind == JSON_OBJECT_END)
        kind = json_reader_next(&reader, &token);
    return r < 0 || kind == JSON_END ? r : refuse(ret, json_reader_problem(&reader));
}
