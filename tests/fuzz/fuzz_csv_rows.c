/* SPDX-License-Identifier: MIT */
/* Rows in pieces are what the whole ones are; each is a JSON object; and an entity that they make
 * is the same after it was written as CSV. */
#include "client/base/position.h"
#include "client/entity/csv_rows.h"
#include "client/entity/csv_writer.h"
#include "client/entity/entity_input.h"
#include "client/text/json_reader.h"
#include "tests/feed.h"
#include "tests/fuzz/fuzz.h"

#define MAX_INPUT 4096
#define MAX_SHOWN ((size_t)16 << 20)

/* Feeds the input at most `step` bytes at once. The last answer of object_source_next. */
static int read_rows(struct bytes input, const struct csv_rows_options *options, size_t step,
                     feed_taker *take, void *context)
{
    struct object_source *rows;
    INVARIANT(csv_rows_create(options, &rows) == 0);
    int r = feed(rows, input, step, take, context);
    object_source_destroy(rows);
    return r;
}

static void show(void *context, const struct stream_object *row, int r)
{
    (void)r;
    struct buffer *shown = context;
    (void)buffer_append_format(shown, "\n%llu:%llu..%llu %s\n", (unsigned long long)row->line,
                               (unsigned long long)row->column, (unsigned long long)row->end_offset,
                               row->refusal ? row->refusal : "");
    INVARIANT(buffer_append(shown, row->text) == 0);
}

/* False: it is refused. */
static bool make_entity(struct bytes object, struct buffer *ret_position, struct buffer *ret)
{
    struct entity_input *input;
    struct entity_input_refusal refusal;
    struct buffer partition_key, row_key;
    INVARIANT(entity_input_create(&input) == 0);
    buffer_init(&partition_key, POSITION_MAX_BYTES);
    buffer_init(&row_key, POSITION_MAX_BYTES);
    int r = entity_input_read_keys(input, object, INPUT_WHOLE, &partition_key, &row_key, &refusal);
    if (r == 0)
        r = position_append(ret_position, buffer_bytes(&partition_key), buffer_bytes(&row_key));
    if (r == 0)
        r = entity_input_append(input, buffer_bytes(ret_position), object, INPUT_WHOLE, ret,
                                &refusal);
    buffer_finish(&partition_key);
    buffer_finish(&row_key);
    entity_input_destroy(input);
    return r == 0;
}

static void compare(void *context, const struct stream_object *row, int r)
{
    (void)r;
    const struct buffer *expected = context;
    struct buffer position, text;
    buffer_init(&position, POSITION_MAX_BYTES);
    buffer_init(&text, MAX_SHOWN);
    INVARIANT(!row->refusal && make_entity(row->text, &position, &text));
    INVARIANT(bytes_equal(buffer_bytes(&text), buffer_bytes(expected)));
    buffer_finish(&text);
    buffer_finish(&position);
}

static void write_and_read(struct buffer *text)
{
    const struct csv_writer_options options = {.delimiter = ';'};
    const struct csv_rows_options read_options = {.delimiter = ';'};
    const struct entity_line line = {.text = buffer_bytes(text)};
    struct csv_writer *writer;
    struct buffer row, csv;
    buffer_init(&row, MAX_SHOWN);
    buffer_init(&csv, MAX_SHOWN);
    INVARIANT(csv_writer_create(&options, &writer) == 0);
    int r = csv_writer_append_row(writer, &line, &row);
    INVARIANT(r == 0 || r == -EILSEQ);
    (void)csv_writer_append_end(writer, csv_writer_columns(writer), &row);
    (void)csv_writer_append_header(writer, &csv);
    INVARIANT(buffer_append(&csv, buffer_bytes(&row)) == 0);
    if (r == 0)
        INVARIANT(read_rows(buffer_bytes(&csv), &read_options, SIZE_MAX, compare, text) == 0);
    csv_writer_destroy(writer);
    buffer_finish(&row);
    buffer_finish(&csv);
}

static void check_row(void *context, const struct stream_object *row, int r)
{
    (void)r;
    struct buffer position, text;
    (void)context;
    if (row->refusal)
        return;
    buffer_init(&position, POSITION_MAX_BYTES);
    buffer_init(&text, MAX_SHOWN);
    if (make_entity(row->text, &position, &text))
        write_and_read(&text);
    buffer_finish(&text);
    buffer_finish(&position);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes input = {(const char *)data, size};
    struct buffer whole, pieces;
    if (size == 0 || size > MAX_INPUT)
        return 0;
    const struct csv_rows_options options = {.infers = data[size - 1] & 1};
    buffer_init(&whole, MAX_SHOWN);
    buffer_init(&pieces, MAX_SHOWN);
    int r = read_rows(input, &options, SIZE_MAX, show, &whole);
    for (size_t step = 1; step <= 3; step += 2) {
        buffer_clear(&pieces);
        INVARIANT(read_rows(input, &options, step, show, &pieces) == r);
        INVARIANT(bytes_equal(buffer_bytes(&whole), buffer_bytes(&pieces)));
    }
    (void)read_rows(input, &options, SIZE_MAX, check_row, NULL);
    buffer_finish(&whole);
    buffer_finish(&pieces);
    return 0;
}
