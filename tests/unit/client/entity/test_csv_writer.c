/* SPDX-License-Identifier: MIT */
#include "client/entity/csv_writer.h"
#include "client/base/position.h"
#include "client/entity/csv_rows.h"
#include "client/entity/entity_input.h"
#include "tests/unit/client/entity/canonical_texts.h"

#define MAX_BYTES ((size_t)1 << 20)

/* Appends the CSV of the texts, as an export does: all rows, and then the header before them. */
static void write_csv(const struct csv_writer_options *options, const struct entity_line *lines,
                      size_t n, struct buffer *ret)
{
    _cleanup_(csv_writer_destroyp) struct csv_writer *writer = NULL;
    struct {
        struct buffer text;
        size_t columns;
    } rows[8];
    assert_true(n <= ARRAY_SIZE(rows));
    assert_int_equal(csv_writer_create(options, &writer), 0);
    for (size_t i = 0; i < n; i++) {
        buffer_init(&rows[i].text, MAX_BYTES);
        assert_int_equal(csv_writer_append_row(writer, &lines[i], &rows[i].text), 0);
        rows[i].columns = csv_writer_columns(writer);
    }
    assert_int_equal(csv_writer_append_header(writer, ret), 0);
    for (size_t i = 0; i < n; i++) {
        (void)buffer_append(ret, buffer_bytes(&rows[i].text));
        assert_int_equal(csv_writer_append_end(writer, rows[i].columns, ret), 0);
        buffer_finish(&rows[i].text);
    }
}

static void assert_csv(const struct csv_writer_options *options, const struct entity_line *lines,
                       size_t n, const char *expected)
{
    _cleanup_(buffer_finish) struct buffer csv;
    buffer_init(&csv, MAX_BYTES);
    write_csv(options, lines, n, &csv);
    assert_bytes(buffer_bytes(&csv), bytes_of(expected));
}

static const struct csv_writer_options plain = {.delimiter = 0};

static void columns_come_with_the_rows(void **state)
{
    (void)state;
    const struct entity_line lines[] = {
        {.text = TEXT(PLAIN("B", "2"))},
        {.text = TEXT(PLAIN("C", "\"x\""))},
        {.text = TEXT("")},
        {.text = TEXT(PLAIN("A", "\"\"") PLAIN("B", "3") PLAIN("C", "true"))},
    };
    assert_csv(&plain, lines, ARRAY_SIZE(lines),
               "PartitionKey,RowKey,B,B@type,C,C@type,A,A@type\n"
               "p,r,2,Int32,,,,\n"
               "p,r,,,x,String,,\n"
               "p,r,,,,,,\n"
               "p,r,3,Int32,true,Boolean,,String\n");
    assert_csv(&plain, lines, 0, "PartitionKey,RowKey\n");
    const struct csv_writer_options some = {.columns = "C,RowKey,B", .delimiter = ';'};
    assert_csv(&some, lines, ARRAY_SIZE(lines),
               "PartitionKey;RowKey;C;C@type;B;B@type\n"
               "p;r;;;2;Int32\n"
               "p;r;x;String;;\n"
               "p;r;;;;\n"
               "p;r;true;Boolean;3;Int32\n");
}

static void what_is_no_property(void **state)
{
    (void)state;
    const struct entity_line line = {.text = TEXT(PLAIN("A", "1")),
                                     .position = B("p,\0\xed\xa0\xbd\xed\xb8\x80"),
                                     .etag = B("W/\"1\""),
                                     .timestamp = 17040672000000001};
    const struct csv_writer_options both = {.has_etag = true, .has_timestamp = true};
    assert_csv(&both, &line, 1,
               "PartitionKey,RowKey,Timestamp,odata.etag,A,A@type\n"
               "p,r,2024-01-01T00:00:00.0000001Z,\"W/\"\"1\"\"\",1,Int32\n");
    const struct csv_writer_options part = {.is_part = true};
    assert_csv(&part, &line, 1, "PartitionKey,RowKey,odata.select,A,A@type\np,r,true,1,Int32\n");
    const struct csv_writer_options keys = {.keys_only = true};
    struct entity_line of_keys = line;
    of_keys.text = (struct bytes){NULL, 0};
    assert_csv(&keys, &of_keys, 1,
               "PartitionKey,RowKey,odata.etag,odata.select\n"
               "\"p,\",\xf0\x9f\x98\x80,\"W/\"\"1\"\"\",true\n");
}

static void values_are_quoted_where_they_must(void **state)
{
    (void)state;
    static const struct {
        const char *json, *csv;
    } values[] = {
        {"", ""},
        {"plain text; 'x' | y", "plain text; 'x' | y"},
        {"a,b", "\"a,b\""},
        {"\\\"", "\"\"\"\""},
        {"say \\\"hi\\\"", "\"say \"\"hi\"\"\""},
        {"a\\nb", "\"a\nb\""},
        {"a\\r", "\"a\r\""},
        {" a", "\" a\""},
        {"\xEF\xBB\xBF", "\"\xEF\xBB\xBF\""},
        {"a\\t", "\"a\t\""},
        {"\\u0001\\\\", "\1\\"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        _cleanup_(buffer_finish) struct buffer text, expected;
        buffer_init(&text, MAX_BYTES);
        buffer_init(&expected, MAX_BYTES);
        (void)buffer_append_format(&text, KEYS ",\n  \"A\": \"%s\"\n}\n", values[i].json);
        (void)buffer_append_format(&expected, "PartitionKey,RowKey,A,A@type\np,r,%s,String\n",
                                   values[i].csv);
        const struct entity_line line = {.text = buffer_bytes(&text)};
        assert_csv(&plain, &line, 1, buffer_string(&expected));
    }
}

/* Not that a service has such names and types. */
static void names_and_types_are_quoted_too(void **state)
{
    (void)state;
    const struct entity_line lines[] = {
        {.text = B(KEYS ",\n  \"a,b@odata.type\": \"Edm.\\\"x\\\\\",\n  \"a,b\": \"1\"\n}\n")},
        {.text = B(KEYS ",\n  \"c\\nd@odata.type\": \"\",\n  \"c\\nd\": \"\"\n}\n")},
    };
    assert_csv(&plain, lines, ARRAY_SIZE(lines),
               "PartitionKey,RowKey,\"a,b\",\"a,b@type\",\"c\nd\",\"c\nd@type\"\n"
               "p,r,1,\"Edm.\"\"x\\\",,\n"
               "p,r,,,,String\n");
}

/* Each type, and the awkward values of each, are the same when they are read again. */
static void there_and_back(void **state)
{
    (void)state;
    const struct bytes texts[] = {
        B("{\n  \"PartitionKey\": \"\",\n  \"RowKey\": \" \xC3\xA9 ,\\\"\"\n}\n"),
        B(KEYS ",\n  \"Binary@odata.type\": \"Edm.Binary\",\n  \"Binary\": \"\","
               "\n  \"Boolean\": false,"
               "\n  \"DateTime@odata.type\": \"Edm.DateTime\","
               "\n  \"DateTime\": \"2024-01-02T03:04:05.1234567Z\","
               "\n  \"Double@odata.type\": \"Edm.Double\",\n  \"Double\": 3.0,"
               "\n  \"Guid@odata.type\": \"Edm.Guid\","
               "\n  \"Guid\": \"00000000-0000-0000-0000-00000000000a\","
               "\n  \"Int32\": -2147483648,"
               "\n  \"Int64@odata.type\": \"Edm.Int64\","
               "\n  \"Int64\": \"-9223372036854775808\","
               "\n  \"String\": \"\"\n}\n"),
        B(KEYS ",\n  \"Double@odata.type\": \"Edm.Double\",\n  \"Double\": \"-Infinity\","
               "\n  \"Int32@odata.type\": \"Edm.Double\",\n  \"Int32\": 1e+300,"
               "\n  \"String\": \" Int32,\\r\\n\xF0\x9F\x98\x80\\t\"\n}\n"),
        B(KEYS ",\n  \"Binary@odata.type\": \"Edm.Binary\",\n  \"Binary\": \"AAEC\","
               "\n  \"String\": \"5\",\n  \"\xC3\xA4\": \"\\u0000\"\n}\n"),
    };
    struct entity_line lines[ARRAY_SIZE(texts)];
    _cleanup_(buffer_finish) struct buffer csv;
    buffer_init(&csv, MAX_BYTES);
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        lines[i] = (struct entity_line){.text = texts[i], .timestamp = 1};
    const struct csv_writer_options options = {.has_timestamp = true, .delimiter = '\t'};
    write_csv(&options, lines, ARRAY_SIZE(texts), &csv);

    _cleanup_(object_source_destroyp) struct object_source *rows = NULL;
    struct entity_input *input;
    struct stream_object row;
    char *data;
    size_t size, n = 0;
    assert_int_equal(csv_rows_create(&(struct csv_rows_options){.delimiter = '\t'}, &rows), 0);
    assert_int_equal(entity_input_create(&input), 0);
    assert_int_equal(object_source_room(rows, &data, &size), 0);
    assert_true(size >= csv.size);
    memcpy(data, csv.data, csv.size);
    object_source_add(rows, csv.size);
    object_source_add(rows, 0);
    for (; object_source_next(rows, &row) > 0; n++) {
        struct bytes position = n == 0 ? B("\0 \xC3\xA9 ,\"") : B("p\0r");
        _cleanup_(buffer_finish) struct buffer text;
        struct entity_input_refusal refusal;
        buffer_init(&text, ENTITY_INPUT_MAX_BYTES);
        assert_null(row.refusal);
        int r = entity_input_append(input, position, row.text, INPUT_WHOLE, &text, &refusal);
        if (r < 0)
            print_error("%s: %.*s\n", refusal.refusal.reason, (int)row.text.size, row.text.data);
        assert_int_equal(r, 0);
        assert_bytes(buffer_bytes(&text), texts[n]);
    }
    assert_int_equal(n, ARRAY_SIZE(texts));
    entity_input_destroy(input);
}

static void what_csv_cannot_hold(void **state)
{
    (void)state;
    static const struct {
        struct entity_line line;
        int error;
    } cases[] = {
        {{.text = TEXT(PLAIN("A", "\"\\ud83d\""))}, -EILSEQ},
        {{.text = B(KEYS ",\n  \"\\ud83d\": 1\n}\n")}, -EILSEQ},
        {{.text = B(KEYS ",\n  \"A@odata.type\": \"\\ud83d\",\n  \"A\": \"\"\n}\n")}, -EILSEQ},
        {{.text = B("{\n  \"PartitionKey\": \"\\ude00\",\n  \"RowKey\": \"r\"\n}\n")}, -EILSEQ},
        {{.position = B("\xed\xa0\xbd\0")}, -EILSEQ},
        {{.position = B("\xff\0")}, -EPROTO},
        {{.text = B("{}")}, -EPROTO},
        {{.text = B(KEYS ",\n  \"A\": 1")}, -EPROTO},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(csv_writer_destroyp) struct csv_writer *writer = NULL;
        _cleanup_(buffer_finish) struct buffer row;
        buffer_init(&row, MAX_BYTES);
        assert_int_equal(csv_writer_create(&plain, &writer), 0);
        assert_int_equal(csv_writer_append_row(writer, &cases[i].line, &row), cases[i].error);
    }
}

static void too_many_columns(void **state)
{
    (void)state;
    _cleanup_(csv_writer_destroyp) struct csv_writer *writer = NULL;
    _cleanup_(buffer_finish) struct buffer text, row;
    buffer_init(&text, MAX_BYTES);
    buffer_init(&row, 16 * MAX_BYTES);
    assert_int_equal(csv_writer_create(&plain, &writer), 0);
    int r = 0;
    size_t n = 0;
    for (; r == 0 && n <= CSV_ROWS_COLUMN_MAX; n++) {
        buffer_clear(&text);
        buffer_clear(&row);
        (void)buffer_append_format(&text, KEYS ",\n  \"N%zu\": 1\n}\n", n * 7919 % 10007);
        r = csv_writer_append_row(writer, &(struct entity_line){.text = buffer_bytes(&text)}, &row);
    }
    assert_int_equal(r, -E2BIG);
    assert_true(2 * n + 5 <= CSV_ROWS_COLUMN_MAX + 2 && 2 * n + 5 > CSV_ROWS_COLUMN_MAX - 2);
}

static void names_of_columns(void **state)
{
    (void)state;
    static const struct {
        const char *columns;
        int result;
    } cases[] = {
        {"A", 0},
        {"A,B", 0},
        {"PartitionKey,A", 0},
        {"\xC3\xA9", 0},
        {"", -EINVAL},
        {",", -EINVAL},
        {"A,", -EINVAL},
        {",A", -EINVAL},
        {"A,B,A", -EINVAL},
        {"A b", -EINVAL},
        {"Timestamp", -EINVAL},
        {"odata.etag", -EINVAL},
        {"A@odata.type", -EINVAL},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(csv_writer_destroyp) struct csv_writer *writer = NULL;
        const struct csv_writer_options options = {.columns = cases[i].columns};
        assert_int_equal(csv_writer_create(&options, &writer), cases[i].result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_come_with_the_rows),
        cmocka_unit_test(what_is_no_property),
        cmocka_unit_test(values_are_quoted_where_they_must),
        cmocka_unit_test(names_and_types_are_quoted_too),
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(what_csv_cannot_hold),
        cmocka_unit_test(too_many_columns),
        cmocka_unit_test(names_of_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
