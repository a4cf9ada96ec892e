/* SPDX-License-Identifier: MIT */
#include "client/entity/csv_rows.h"
#include "client/entity/entity_lines.h"
#include "client/text/edm_datetime.h"
#include "client/text/edm_value.h"
#include "client/text/json_string.h"

#include <csv.h>

#define NO_TYPE      SIZE_MAX
#define VALUE_GROWTH ((size_t)64 << 10) /* of the buffer of a value in libcsv; 128 is usual */

enum column_kind { COLUMN_KEY, COLUMN_VALUE, COLUMN_TYPE, COLUMN_TIMESTAMP, COLUMN_METADATA };

struct column {
    struct bytes name; /* a view of `header` */
    enum column_kind kind;
    size_t type_column; /* of a value; NO_TYPE: there is none */
    enum edm_type last; /* the type that it had last */
};

struct fields { /* of a row */
    struct buffer text;
    size_t ends[CSV_ROWS_COLUMN_MAX];
    size_t count; /* those after the last of `ends`, too */
};

enum doing { READING_ROWS, SEEKING_LINE, HAVING_FAILED };

struct csv_rows {
    struct object_source source; /* first */
    size_t begin, at;            /* the row's begin; read so far */
    struct stream_object found;  /* place and refusal of a row */
    struct csv_parser parser;
    struct fields header, row;
    struct column *columns;
    struct buffer object;
    enum doing doing;
    char delimiter;
    bool infers, needs_no_partition_key, has_types;
    bool is_row_begun, is_row_whole;
    bool has_no_memory; /* in a callback */
};

bool csv_delimiter_parse(const char *text, char *ret)
{
    *ret = text[0];
    if (strcmp(text, "tab") == 0)
        *ret = '\t';
    else if (!text[0] || text[1] || !strchr(",;|\t", text[0]))
        return false;
    return true;
}

/* libcsv removes from a value's ends what this function calls a blank: nothing. */
static int is_blank(unsigned char c)
{
    (void)c;
    return 0;
}

static int begin_parsing(struct csv_rows *rows)
{
    if (csv_init(&rows->parser, CSV_STRICT | CSV_STRICT_FINI) != 0)
        return -ENOMEM;
    csv_set_space_func(&rows->parser, is_blank);
    csv_set_blk_size(&rows->parser, VALUE_GROWTH);
    csv_set_delim(&rows->parser, (unsigned char)rows->delimiter);
    return 0;
}

static struct bytes field_at(const struct fields *fields, size_t i)
{
    size_t begin = i > 0 ? fields->ends[i - 1] : 0;
    return bytes_skip(bytes_first(buffer_bytes(&fields->text), fields->ends[i]), begin);
}

/* The next row begins at `at`. */
static void skip_row(struct csv_rows *rows)
{
    rows->begin = rows->at;
    buffer_clear(&rows->row.text);
    rows->row.count = 0;
    rows->is_row_begun = rows->is_row_whole = false;
}

/* Places */

static void note(struct csv_rows *rows, size_t offset, const char *refusal)
{
    text_input_mark(&rows->source.input, offset);
    rows->found = (struct stream_object){
        .line = rows->source.input.line, .column = rows->source.input.column, .refusal = refusal};
}

/* The row ends at `at`; `text` is what to give for it. */
static int take(struct csv_rows *rows, struct bytes text, struct stream_object *ret)
{
    *ret = rows->found;
    ret->text = text;
    ret->end_offset = rows->source.input.dropped + rows->at;
    skip_row(rows);
    return 1;
}

static bool is_line_end(char c)
{
    return c == '\r' || c == '\n';
}

/* The row as it was, without its line end. */
static int take_refused(struct csv_rows *rows, struct stream_object *ret)
{
    struct bytes text = text_input_part(&rows->source.input, rows->begin, rows->at);
    while (text.size > 0 && is_line_end(text.data[text.size - 1]))
        text.size--;
    text.size = MIN(text.size, CSV_ROWS_ROW_MAX);
    return take(rows, text, ret);
}

static int fail(struct csv_rows *rows, size_t offset, const char *problem,
                struct stream_object *ret)
{
    note(rows, offset, problem);
    *ret = rows->found;
    ret->end_offset = rows->source.input.dropped + offset;
    rows->doing = HAVING_FAILED;
    return -EBADMSG;
}

/* The object of a row */

struct named { /* for a search */
    struct bytes name;
    struct column *column;
};

static int compare_names(const void *a, const void *b)
{
    const struct named *left = a, *right = b;
    return bytes_compare(left->name, right->name);
}

static const struct bytes partition_key = BYTES_LITERAL("PartitionKey");
static const struct bytes row_key = BYTES_LITERAL("RowKey");

static enum column_kind kind_of(struct bytes name)
{
    if (bytes_equal(name, partition_key) || bytes_equal(name, row_key))
        return COLUMN_KEY;
    if (bytes_equal(name, BYTES_LITERAL("Timestamp")))
        return COLUMN_TIMESTAMP;
    return bytes_start_with(name, BYTES_LITERAL("odata.")) ? COLUMN_METADATA : COLUMN_VALUE;
}

/* Finds the value that a column X@type is of, among all columns, which are sorted by name. */
static void join_type(struct csv_rows *rows, const struct named *sorted, struct column *type)
{
    static const struct bytes suffix = BYTES_LITERAL(CSV_TYPE_SUFFIX);
    if (!bytes_end_with(type->name, suffix))
        return;
    const struct named wanted = {.name = bytes_first(type->name, type->name.size - suffix.size)};
    const struct named *found =
        bsearch(&wanted, sorted, rows->header.count, sizeof(wanted), compare_names);
    if (!found)
        return;
    type->kind = COLUMN_TYPE;
    rows->has_types = true;
    if (found->column->kind == COLUMN_VALUE)
        found->column->type_column = (size_t)(type - rows->columns);
}

static int name_columns(struct csv_rows *rows)
{
    size_t n = rows->header.count;
    _cleanup_(freep) struct named *sorted = calloc(n, sizeof(struct named));
    rows->columns = calloc(n, sizeof(*rows->columns));
    if (!sorted || !rows->columns)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        struct bytes name = field_at(&rows->header, i);
        rows->columns[i] =
            (struct column){.name = name, .kind = kind_of(name), .type_column = NO_TYPE};
        sorted[i] = (struct named){name, &rows->columns[i]};
    }
    qsort(sorted, n, sizeof(*sorted), compare_names);
    for (size_t i = 0; i < n; i++)
        join_type(rows, sorted, &rows->columns[i]);
    return 0;
}

/* Is there a column with this name? Else the first one with it in another case becomes it. */
static bool find_key(struct csv_rows *rows, struct bytes key)
{
    struct column *found = NULL;
    for (size_t i = rows->header.count; i-- > 0;) {
        struct column *column = &rows->columns[i];
        if (bytes_equal(column->name, key))
            return true;
        if (column->name.size == key.size &&
            strncasecmp(column->name.data, key.data, key.size) == 0)
            found = column;
    }
    if (found) {
        found->kind = COLUMN_KEY;
        found->name = key;
    }
    return found != NULL;
}

/* The first row. */
static int take_header(struct csv_rows *rows, struct stream_object *ret)
{
    struct buffer empty = rows->header.text;
    if (rows->row.count > CSV_ROWS_COLUMN_MAX)
        return fail(rows, rows->begin, "more than 4096 columns", ret);
    rows->header = rows->row;
    rows->row.text = empty;
    int r = name_columns(rows);
    if (r < 0)
        return r;
    if (!find_key(rows, row_key))
        return fail(rows, rows->begin, "no column RowKey in the first row", ret);
    if (!find_key(rows, partition_key) && !rows->needs_no_partition_key)
        return fail(rows, rows->begin, "no column PartitionKey in the first row", ret);
    skip_row(rows);
    return 0;
}

static bool is_header(const struct csv_rows *rows)
{
    const struct fields *row = &rows->row, *header = &rows->header;
    return row->count == header->count &&
           memcmp(row->ends, header->ends, row->count * sizeof(row->ends[0])) == 0 &&
           bytes_equal(buffer_bytes(&row->text), buffer_bytes(&header->text));
}

/* Is the value a number of JSON? */
static bool is_number(struct bytes value, struct json_token *ret)
{
    struct json_reader reader;
    json_reader_init(&reader);
    json_reader_feed(&reader, value, true);
    return json_reader_next(&reader, ret) == JSON_NUMBER && ret->text.size == value.size;
}

static bool is_boolean(struct bytes value, const char *spelling)
{
    return value.size == strlen(spelling) && strncasecmp(value.data, spelling, value.size) == 0;
}

/* What a value without any types looks like. */
static enum edm_type infer(struct bytes value)
{
    struct json_token token;
    int64_t integer;
    if (is_boolean(value, "true") || is_boolean(value, "false"))
        return EDM_BOOLEAN;
    if (edm_datetime_has_form(value))
        return EDM_DATETIME;
    if (!is_number(value, &token))
        return EDM_STRING;
    if (!token.is_integer)
        return EDM_DOUBLE;
    return edm_integer_parse(value, INT32_MIN, INT32_MAX, &integer)   ? EDM_INT32
           : edm_integer_parse(value, INT64_MIN, INT64_MAX, &integer) ? EDM_INT64
                                                                      : EDM_STRING;
}

static void append_string(struct buffer *object, struct bytes text)
{
    (void)buffer_append_char(object, '"');
    (void)json_string_append_of_utf8(object, text);
    (void)buffer_append_char(object, '"');
}

/* As the type has it, or as a string, which will be refused. */
static void append_value(struct buffer *object, struct bytes value, enum edm_type type)
{
    struct json_token token;
    if (type == EDM_BOOLEAN && is_boolean(value, "true"))
        (void)buffer_append_string(object, "true");
    else if (type == EDM_BOOLEAN && is_boolean(value, "false"))
        (void)buffer_append_string(object, "false");
    else if ((type == EDM_INT32 || type == EDM_DOUBLE) && is_number(value, &token))
        (void)buffer_append(object, value);
    else
        append_string(object, value);
}

static void append_name(struct buffer *object, struct bytes name, const char *suffix)
{
    (void)buffer_append_string(object, object->size > 1 ? ",\"" : "\"");
    (void)json_string_append_of_utf8(object, name);
    (void)buffer_append_format(object, "%s\":", suffix);
}

static void append_property(struct csv_rows *rows, struct column *column, struct bytes value)
{
    struct buffer *object = &rows->object;
    struct bytes annotation = {NULL, 0};
    enum edm_type type = rows->infers && !rows->has_types ? infer(value) : column->last;
    if (column->type_column != NO_TYPE)
        annotation = field_at(&rows->row, column->type_column);
    if (value.size == 0 && annotation.size == 0)
        return;
    if (annotation.size > 0)
        type = edm_type_meant(annotation);
    if (type != EDM_OTHER)
        annotation = edm_type_name(type);
    if (rows->has_types && type != EDM_OTHER)
        column->last = type;
    append_name(object, column->name, ENTITY_ANNOTATION_SUFFIX);
    append_string(object, annotation);
    append_name(object, column->name, "");
    append_value(object, value, type);
}

static void append_column(struct csv_rows *rows, struct column *column, struct bytes value)
{
    struct buffer *object = &rows->object;
    switch (column->kind) {
    case COLUMN_VALUE:
        append_property(rows, column, value);
        break;
    case COLUMN_METADATA:
        if (value.size == 0)
            break;
        append_name(object, column->name, "");
        append_value(object, value, EDM_BOOLEAN); /* odata.select is true */
        break;
    case COLUMN_KEY:
        append_name(object, column->name, "");
        append_string(object, value);
        break;
    case COLUMN_TYPE:
    case COLUMN_TIMESTAMP:
    default:
        break;
    }
}

static int take_row(struct csv_rows *rows, struct stream_object *ret)
{
    struct buffer *object = &rows->object;
    if (is_header(rows)) {
        skip_row(rows);
        return 0;
    }
    bool fits = rows->row.count == rows->header.count;
    note(rows, rows->begin, fits ? NULL : "another number of values than of columns");
    if (!fits)
        return take_refused(rows, ret);
    rows->found.column = 0;
    buffer_clear(object);
    (void)buffer_append_char(object, '{');
    for (size_t i = 0; i < rows->header.count; i++)
        append_column(rows, &rows->columns[i], field_at(&rows->row, i));
    if (buffer_append_char(object, '}') == -EFBIG) {
        note(rows, rows->begin, "an object of more than 8 MiB");
        return take_refused(rows, ret);
    }
    if (object->error < 0)
        return object->error;
    return take(rows, buffer_bytes(object), ret);
}

/* Reading */

static void add_field(void *text, size_t size, void *context)
{
    struct csv_rows *rows = context;
    struct fields *row = &rows->row;
    if (row->count++ >= CSV_ROWS_COLUMN_MAX)
        return;
    if (buffer_append(&row->text, (struct bytes){text, size}) < 0)
        rows->has_no_memory = true;
    row->ends[row->count - 1] = row->text.size;
}

static void end_row(int terminator, void *context)
{
    struct csv_rows *rows = context;
    (void)terminator;
    rows->is_row_whole = true;
}

/* 1: a row was taken; 0: continue. */
static int take_whole_row(struct csv_rows *rows, struct stream_object *ret)
{
    if (rows->has_no_memory)
        return -ENOMEM;
    return rows->columns ? take_row(rows, ret) : take_header(rows, ret);
}

/* The text up to a line end, with it, so that it ends one row at most. */
static struct bytes next_line(struct bytes rest)
{
    size_t size = 0;
    while (size < rest.size && !is_line_end(rest.data[size]))
        size++;
    return bytes_first(rest, MIN(size + 1, rest.size));
}

/* The row is refused; the next one begins in the next line. */
static int seek_line(struct csv_rows *rows, struct stream_object *ret)
{
    struct bytes rest = text_input_rest(&rows->source.input, rows->at);
    struct bytes line = rest.size > 0 ? next_line(rest) : rest;
    bool is_whole = line.size > 0 && is_line_end(line.data[line.size - 1]);
    rows->at += line.size;
    if (is_whole || rows->source.input.is_ended) {
        rows->doing = READING_ROWS;
        return take_refused(rows, ret);
    }
    size_t most = rows->begin + CSV_ROWS_ROW_MAX;
    if (rows->at > most)
        rows->at -= text_input_drop(&rows->source.input, most, rows->at);
    return 0;
}

/* What was read until `at` is not CSV. */
static int refuse(struct csv_rows *rows, size_t place, const char *problem,
                  struct stream_object *ret)
{
    if (csv_error(&rows->parser) != CSV_EPARSE)
        return -ENOMEM;
    csv_free(&rows->parser);
    int r = begin_parsing(rows);
    if (r < 0)
        return r;
    if (!rows->columns)
        return fail(rows, place, problem, ret);
    note(rows, place, problem);
    rows->doing = SEEKING_LINE;
    return seek_line(rows, ret);
}

static int read_line(struct csv_rows *rows, struct bytes line, struct stream_object *ret)
{
    rows->is_row_begun |= !is_line_end(line.data[0]);
    size_t n = csv_parse(&rows->parser, line.data, line.size, add_field, end_row, rows);
    rows->at += n;
    if (n < line.size)
        return refuse(rows, rows->at, "a quote where none can be, or text after one", ret);
    if (rows->is_row_whole)
        return take_whole_row(rows, ret);
    if (!rows->is_row_begun)
        rows->begin = rows->at;
    if (rows->at - rows->begin > CSV_ROWS_ROW_MAX)
        return fail(rows, rows->begin, "a row of more than 8 MiB: perhaps a quote is not closed",
                    ret);
    return 0;
}

/* The last row may have no line end. */
static int read_end(struct csv_rows *rows, struct stream_object *ret)
{
    if (!rows->is_row_begun)
        return 0;
    if (csv_fini(&rows->parser, add_field, end_row, rows) != 0)
        return refuse(rows, rows->begin, "the input ends before a quote of this row is closed",
                      ret);
    return rows->is_row_whole ? take_whole_row(rows, ret) : 0;
}

/* At the start of a row: a file that was appended to another one may begin with a byte order mark,
 * too. True: more input is needed. */
static bool skip_marks(struct csv_rows *rows)
{
    static const struct bytes mark = BYTES_LITERAL(JSON_BYTE_ORDER_MARK);
    if (rows->is_row_begun)
        return false;
    while (bytes_start_with(text_input_rest(&rows->source.input, rows->at), mark)) {
        text_input_mark(&rows->source.input, rows->at);
        rows->at += mark.size;
        rows->begin = rows->source.input.marked = rows->at; /* it is no character of the line */
    }
    return !rows->source.input.is_ended &&
           bytes_start_with(mark, text_input_rest(&rows->source.input, rows->at));
}

static int next_row(struct object_source *source, struct stream_object *ret_object)
{
    struct csv_rows *rows = (struct csv_rows *)source;
    int r = 0;
    if (rows->doing == HAVING_FAILED) {
        *ret_object = rows->found;
        return -EBADMSG;
    }
    if (rows->doing == SEEKING_LINE)
        r = seek_line(rows, ret_object);
    while (r == 0 && !skip_marks(rows) && rows->at < rows->source.input.text.size)
        r = read_line(rows, next_line(text_input_rest(&rows->source.input, rows->at)), ret_object);
    if (r == 0 && rows->source.input.is_ended)
        r = read_end(rows, ret_object);
    return r;
}

static void drop_read(struct object_source *source)
{
    struct csv_rows *rows = (struct csv_rows *)source;
    rows->at -= text_input_drop(&source->input, 0, rows->begin);
    rows->begin = 0;
}

static void destroy(struct object_source *source)
{
    struct csv_rows *rows = (struct csv_rows *)source;
    csv_free(&rows->parser);
    buffer_finish(&rows->header.text);
    buffer_finish(&rows->row.text);
    buffer_finish(&rows->object);
    free(rows->columns);
    free(rows);
}

int csv_rows_create(const struct csv_rows_options *options, struct object_source **ret)
{
    static const struct object_source_ops ops = {
        .destroy = destroy, .drop = drop_read, .next = next_row};
    struct csv_rows *rows = calloc(1, sizeof(*rows));
    if (!rows)
        return -ENOMEM;
    rows->source.ops = &ops;
    rows->delimiter = options->delimiter;
    if (!rows->delimiter)
        rows->delimiter = ',';
    rows->infers = options->infers;
    rows->needs_no_partition_key = options->needs_no_partition_key;
    text_input_init(&rows->source.input, CSV_ROWS_ROW_MAX + 4 * TEXT_INPUT_READ_BYTES);
    buffer_init(&rows->header.text, rows->source.input.text.max);
    buffer_init(&rows->row.text, rows->source.input.text.max);
    buffer_init(&rows->object, OBJECT_SOURCE_OBJECT_MAX);
    int r = begin_parsing(rows);
    if (r < 0)
        object_source_destroy(&rows->source);
    else
        *ret = &rows->source;
    return r;
}
