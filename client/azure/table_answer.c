#include "client/azure/table_answer.h"
#include "client/text/json_reader.h"
#include "client/text/json_string.h"

/* `raw`: the text of a JSON string. A string that is no C string in UTF-8 is appended with its
 * escapes: it is no name of a table anyway, and must not spoil the list. */
static int append_name(struct bytes raw, const char *only, struct table_names *ret)
{
    struct buffer *names = &ret->names;
    size_t begin = names->size;
    int r = json_string_append_utf8(names, raw);
    if (r < 0 && r != -EILSEQ)
        return r;
    if (r == -EILSEQ || memchr(names->data + begin, '\0', names->size - begin)) {
        names->size = begin;
        r = buffer_append(names, raw);
        if (r < 0)
            return r;
    }
    struct bytes name = bytes_skip(buffer_bytes(names), begin);
    if (only && !bytes_equal(name, bytes_of(only))) {
        names->size = begin;
        return 0;
    }
    return buffer_append_char(names, '\0');
}

/* Behind the `{` of a table. */
static int read_table(struct json_reader *reader, const char *only, struct table_names *ret)
{
    struct json_token token;
    struct bytes name = {0};
    while (json_reader_next(reader, &token) == JSON_NAME) {
        if (!json_string_is(token.text, "TableName"))
            (void)json_reader_skip(reader);
        else if (json_reader_take(reader, JSON_STRING, &token))
            name = token.text;
    }
    return name.size == 0 ? -EPROTO : append_name(name, only, ret);
}

/* The value of `value` that comes next. */
static int read_tables(struct json_reader *reader, const char *only, struct table_names *ret)
{
    struct json_token token;
    int r = json_reader_take(reader, JSON_ARRAY_BEGIN, &token) ? 0 : -EPROTO;
    while (r == 0) {
        enum json_kind kind = json_reader_next(reader, &token);
        if (kind == JSON_ARRAY_END)
            return 0;
        r = kind == JSON_OBJECT_BEGIN ? read_table(reader, only, ret) : -EPROTO;
    }
    return r;
}

int table_answer_append(struct bytes body, const char *only, struct table_names *ret)
{
    struct json_reader reader;
    struct json_token token;
    bool has_value = false;
    json_reader_init(&reader);
    json_reader_feed(&reader, body, true);
    int r = json_reader_next(&reader, &token) == JSON_OBJECT_BEGIN ? 0 : -EPROTO;
    while (r == 0 && json_reader_next(&reader, &token) == JSON_NAME) {
        bool is_value = json_string_is(token.text, "value");
        if (is_value && has_value)
            return -EPROTO;
        if (is_value)
            r = read_tables(&reader, only, ret);
        else
            (void)json_reader_skip(&reader);
        has_value |= is_value;
    }
    if (r < 0)
        return r;
    return has_value && json_reader_next(&reader, &token) == JSON_END ? 0 : -EPROTO;
}
