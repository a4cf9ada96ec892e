/* SPDX-License-Identifier: MIT */
/* A stream in pieces gives what the whole one gives; nothing that counts is left out; what is no
 * refusal is a JSON object, and stands where it is said to stand. */
#include "client/entity/object_stream.h"
#include "client/text/json_reader.h"
#include "tests/feed.h"
#include "tests/fuzz/fuzz.h"

#define MAX_FOUND 4096

struct finding { /* without padding, so that memcmp compares two */
    uint64_t begin, end, end_offset, line, column, is_of_items;
    const char *refusal;
};

struct findings {
    struct finding list[MAX_FOUND];
    size_t count;
    int end;
};

/* Where the text stands: only blanks are left out after it. */
static struct finding place_of(struct bytes input, const struct stream_object *object)
{
    uint64_t end = object->end_offset;
    if (object->refusal)
        end = (uint64_t)(bytes_trim(bytes_first(input, end)).data - input.data) +
              bytes_trim(bytes_first(input, end)).size;
    INVARIANT(end >= object->text.size);
    uint64_t begin = end - object->text.size;
    INVARIANT(object->text.size == 0 ||
              memcmp(input.data + begin, object->text.data, object->text.size) == 0);
    return (struct finding){.begin = begin,
                            .end = end,
                            .end_offset = object->end_offset,
                            .line = object->line,
                            .column = object->column,
                            .is_of_items = object->is_of_items,
                            .refusal = object->refusal};
}

struct search {
    struct bytes input;
    struct findings *ret;
};

static void note(void *context, const struct stream_object *object, int r)
{
    const struct search *search = context;
    struct findings *ret = search->ret;
    INVARIANT(ret->count < MAX_FOUND);
    ret->list[ret->count++] = r > 0 ? place_of(search->input, object)
                                    : (struct finding){.end_offset = object->end_offset,
                                                       .line = object->line,
                                                       .column = object->column,
                                                       .refusal = object->refusal};
}

static void find(struct bytes input, size_t step, struct findings *ret)
{
    struct object_source *stream;
    struct search search = {input, ret};
    ret->count = 0;
    INVARIANT(object_stream_create(&stream) == 0);
    ret->end = feed(stream, input, step, note, &search);
    object_source_destroy(stream);
}

/* Between two texts stand blanks, separators and byte order marks, and what is around a list. */
static void check_gap(struct bytes input, uint64_t begin, uint64_t end)
{
    struct bytes before = bytes_first(input, end), gap = bytes_skip(before, begin);
    if (bytes_find(before, BYTES_LITERAL("\"value\"")) ||
        bytes_find(before, BYTES_LITERAL("\"items\"")))
        return;
    for (size_t i = 0; i < gap.size; i++)
        INVARIANT(memchr(" \t\r\n,[]" JSON_BYTE_ORDER_MARK, gap.data[i], 10));
}

static void check_object(struct bytes input, const struct finding *object)
{
    struct json_reader reader;
    struct bytes text = bytes_skip(bytes_first(input, object->end), object->begin);
    json_reader_init_object(&reader);
    json_reader_feed(&reader, text, true);
    INVARIANT(json_reader_skip(&reader) == JSON_OBJECT_END);
    INVARIANT(json_reader_left(&reader) == 0 && object->end == object->end_offset);
    uint64_t line = 1;
    for (size_t i = 0; i < object->begin; i++)
        line += input.data[i] == '\n';
    INVARIANT(line == object->line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct findings whole, pieces;
    struct bytes input = {(const char *)data, size};
    uint64_t end = 0;
    if (size >= MAX_FOUND)
        return 0;
    find(input, SIZE_MAX, &whole);
    for (size_t i = 0; i < whole.count - (whole.end < 0); i++) {
        const struct finding *found = &whole.list[i];
        INVARIANT(found->begin >= end && found->end_offset > found->begin);
        check_gap(input, end, found->begin);
        if (!found->refusal)
            check_object(input, found);
        end = found->end_offset;
    }
    if (whole.end == 0)
        check_gap(input, end, input.size);
    for (size_t step = 1; step <= 5; step += 2) {
        find(input, step, &pieces);
        INVARIANT(pieces.end == whole.end && pieces.count == whole.count);
        INVARIANT(memcmp(pieces.list, whole.list, whole.count * sizeof(whole.list[0])) == 0);
    }
    return 0;
}
