/* SPDX-License-Identifier: MIT */
#include "client/entity/csv_writer.h"
#include "client/base/position.h"
#include "client/entity/csv_rows.h"
#include "client/entity/entity_lines.h"
#include "client/entity/entity_members.h"
#include "client/text/edm_datetime.h"
#include "client/text/json_string.h"

#define MAX_COLUMNS   ((CSV_ROWS_COLUMN_MAX - 5) / 2) /* of properties; five are no properties */
#define MAX_NAMES     ((size_t)4 << 20)
#define MAX_ROW_BYTES ((size_t)16 << 20) /* far more than an entity of 1 MiB has */

struct column {
    size_t name_begin, name_end;   /* in `names` */
    size_t value_begin, value_end; /* in `values`: of this row; the same: an empty value */
    struct bytes type; /* of this row, in canonical form; empty: the entity has no such property */
};

struct csv_writer {
    struct column columns[MAX_COLUMNS];
    uint16_t by_name[MAX_COLUMNS]; /* columns, sorted */
    size_t count;
    struct buffer names;  /* in canonical form, as in an entity's text */
    struct buffer values; /* quoted */
    struct buffer value;  /* one, not quoted */
    char delimiter;
    bool keys_only, is_select, has_etag, has_timestamp, is_named;
};

void csv_writer_destroy(struct csv_writer *writer)
{
    if (!writer)
        return;
    buffer_finish(&writer->names);
    buffer_finish(&writer->values);
    buffer_finish(&writer->value);
    free(writer);
}

/* Columns */

static struct bytes name_of(const struct csv_writer *writer, size_t column)
{
    const struct column *of = &writer->columns[column];
    return bytes_skip(bytes_first(buffer_bytes(&writer->names), of->name_end), of->name_begin);
}

/* Is there a column of the name? ret: its place in by_name, or where it would be. */
static bool search(const struct csv_writer *writer, struct bytes name, size_t *ret)
{
    size_t low = 0, high = writer->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = bytes_compare(name_of(writer, writer->by_name[middle]), name);
        if (order == 0) {
            *ret = middle;
            return true;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *ret = low;
    return false;
}

static int add_column(struct csv_writer *writer, struct bytes name, size_t place)
{
    size_t begin = writer->names.size, count = writer->count;
    if (count == MAX_COLUMNS || name.size > writer->names.max - begin)
        return -E2BIG;
    int r = buffer_append(&writer->names, name);
    if (r < 0)
        return r;
    memmove(writer->by_name + place + 1, writer->by_name + place,
            (count - place) * sizeof(writer->by_name[0]));
    writer->by_name[place] = (uint16_t)count;
    writer->columns[count] = (struct column){.name_begin = begin, .name_end = writer->names.size};
    writer->count++;
    return 0;
}

/* The column of the name; `likely` is tried first. -ENOENT: none of the named ones has it. */
static int find_column(struct csv_writer *writer, struct bytes name, size_t likely, size_t *ret)
{
    size_t place;
    *ret = likely;
    if (likely < writer->count && bytes_equal(name_of(writer, likely), name))
        return 0;
    if (search(writer, name, &place)) {
        *ret = writer->by_name[place];
        return 0;
    }
    if (writer->is_named)
        return -ENOENT;
    buffer_clear(&writer->value);
    int r = json_string_append_utf8(&writer->value, name); /* can the header have it? */
    if (r < 0)
        return r;
    *ret = writer->count;
    return add_column(writer, name, place);
}

static int take_name(struct csv_writer *writer, struct bytes name)
{
    size_t place;
    buffer_clear(&writer->value);
    int r = json_string_append_of_utf8(&writer->value, name);
    if (r < 0)
        return r;
    switch (entity_member_role_of(name)) {
    case ENTITY_MEMBER_PARTITION_KEY: /* always the first columns */
    case ENTITY_MEMBER_ROW_KEY:
        return 0;
    case ENTITY_MEMBER_PROPERTY:
        break;
    case ENTITY_MEMBER_ANNOTATION:
    case ENTITY_MEMBER_TIMESTAMP:
    case ENTITY_MEMBER_ETAG:
    case ENTITY_MEMBER_METADATA:
    default:
        return -EINVAL;
    }
    bool is_fit = name.size > 0 && edm_name_size(name) == name.size;
    if (!is_fit || search(writer, buffer_bytes(&writer->value), &place))
        return -EINVAL;
    return add_column(writer, buffer_bytes(&writer->value), place);
}

int csv_writer_create(const struct csv_writer_options *options, struct csv_writer **ret)
{
    _cleanup_(csv_writer_destroyp) struct csv_writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return -ENOMEM;
    writer->delimiter = options->delimiter;
    if (!writer->delimiter)
        writer->delimiter = ',';
    writer->keys_only = options->keys_only;
    writer->is_select = options->keys_only || options->is_part;
    writer->has_etag = options->has_etag;
    writer->has_timestamp = options->has_timestamp;
    writer->is_named = options->columns != NULL;
    buffer_init(&writer->names, MAX_NAMES);
    buffer_init(&writer->values, MAX_ROW_BYTES);
    buffer_init(&writer->value, MAX_ROW_BYTES);
    struct bytes rest = bytes_of(options->columns ? options->columns : "");
    bool has_more = options->columns != NULL;
    while (has_more) {
        struct bytes name = bytes_take_until(&rest, ',');
        has_more = options->columns + strlen(options->columns) != name.data + name.size;
        int r = take_name(writer, name);
        if (r < 0)
            return r;
    }
    *ret = TAKE_PTR(writer);
    return 0;
}

size_t csv_writer_columns(const struct csv_writer *writer)
{
    return writer->count;
}

/* Values */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool needs_quotes(const struct csv_writer *writer, struct bytes value)
{
    static const struct bytes mark = BYTES_LITERAL(JSON_BYTE_ORDER_MARK);
    if (value.size == 0)
        return false;
    if (bytes_start_with(value, mark)) /* no mark is at the start of a row then */
        return true;
    for (size_t i = 0; i < value.size; i++) {
        char c = value.data[i];
        if (c == writer->delimiter || c == '"' || c == '\r' || c == '\n')
            return true;
    }
    return is_blank(value.data[0]) || is_blank(value.data[value.size - 1]);
}

static int append_value(const struct csv_writer *writer, struct bytes value, struct buffer *ret)
{
    if (!needs_quotes(writer, value))
        return buffer_append(ret, value);
    (void)buffer_append_char(ret, '"');
    while (value.size > 0) {
        struct bytes span = bytes_take_until(&value, '"');
        bool has_quote = value.data != span.data + span.size;
        (void)buffer_append(ret, span);
        (void)buffer_append_string(ret, has_quote ? "\"\"" : "");
    }
    return buffer_append_char(ret, '"');
}

/* The text of a JSON string. */
static int append_string(struct csv_writer *writer, struct bytes raw, struct buffer *ret)
{
    buffer_clear(&writer->value);
    int r = json_string_append_utf8(&writer->value, raw);
    return r < 0 ? r : append_value(writer, buffer_bytes(&writer->value), ret);
}

/* An empty one would stand for an absent property: it is read as String, as without a type. */
static struct bytes type_of(const struct edm_value *value)
{
    static const struct bytes prefix = BYTES_LITERAL("Edm.");
    bool is_unknown = value->type == EDM_OTHER && value->annotation.size > 0;
    enum edm_type type = value->type == EDM_OTHER ? EDM_STRING : value->type;
    return is_unknown ? value->annotation : bytes_skip(edm_type_name(type), prefix.size);
}

/* Notes the value of a property for its column. */
static int take_property(struct csv_writer *writer, const struct entity_property *property,
                         size_t *likely)
{
    const struct edm_value *value = &property->value;
    struct buffer *values = &writer->values;
    size_t place;
    int r = find_column(writer, property->name, *likely, &place);
    if (r < 0)
        return r == -ENOENT ? 0 : r;
    struct column *column = &writer->columns[place];
    column->type = type_of(value);
    column->value_begin = values->size;
    r = value->token.kind == JSON_STRING ? append_string(writer, value->token.text, values)
                                         : buffer_append(values, value->token.text);
    column->value_end = values->size;
    *likely = place + 1;
    return r;
}

static int append_key_of_position(struct csv_writer *writer, struct bytes key, struct buffer *ret)
{
    _cleanup_(buffer_finish) struct buffer raw = {.max = MAX_NAMES};
    int r = json_string_append_of_cesu8(&raw, key);
    if (r < 0)
        return r == -EILSEQ ? -EPROTO : r;
    return append_string(writer, buffer_bytes(&raw), ret);
}

static int append_keys(struct csv_writer *writer, struct bytes position, struct buffer *ret)
{
    int r = append_key_of_position(writer, position_partition_key(position), ret);
    (void)buffer_append_char(ret, writer->delimiter);
    return r < 0 ? r : append_key_of_position(writer, position_row_key(position), ret);
}

/* Appends the keys, and notes the properties. */
static int read_text(struct csv_writer *writer, struct bytes text, struct buffer *ret)
{
    struct entity_lines lines;
    struct entity_property property;
    size_t likely = 0;
    int r, n = 0;
    entity_lines_init(&lines, text);
    while ((r = entity_lines_next(&lines, &property)) > 0) {
        if (property.role == ENTITY_PROPERTY) {
            r = take_property(writer, &property, &likely);
        } else {
            r = append_string(writer, property.value.token.text, ret);
            (void)buffer_append_string(ret, n++ == 0 ? (char[]){writer->delimiter, '\0'} : "");
        }
        if (r < 0)
            return r;
    }
    return r == 0 && n != 2 ? -EPROTO : r;
}

static int append_extras(const struct csv_writer *writer, const struct entity_line *line,
                         struct buffer *ret)
{
    if (writer->has_timestamp) {
        (void)buffer_append_char(ret, writer->delimiter);
        if (line->timestamp != 0)
            (void)edm_datetime_append(ret, line->timestamp);
    }
    if (writer->has_etag || writer->keys_only) {
        (void)buffer_append_char(ret, writer->delimiter);
        (void)append_value(writer, line->etag, ret);
    }
    if (writer->is_select)
        (void)buffer_append_format(ret, "%ctrue", writer->delimiter);
    return ret->error;
}

int csv_writer_append_row(struct csv_writer *writer, const struct entity_line *line,
                          struct buffer *ret)
{
    buffer_clear(&writer->values);
    for (size_t i = 0; i < writer->count; i++)
        writer->columns[i].type.size = writer->columns[i].value_begin =
            writer->columns[i].value_end = 0;
    int r = line->text.size == 0 ? append_keys(writer, line->position, ret)
                                 : read_text(writer, line->text, ret);
    if (r < 0)
        return r;
    (void)append_extras(writer, line, ret);
    for (size_t i = 0; r == 0 && i < writer->count; i++) {
        const struct column *column = &writer->columns[i];
        struct bytes values = bytes_first(buffer_bytes(&writer->values), column->value_end);
        (void)buffer_append_char(ret, writer->delimiter);
        (void)buffer_append(ret, bytes_skip(values, column->value_begin));
        (void)buffer_append_char(ret, writer->delimiter);
        r = append_string(writer, column->type, ret);
    }
    return r < 0 ? r : ret->error;
}

int csv_writer_append_end(const struct csv_writer *writer, size_t columns, struct buffer *ret)
{
    for (; columns < writer->count; columns++)
        (void)buffer_append(ret, (struct bytes){(char[]){writer->delimiter, writer->delimiter}, 2});
    return buffer_append_char(ret, '\n');
}

static void append_name(struct csv_writer *writer, struct bytes name, const char *suffix,
                        struct buffer *ret)
{
    buffer_clear(&writer->value);
    (void)json_string_append_utf8(&writer->value, name);
    (void)buffer_append_string(&writer->value, suffix);
    (void)append_value(writer, buffer_bytes(&writer->value), ret);
}

int csv_writer_append_header(struct csv_writer *writer, struct buffer *ret)
{
    char delimiter = writer->delimiter;
    (void)buffer_append_format(ret, "PartitionKey%cRowKey", delimiter);
    if (writer->has_timestamp)
        (void)buffer_append_format(ret, "%cTimestamp", delimiter);
    if (writer->has_etag || writer->keys_only)
        (void)buffer_append_format(ret, "%codata.etag", delimiter);
    if (writer->is_select)
        (void)buffer_append_format(ret, "%c" ENTITY_LINE_SELECT, delimiter);
    for (size_t i = 0; i < writer->count; i++) {
        struct bytes name = name_of(writer, i);
        (void)buffer_append_char(ret, delimiter);
        append_name(writer, name, "", ret);
        (void)buffer_append_char(ret, delimiter);
        append_name(writer, name, CSV_TYPE_SUFFIX, ret);
        if (writer->value.error < 0)
            return writer->value.error;
    }
    return buffer_append_char(ret, '\n');
}
