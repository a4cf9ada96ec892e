/* SPDX-License-Identifier: MIT */
#include "client/entity/csv_rows.h"
#include "tests/feed.h"
#include "tests/unit/unit.h"

#define MEBIBYTE ((size_t)1 << 20)
#define TYPED    "PartitionKey,RowKey,Timestamp,A,A@type,B,B@type\n"

/* What is read, a line each: LINE OBJECT, LINE:COLUMN !REASON: TEXT, and at last LINE:COLUMN
 * !!REASON if it has failed. */

static void show_row(void *context, const struct stream_object *row, int r)
{
    struct buffer *shown = context;
    (void)buffer_append_format(shown, "%llu", (unsigned long long)row->line);
    if (row->column > 0)
        (void)buffer_append_format(shown, ":%llu", (unsigned long long)row->column);
    if (row->refusal)
        (void)buffer_append_format(shown, r < 0 ? " !!%s" : " !%s:", row->refusal);
    (void)buffer_append_string(shown, r < 0 ? "" : " ");
    (void)buffer_append(shown, row->text);
    (void)buffer_append_char(shown, '\n');
}

/* Feeds at most `step` bytes at once. */
static void show(struct bytes input, const struct csv_rows_options *options, size_t step,
                 struct buffer *ret)
{
    _cleanup_(object_source_destroyp) struct object_source *rows = NULL;
    struct stream_object row;
    assert_int_equal(csv_rows_create(options, &rows), 0);
    int r = feed(rows, input, step, show_row, ret);
    assert_true(r == 0 || r == -EBADMSG);
    assert_int_equal(object_source_next(rows, &row), r); /* it stays so */
}

static void assert_shown(struct bytes input, const struct csv_rows_options *options,
                         const char *expected)
{
    static const size_t steps[] = {SIZE_MAX, 1, 2, 3, 7};
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        _cleanup_(buffer_finish) struct buffer shown;
        buffer_init(&shown, MEBIBYTE);
        show(input, options, steps[i], &shown);
        assert_bytes(buffer_bytes(&shown), bytes_of(expected));
    }
}

#define KEYS           "\"PartitionKey\":\"p\",\"RowKey\":\"r\""
#define A(type, value) "2 {" KEYS ",\"A@odata.type\":\"" type "\",\"A\":" value "}\n"

static const struct {
    struct bytes input;
    const char *expected;
} cases[] = {
    {{"", 0}, ""},
    {B(TYPED), ""},
    /* each type */
    {B(TYPED "p,r,,x,String,,\n"), A("Edm.String", "\"x\"")},
    {B(TYPED "p,r,,5,Int32,,\n"), A("Edm.Int32", "5")},
    {B(TYPED "p,r,,5,Int64,,\n"), A("Edm.Int64", "\"5\"")},
    {B(TYPED "p,r,,1.50,Double,,\n"), A("Edm.Double", "1.50")},
    {B(TYPED "p,r,,NaN,Double,,\n"), A("Edm.Double", "\"NaN\"")},
    {B(TYPED "p,r,,True,Boolean,,\n"), A("Edm.Boolean", "true")},
    {B(TYPED "p,r,,false,Boolean,,\n"), A("Edm.Boolean", "false")},
    {B(TYPED "p,r,,2024-01-02,DateTime,,\n"), A("Edm.DateTime", "\"2024-01-02\"")},
    {B(TYPED "p,r,,0,Guid,,\n"), A("Edm.Guid", "\"0\"")},
    {B(TYPED "p,r,,AA==,Binary,,\n"), A("Edm.Binary", "\"AA==\"")},
    /* spelled otherwise, or unknown */
    {B(TYPED "p,r,,5,Edm.Int32,,\n"), A("Edm.Int32", "5")},
    {B(TYPED "p,r,,5,int64,,\n"), A("Edm.Int64", "\"5\"")},
    {B(TYPED "p,r,,5,Float,,\n"), A("Float", "\"5\"")},
    /* no values of their types */
    {B(TYPED "p,r,,007,Int32,,\n"), A("Edm.Int32", "\"007\"")},
    {B(TYPED "p,r,,1 ,Int32,,\n"), A("Edm.Int32", "\"1 \"")},
    {B(TYPED "p,r,,yes,Boolean,,\n"), A("Edm.Boolean", "\"yes\"")},
    /* empty values and types */
    {B(TYPED "p,r,,,,,\n"), "2 {" KEYS "}\n"},
    {B(TYPED "p,r,,,String,,\n"), A("Edm.String", "\"\"")},
    {B(TYPED "p,r,,x,,,\n"), A("Edm.String", "\"x\"")},
    {B(TYPED "p,r,,5,Int32,,\np,r,,6,,,\np,r,,,,,\n"),
     A("Edm.Int32", "5") "3 {" KEYS ",\"A@odata.type\":\"Edm.Int32\",\"A\":6}\n4 {" KEYS "}\n"},
    {B(TYPED ",,,,,,\n"), "2 {\"PartitionKey\":\"\",\"RowKey\":\"\"}\n"},
    /* quotes, blanks, line ends, characters that JSON escapes */
    {B(TYPED "p,r,,\"a\"\"b,\r\nc\\\t\",String,,\n"), A("Edm.String", "\"a\\\"b,\\r\\nc\\\\\\t\"")},
    {B(TYPED " p,\" r \",, \xC3\xA9 ,String,,\n"),
     "2 {\"PartitionKey\":\" p\",\"RowKey\":\" r \",\"A@odata.type\":\"Edm.String\",\"A\":\" "
     "\xC3\xA9 \"}\n"},
    {B(TYPED "p,r,,\"\"\"\",String,,\n"), A("Edm.String", "\"\\\"\"")},
    {B("PartitionKey,RowKey\r\np,r\r\n\r\np,r"), "2 {" KEYS "}\n4 {" KEYS "}\n"},
    {B("\xEF\xBB\xBFPartitionKey,RowKey\np,r\n"), "2 {" KEYS "}\n"},
    {B("PartitionKey,RowKey\n\0,r\0"),
     "2 {\"PartitionKey\":\"\\u0000\",\"RowKey\":\"r\\u0000\"}\n"},
    {B("PartitionKey,RowKey\rp,r\rp,r"), "1 {" KEYS "}\n1 {" KEYS "}\n"},
    /* columns */
    {B("A@type,RowKey,A,PartitionKey,PartitionKey@type\nInt32,r,5,p,String\n"),
     "2 {\"RowKey\":\"r\",\"A@odata.type\":\"Edm.Int32\",\"A\":5,\"PartitionKey\":\"p\"}\n"},
    {B("PartitionKey,RowKey,A\np,r,5\np,r,\n"), A("Edm.String", "\"5\"") "3 {" KEYS "}\n"},
    {B("PartitionKey,RowKey,odata.etag,odata.select\np,r,\"W/\"\"1\"\"\",true\np,r,,\n"),
     "2 {" KEYS ",\"odata.etag\":\"W/\\\"1\\\"\",\"odata.select\":true}\n3 {" KEYS "}\n"},
    {B("PartitionKey,RowKey\np,r\nPartitionKey,RowKey\np,r\n"), "2 {" KEYS "}\n4 {" KEYS "}\n"},
    /* two files, each with a mark; one in quotes is part of a value */
    {B("\xEF\xBB\xBFPartitionKey,RowKey\np,r\n\xEF\xBB\xBFPartitionKey,RowKey\np,r\n"),
     "2 {" KEYS "}\n4 {" KEYS "}\n"},
    {B("PartitionKey,RowKey\np,r\n\n\xEF\xBB\xBF\"PartitionKey\",RowKey\r\n\xEF\xBB\xBFp,r\n"
       "\xEF\xBB\xBF\n\xEF\xBB\xBFp,x\"\n\xEF\xBB"),
     "2 {" KEYS "}\n5 {" KEYS "}\n"
     "7:4 !a quote where none can be, or text after one: p,x\"\n"
     "8:1 !another number of values than of columns: \xEF\xBB\n"},
    /* marks one after another, and one before a line end, where a portion may end, too */
    {B("\xEF\xBB\xBF\xEF\xBB\xBFPartitionKey,RowKey\np,r\r\xEF\xBB\xBF\np,r\n\xEF\xBB\xBF"),
     "2 {" KEYS "}\n3 {" KEYS "}\n"},
    {B("PartitionKey,RowKey\n\"\xEF\xBB\xBFp\",r\n"),
     "2 {\"PartitionKey\":\"\xEF\xBB\xBFp\",\"RowKey\":\"r\"}\n"},
    {B("A,B\n1,2\n"), "1:1 !!no column RowKey in the first row\n"},
    {B("A,RowKey\n1,2\n"), "1:1 !!no column PartitionKey in the first row\n"},
    {B("ROWKEY,Partitionkey\nr,p\nROWKEY,Partitionkey\n"),
     "2 {\"RowKey\":\"r\",\"PartitionKey\":\"p\"}\n"},
    {B("Rowkey,PartitionKey,RowKey,rowkey@type\n1,p,r,\n"),
     "2 {\"Rowkey@odata.type\":\"Edm.String\",\"Rowkey\":\"1\"," KEYS "}\n"},
    {B("partitionKey,rowKey,rowKey@type,PARTITIONKEY\np,r,String,5\n"),
     "2 {" KEYS ",\"PARTITIONKEY@odata.type\":\"Edm.String\",\"PARTITIONKEY\":\"5\"}\n"},
    {B("RowKey,\"A\n"), "1:1 !!the input ends before a quote of this row is closed\n"},
    /* refused */
    {B("PartitionKey,RowKey\np\np,r\np,r,x\r\n"),
     "2:1 !another number of values than of columns: p\n3 {" KEYS "}\n"
     "4:1 !another number of values than of columns: p,r,x\n"},
    {B("PartitionKey,RowKey\np,5\" \"disk\np,r\n"),
     "2:4 !a quote where none can be, or text after one: p,5\" \"disk\n3 {" KEYS "}\n"},
    {B("PartitionKey,RowKey\n\"p\"x,\"y\np,r\n"),
     "2:4 !a quote where none can be, or text after one: \"p\"x,\"y\n3 {" KEYS "}\n"},
    {B("PartitionKey,RowKey\np,r\np,\"x\nPartitionKey,RowKey\n"),
     "2 {" KEYS "}\n"
     "3:1 !the input ends before a quote of this row is closed: p,\"x\nPartitionKey,RowKey\n"},
};

static void rows_and_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_shown(cases[i].input, &(struct csv_rows_options){.infers = false},
                     cases[i].expected);
}

static const struct {
    const char *value, *type, *json;
} looks[] = {
    {"5", "Edm.Int32", "5"},
    {"-0", "Edm.Int32", "-0"},
    {"2147483648", "Edm.Int64", "\"2147483648\""},
    {"9223372036854775808", "Edm.String", "\"9223372036854775808\""},
    {"1.5", "Edm.Double", "1.5"},
    {"1e5", "Edm.Double", "1e5"},
    {"TRUE", "Edm.Boolean", "true"},
    {"2024-01-02T03:04:05Z", "Edm.DateTime", "\"2024-01-02T03:04:05Z\""},
    {"007", "Edm.String", "\"007\""},
    {"1 ", "Edm.String", "\"1 \""},
    {" 1", "Edm.String", "\" 1\""},
    {"\xEF\xBB\xBF"
     "1",
     "Edm.String",
     "\"\xEF\xBB\xBF"
     "1\""},
    {"truth", "Edm.String", "\"truth\""},
    {"NaN", "Edm.String", "\"NaN\""},
    {"-", "Edm.String", "\"-\""},
};

static void values_without_types_are_what_they_look_like(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(looks); i++) {
        _cleanup_(buffer_finish) struct buffer input, expected;
        buffer_init(&input, MEBIBYTE);
        buffer_init(&expected, MEBIBYTE);
        (void)buffer_append_format(&input, "PartitionKey;RowKey;A\np;r;%s\n", looks[i].value);
        (void)buffer_append_format(&expected, "2 {" KEYS ",\"A@odata.type\":\"%s\",\"A\":%s}\n",
                                   looks[i].type, looks[i].json);
        assert_shown(buffer_bytes(&input),
                     &(struct csv_rows_options){.delimiter = ';', .infers = true},
                     buffer_string(&expected));
    }
}

static void show_long(const char *before, size_t size, char c, const char *behind,
                      struct buffer *ret)
{
    _cleanup_(buffer_finish) struct buffer input;
    buffer_init(&input, 64 * MEBIBYTE);
    (void)buffer_append_string(&input, before);
    append_filler(&input, size, c);
    assert_int_equal(buffer_append_string(&input, behind), 0);
    buffer_clear(ret);
    show(buffer_bytes(&input), &(struct csv_rows_options){.infers = false}, SIZE_MAX, ret);
}

static void what_is_too_long(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer shown;
    buffer_init(&shown, 64 * MEBIBYTE);
    show_long("PartitionKey,RowKey\np,\"", 20 * MEBIBYTE, 'x', "\"\n", &shown);
    assert_bytes(buffer_bytes(&shown),
                 B("2:1 !!a row of more than 8 MiB: perhaps a quote is not closed\n"));
    show_long("RowKey", 10000, ',', "\n", &shown);
    assert_bytes(buffer_bytes(&shown), B("1:1 !!more than 4096 columns\n"));
    show_long("PartitionKey,RowKey\np,r", 2 * MEBIBYTE, ',', "\np,r", &shown);
    assert_true(bytes_end_with(buffer_bytes(&shown), B(",\n3 {" KEYS "}\n")));
    show_long("PartitionKey,RowKey\np,r\"", 20 * MEBIBYTE, 'x', "\np,r", &shown);
    assert_true(bytes_end_with(buffer_bytes(&shown), B("x\n3 {" KEYS "}\n")));
    assert_true(shown.size < CSV_ROWS_ROW_MAX + 200);
    show_long("PartitionKey,RowKey\np,", 2 * MEBIBYTE, '\1', "\np,r", &shown);
    assert_true(bytes_start_with(buffer_bytes(&shown), B("2:1 !an object of more than 8 MiB: p,")));
    assert_true(bytes_end_with(buffer_bytes(&shown), B("\1\n3 {" KEYS "}\n")));
    show_long("PartitionKey,RowKey\np,", MEBIBYTE, '\1', "\np,r", &shown);
    assert_true(bytes_end_with(buffer_bytes(&shown), B("\\u0001\"}\n3 {" KEYS "}\n")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_refusals),
        cmocka_unit_test(values_without_types_are_what_they_look_like),
        cmocka_unit_test(what_is_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
