/* SPDX-License-Identifier: MIT */
#include "client/azure/entity_answer.h"
#include "client/azure/service_error.h"
#include "client/entity/entity_text.h"
#include "client/text/json_string.h"

struct answer_reader {
    struct bytes body;
    struct json_reader json;
    struct entity_text *text;
    struct buffer position; /* of one row */
    struct page_builder *builder;
    struct range range;
    size_t dropped;    /* rows outside the range */
    struct bytes etag; /* if not empty, replaces a row's own */
    bool keys_only;
};

static int answer_reader_init(struct answer_reader *reader, struct bytes body,
                              struct page_builder *builder)
{
    *reader = (struct answer_reader){.body = body, .builder = builder, .range = RANGE_ALL};
    buffer_init(&reader->position, PAGE_MAX_BYTES);
    json_reader_init(&reader->json);
    json_reader_feed(&reader->json, body, true);
    return entity_text_create(&reader->text);
}

static void answer_reader_finish(struct answer_reader *reader)
{
    buffer_finish(&reader->position);
    entity_text_destroy(reader->text);
}

static int reject(struct answer_reader *reader, const char *problem)
{
    json_reader_reject(&reader->json, problem);
    return -EPROTO;
}

static int expect(struct answer_reader *reader, enum json_kind kind, const char *problem)
{
    struct json_token token;
    return json_reader_next(&reader->json, &token) == kind ? 0 : reject(reader, problem);
}

/* Of an entity that was read and has no text: its JSON as it was received. */
static int append_json(struct answer_reader *reader, size_t begin, struct buffer *ret)
{
    struct bytes read = bytes_first(reader->body, json_reader_offset(&reader->json));
    return buffer_append(ret, bytes_skip(read, begin));
}

static int end_row(struct answer_reader *reader, const struct entity_facts *facts)
{
    struct bytes position = buffer_bytes(&reader->position);
    struct bytes etag = reader->etag.size > 0 ? reader->etag : facts->etag;
    int r = page_builder_end_row(reader->builder, position, etag, facts->timestamp);
    if (r == 0 && facts->problem && !reader->keys_only)
        page_builder_set_bad(reader->builder);
    return r;
}

/* After the `{` of an entity. */
static int read_row(struct answer_reader *reader)
{
    struct entity_facts facts;
    size_t begin = json_reader_offset(&reader->json) - 1;
    struct buffer *ret_text = reader->keys_only ? NULL : page_builder_text(reader->builder);
    int r = entity_text_from_service(reader->text, &reader->json, ret_text, &facts);
    if (r < 0)
        return r;
    if (!facts.has_partition_key || !facts.has_row_key)
        return reject(reader, "an entity without both its keys ends here");
    buffer_clear(&reader->position);
    r = position_append(&reader->position, facts.partition_key, facts.row_key);
    if (r < 0)
        return r == -EPROTO ? reject(reader, "an entity with U+0000 in a key ends here") : r;
    if (reader->position.size > POSITION_ROW_MAX_BYTES)
        return reject(reader, "an entity with keys that are too long ends here");
    if (!range_holds(reader->range, buffer_bytes(&reader->position))) {
        page_builder_drop_row(reader->builder);
        reader->dropped++;
        return 0;
    }
    if (facts.problem && ret_text)
        r = append_json(reader, begin, ret_text);
    return r < 0 ? r : end_row(reader, &facts);
}

static int read_rows(struct answer_reader *reader)
{
    int r = expect(reader, JSON_ARRAY_BEGIN, "value is not an array");
    while (r == 0) {
        struct json_token token;
        enum json_kind kind = json_reader_next(&reader->json, &token);
        if (kind == JSON_ARRAY_END)
            return 0;
        if (kind != JSON_OBJECT_BEGIN)
            return reject(reader, "an entity that is not an object");
        r = read_row(reader);
    }
    return r;
}

static int read_page(struct answer_reader *reader)
{
    struct json_token name;
    bool has_value = false;
    int r = expect(reader, JSON_OBJECT_BEGIN, "not an object");
    while (r == 0 && json_reader_next(&reader->json, &name) == JSON_NAME) {
        bool is_value = json_string_is(name.text, "value");
        if (is_value && has_value)
            return reject(reader, "a second value");
        if (is_value)
            r = read_rows(reader);
        else if (json_reader_skip(&reader->json) == JSON_ERROR)
            r = -EPROTO;
        has_value |= is_value;
    }
    if (r < 0)
        return r;
    /* the end of the object, or an error, which takes precedence */
    if (!has_value)
        return reject(reader, "no value before the object's end");
    return expect(reader, JSON_END, "text after the object");
}

static int read_single(struct answer_reader *reader)
{
    int r = expect(reader, JSON_OBJECT_BEGIN, "not an object");
    if (r == 0)
        r = read_row(reader);
    return r < 0 ? r : expect(reader, JSON_END, "text after the object");
}

static int fail_by_problem(const struct answer_reader *reader, int error, struct call *call)
{
    (void)call_fail(call, error, "the answer is not one with entities: %s, at byte %zu",
                    json_reader_problem(&reader->json), json_reader_offset(&reader->json));
    call->failure.advice = service_error_advice_endpoint;
    call->failure.is_retryable = json_breaks_off(reader->body);
    return error;
}

/* Runs one of the two functions above, and records its failure in the call. */
static int read_answer(struct answer_reader *reader, int (*read)(struct answer_reader *reader),
                       struct call *call)
{
    int r = read(reader);
    if (r == 0)
        return 0;
    page_builder_drop_row(reader->builder);
    if (!json_reader_problem(&reader->json))
        return call_fail(call, r, r == -EFBIG ? "an answer too large for a page" : "out of memory");
    return fail_by_problem(reader, r, call);
}

int entity_answer_page(struct bytes body, struct range range, bool keys_only, struct call *call,
                       struct page_builder *builder, size_t *ret_dropped)
{
    _cleanup_(answer_reader_finish) struct answer_reader reader;
    int r = answer_reader_init(&reader, body, builder);
    if (r < 0)
        return call_fail(call, r, "out of memory");
    reader.range = range;
    reader.keys_only = keys_only;
    r = read_answer(&reader, read_page, call);
    if (r == 0)
        *ret_dropped = reader.dropped;
    return r;
}

int entity_answer_single(struct bytes body, struct bytes etag, struct call *call,
                         struct page_builder *builder)
{
    _cleanup_(answer_reader_finish) struct answer_reader reader;
    int r = answer_reader_init(&reader, body, builder);
    if (r < 0)
        return call_fail(call, r, "out of memory");
    reader.etag = etag;
    return read_answer(&reader, read_single, call);
}
