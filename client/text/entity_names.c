/* SPDX-License-Identifier: MIT */
#include "client/text/entity_names.h"
#include "client/position.h"
#include "client/text/entity_line.h"
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

static int take_string(const struct json_token *value, bool *ret_is_there, struct buffer *ret)
{
    buffer_clear(ret);
    *ret_is_there = value->kind == JSON_STRING;
    int r = *ret_is_there ? json_string_append_cesu8(ret, value->text) : 0;
    *ret_is_there = *ret_is_there && r == 0;
    if (r < 0)
        buffer_clear(ret);
    return r == -ENOMEM ? r : 0;
}

static int take(struct bytes name, const struct json_token *value, struct entity_names *ret)
{
    bool is_string;
    if (bytes_equal(name, BYTES_LITERAL("PartitionKey")))
        return take_string(value, &ret->has_partition_key, &ret->partition_key);
    if (bytes_equal(name, BYTES_LITERAL("RowKey")))
        return take_string(value, &ret->has_row_key, &ret->row_key);
    if (bytes_equal(name, BYTES_LITERAL("odata.etag"))) {
        ret->has_etag = value->kind != JSON_NULL;
        return take_string(value, &is_string, &ret->etag);
    }
    if (bytes_equal(name, BYTES_LITERAL(ENTITY_LINE_SELECT)))
        ret->is_select = value->kind == JSON_TRUE;
    return 0;
}

/* One member, whose name was read. `scratch`: for a name with escapes. */
static int read_member(struct json_reader *reader, const struct json_token *token,
                       struct buffer *scratch, struct entity_names *ret)
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
    size_t depth = json_reader_depth(reader);
    if (kind != JSON_OBJECT_BEGIN && kind != JSON_ARRAY_BEGIN)
        return kind == JSON_ERROR ? 0 : take(name, &value, ret);
    do /* a nested value */
        kind = json_reader_next(reader, &(struct json_token){0});
    while (kind >= JSON_OBJECT_BEGIN && json_reader_depth(reader) >= depth);
    return take(name, &value, ret);
}

int entity_names_read(struct bytes text, struct entity_names *ret)
{
    _cleanup_(buffer_finish) struct buffer scratch;
    struct json_reader reader;
    struct json_token token;
    buffer_init(&scratch, NAME_BYTES);
    ret->has_partition_key = ret->has_row_key = ret->has_etag = ret->is_select = false;
    json_reader_init_object(&reader);
    json_reader_feed(&reader, text, true);
    if (json_reader_next(&reader, &token) != JSON_OBJECT_BEGIN)
        return 0;
    int r = 0;
    while (r == 0 && json_reader_next(&reader, &token) == JSON_NAME)
        r = read_member(&reader, &token, &scratch, ret);
    return r;
}
