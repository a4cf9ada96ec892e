/* SPDX-License-Identifier: MIT */
#include "client/entity/object_stream.h"
#include "tests/feed.h"
#include "tests/unit/unit.h"

#define MARK      "\xEF\xBB\xBF"
#define MEBIBYTE  ((size_t)1 << 20)
#define NO_OBJECT "not a JSON object"

/* What a stream finds, a line each: LINE:COLUMN OBJECT, LINE:COLUMN !REASON: TEXT, and at last
 * LINE:COLUMN !!REASON if the stream has failed. */

static void show_object(void *context, const struct stream_object *object, int r)
{
    struct buffer *shown = context;
    (void)buffer_append_format(shown, "%llu:%llu ", (unsigned long long)object->line,
                               (unsigned long long)object->column);
    if (r < 0) {
        assert_int_equal(r, -EBADMSG);
        (void)buffer_append_format(shown, "!!%s\n", object->refusal);
        return;
    }
    assert_int_equal(r, 1);
    if (object->is_of_items)
        (void)buffer_append_string(shown, "(item) ");
    if (object->refusal)
        (void)buffer_append_format(shown, "!%s: ", object->refusal);
    (void)buffer_append(shown, object->text);
    (void)buffer_append_char(shown, '\n');
}

/* Feeds at most `step` bytes at once. */
static void show(struct bytes input, size_t step, struct buffer *ret)
{
    _cleanup_(object_source_destroyp) struct object_source *stream = NULL;
    struct stream_object object;
    assert_int_equal(object_stream_create(&stream), 0);
    int r = feed(stream, input, step, show_object, ret);
    assert_int_equal(object_source_next(stream, &object), r); /* it stays so */
}

static const struct {
    const char *what;
    struct bytes input;
    const char *expected;
} cases[] = {
    {"no input", {"", 0}, ""},
    {"blanks alone", B(" \r\n\t\n"), ""},
    {"a line each", B("{\"a\":1}\n{\"b\":2}\n"), "1:1 {\"a\":1}\n2:1 {\"b\":2}\n"},
    {"CRLF, and no line end at the end", B("{}\r\n{}"), "1:1 {}\n2:1 {}\n"},
    {"several on a line", B("{}{} {},{}"), "1:1 {}\n1:3 {}\n1:6 {}\n1:9 {}\n"},
    {"over several lines", B("{\n  \"a\":\n1\n}\n{\n}\n"), "1:1 {\n  \"a\":\n1\n}\n5:1 {\n}\n"},
    {"brackets, quotes and escapes in strings", B("{\"}\\\"{\":\"]\\\\\"} {\"a\":[{\"b\":{}}]}"),
     "1:1 {\"}\\\"{\":\"]\\\\\"}\n1:16 {\"a\":[{\"b\":{}}]}\n"},
    {"a mark before each text", B(MARK "{}\n" MARK "{}" MARK "[" MARK "{}]"),
     "1:1 {}\n2:1 {}\n2:4 {}\n"},
    {"a column is a character", B("{\"\xC3\xA9\xE2\x82\xAC\":1} {}"),
     "1:1 {\"\xC3\xA9\xE2\x82\xAC\":1}\n1:10 {}\n"},

    {"an array", B("[{},\n {}\n,{}]\n"), "1:2 {}\n2:2 {}\n3:2 {}\n"},
    {"arrays, and objects between", B("[]{}[ ]\n[{}]{}[{}]"), "1:3 {}\n2:2 {}\n2:5 {}\n2:8 {}\n"},
    {"an array in an array is no object", B("[[{}],{}]"), "1:2 !" NO_OBJECT ": [{}]\n1:7 {}\n"},

    {"other values", B("5 \"{}\" true null -1e5\n{}[1,{},\"x\"]0"),
     "1:1 !" NO_OBJECT ": 5\n1:3 !" NO_OBJECT ": \"{}\"\n1:8 !" NO_OBJECT ": true\n"
     "1:13 !" NO_OBJECT ": null\n1:18 !" NO_OBJECT ": -1e5\n2:1 {}\n"
     "2:4 !" NO_OBJECT ": 1\n2:6 {}\n2:9 !" NO_OBJECT ": \"x\"\n2:13 !" NO_OBJECT ": 0\n"},

    {"junk goes to the next line that begins an object",
     B("{} PartitionKey,RowKey {}\n a {}\n \t, [ {}]\n{}"),
     "1:1 {}\n1:4 !no JSON value begins so: PartitionKey,RowKey {}\n a {}\n3:7 {}\n4:1 {}\n"},
    {"junk to the end", B("junk\n\"{}\"\n"), "1:1 !no JSON value begins so: junk\n\"{}\"\n"},
    {"a bracket too much", B("{}]\n{}\n]"),
     "1:1 {}\n1:3 !a bracket that closes nothing: ]\n2:1 {}\n"
     "3:1 !a bracket that closes nothing: ]\n"},
    {"an object that is not closed", B("{\"a\":1\n{\"b\":2}\n"),
     "2:1 !an object or array where none can be: {\"a\":1\n2:1 {\"b\":2}\n"},
    {"the same in lines of an array without brackets", B("{\"a\":1\n,{\"b\":2}\n"),
     "2:2 !an object or array where none can be: {\"a\":1\n2:2 {\"b\":2}\n"},
    {"the same before an array", B("{\"a\":1\n [{\"b\":2}]\n"),
     "2:2 !an object or array where none can be: {\"a\":1\n2:3 {\"b\":2}\n"},
    {"a string that is not closed", B("{\"a\":\"x}\n{}\n"),
     "1:9 !a control character in a string: {\"a\":\"x}\n2:1 {}\n"},
    {"a wrong byte in the middle takes the rest of the lines", B("{\n\"a\":x,\n \"b\":\n{\n}}\n{}"),
     "2:5 !no JSON value begins so: {\n\"a\":x,\n \"b\":\n4:1 {\n}\n"
     "5:2 !a bracket that closes nothing: }\n6:1 {}\n"},
    {"a trailing comma", B("{\"a\":1 , }{}\n{}\n"),
     "1:8 !a trailing comma: {\"a\":1 , }{}\n2:1 {}\n"},
    {"not UTF-8", B("{\"a\":\"\xE9\"}\n{}"), "1:8 !not UTF-8: {\"a\":\"\xE9\"}\n2:1 {}\n"},
    {"UTF-16", B("\xFF\xFE{}"), "1:1 !no JSON value begins so: \xFF\xFE{}\n"},
    {"a piece of a mark", B("\xEF\xBB{}\n{}"),
     "1:2 !no JSON value begins so: \xEF\xBB{}\n2:1 {}\n"},

    {"the end in an object", B("{}\n{\"a\": {\n"),
     "1:1 {}\n3:1 !the input ends in the middle of it: {\"a\": {\n"},
    {"the end in a string", B("\"x"), "1:3 !the input ends in the middle of it: \"x\n"},
    {"the end in a mark", B("{}\xEF\xBB"),
     "1:1 {}\n1:4 !the input ends in the middle of it: \xEF\xBB\n"},
    {"the end in an array", B("[{},\n"), "1:2 {}\n2:1 !!the input ends inside an array\n"},
    {"the end in an object of an array", B("[{"), "1:3 !!the input ends in the middle of it\n"},

    {"what a service answers", B("{\"odata.metadata\":\"m\",\"value\":[{\"a\":1},\n{}]}\n{}"),
     "1:32 {\"a\":1}\n2:1 {}\n3:1 {}\n"},
    {"what az prints", B("{\n \"items\": [\n  {\n }\n ],\n \"nextMarker\": {\"a\": [1]}\n}\n{}"),
     "3:3 (item) {\n }\n8:1 {}\n"},
    {"a list without objects", B("{\"value\":[]}{\"items\" : [ ] }{}"), "1:29 {}\n"},
    {"several answers, and two lists in one",
     B("{\"value\":[{}]}{\"items\":[{}],\"value\":[{}]}[{}]"),
     "1:11 {}\n1:25 (item) {}\n1:38 {}\n1:43 {}\n"},
    {"an array in a list is none", B("{\"value\":[[{}],5,{}]}"),
     "1:11 !" NO_OBJECT ": [{}]\n1:16 !" NO_OBJECT ": 5\n1:18 {}\n"},
    {"no list: an entity's",
     B("{\"RowKey\":\"\",\"value\":[{}]}{\"PartitionKey\":1,\"items\":[{}]}"),
     "1:1 {\"RowKey\":\"\",\"value\":[{}]}\n1:27 {\"PartitionKey\":1,\"items\":[{}]}\n"},
    {"no list: another value, a deeper one, another name",
     B("{\"value\":{\"items\":[{}]}}{\"items\":\"[\",\"a\":[{}]}{\"a\":{\"value\":[{}]},\"Value\":["
       "]}"),
     "1:1 {\"value\":{\"items\":[{}]}}\n1:25 {\"items\":\"[\",\"a\":[{}]}\n"
     "1:47 {\"a\":{\"value\":[{}]},\"Value\":[]}\n"},
    {"a list behind a deeper key", B("{\"a\":{\"RowKey\":1},\"value\":[{}]}"), "1:28 {}\n"},
    {"no list: in an array", B("[{\"value\":[{}]}]"), "1:2 {\"value\":[{}]}\n"},
    {"junk behind a list", B("{\"value\":[{}],5}\n{}"),
     "1:11 {}\n1:15 !a property name is expected here: ],5}\n2:1 {}\n"},
    {"a comma behind a list", B("{\"value\":[{}],}\n{}"),
     "1:11 {}\n1:14 !a trailing comma: ],}\n2:1 {}\n"},
    {"the end behind a list", B("{\"value\":[{}]\n"),
     "1:11 {}\n2:1 !the input ends in the middle of it: ]\n"},
    {"the end in a list", B("{\"value\":[{},"), "1:11 {}\n1:14 !!the input ends inside an array\n"},
    {"a comma at the end of a list", B("{\"items\":[{},]}"),
     "1:11 (item) {}\n1:14 !!a bracket after a comma\n"},

    {"junk in an array", B("[{},\n x,{}]\n{}"), "1:2 {}\n2:2 !!no JSON value begins so\n"},
    {"no comma", B("[{} {}]"), "1:2 {}\n1:5 !!a comma is expected here\n"},
    {"two commas", B("[{},,{}]"), "1:2 {}\n1:5 !!a separator where none can be\n"},
    {"a comma at the end", B("[{},]"), "1:2 {}\n1:5 !!a bracket after a comma\n"},
    {"a comma at the start", B("[,{}]"), "1:2 !!a separator where none can be\n"},
    {"an object that is not closed, in an array", B("[{\"a\":1]"),
     "1:8 !!a bracket that closes nothing\n"},
};

static void objects_and_refusals(void **state)
{
    (void)state;
    static const size_t steps[] = {SIZE_MAX, 1, 2, 3, 7};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        for (size_t j = 0; j < ARRAY_SIZE(steps); j++) {
            _cleanup_(buffer_finish) struct buffer shown;
            buffer_init(&shown, MEBIBYTE);
            show(cases[i].input, steps[j], &shown);
            assert_bytes(buffer_bytes(&shown), bytes_of(cases[i].expected));
        }
}

struct found { /* without the texts, which are long */
    struct buffer list;
    size_t longest; /* text */
};

static void note_object(void *context, const struct stream_object *object, int r)
{
    struct found *found = context;
    unsigned long long line = object->line, column = object->column;
    if (r < 0) {
        (void)buffer_append_format(&found->list, "%llu:%llu !!%s\n", line, column, object->refusal);
        return;
    }
    (void)buffer_append_format(&found->list, "%llu:%llu..%llu %s\n", line, column,
                               (unsigned long long)object->end_offset,
                               object->refusal ? object->refusal : "whole");
    found->longest = MAX(found->longest, object->text.size);
}

static const struct {
    const char *what, *before, *behind, *expected; /* the filler stands between */
    size_t size;
    char filler;
} longs[] = {
    {"as long as can be", "{\"a\":\"", "\"} {}", "1:1..8388608 whole\n1:8388610..8388611 whole\n",
     8 * MEBIBYTE - 8, 'x'},
    {"a byte longer", "{\"a\":\"", "\"} {}",
     "1:1..8388609 an object of more than 8 MiB\n1:8388611..8388612 whole\n", 8 * MEBIBYTE - 7,
     'x'},
    {"much longer", "{\"a\":\"", "\"}\n{}",
     "1:1..41943048 an object of more than 8 MiB\n2:1..41943051 whole\n", 40 * MEBIBYTE, 'x'},
    {"with line ends", "{\"a\":\n", "\"x\"}{}",
     "1:1..20971530 an object of more than 8 MiB\n20971522:5..20971532 whole\n", 20 * MEBIBYTE,
     '\n'},
    {"in an array", "[{\"a\":\"", "\"},{}]",
     "1:2..20971529 an object of more than 8 MiB\n"
     "1:20971531..20971532 whole\n",
     20 * MEBIBYTE, 'x'},
    {"with a wrong byte far behind", "{\"a\":\"", "\n{}",
     "1:20971527..20971527 a control character in a string\n"
     "2:1..20971529 whole\n",
     20 * MEBIBYTE, 'x'},
    {"not closed", "{\"a\":5", "{\n{}",
     "20971521:1..20971526 an object or array where none can be\n"
     "20971522:1..20971528 an object or array where none can be\n"
     "20971522:1..20971530 whole\n",
     20 * MEBIBYTE, '\n'},
    {"the input ends in it", "{\"a\":\"", "",
     "1:20971527..20971526 the input ends in the middle of it\n", 20 * MEBIBYTE, 'x'},
    {"a comma far before the bracket", "{\"a\":1,", "}\n{}",
     "1:20971518..20971529 a trailing comma\n"
     "2:1..20971531 whole\n",
     20 * MEBIBYTE, ' '},
    {"another value", "\"", "\"{}",
     "1:1..20971522 not a JSON object\n"
     "1:20971523..20971524 whole\n",
     20 * MEBIBYTE, 'x'},
    {"a list", "{\"value\":[{}", "{}]}{}",
     "1:11..12 whole\n1:20971533 !!a comma is expected here\n", 20 * MEBIBYTE, ' '},
    {"much before a list", "{\"a\":\"", "\",\"value\":[{}]}{}",
     "1:20971538..20971539 whole\n1:20971542..20971543 whole\n", 20 * MEBIBYTE, 'x'},
    {"much behind a list", "{\"value\":[{}],\"a\":\"", "\"}{}",
     "1:11..12 whole\n1:20971542..20971543 whole\n", 20 * MEBIBYTE, 'x'},
    {"blanks between", "{}", "{}",
     "1:1..2 whole\n"
     "20971521:1..20971524 whole\n",
     20 * MEBIBYTE, '\n'},
    {"junk", "{} junk", "\n{}",
     "1:1..2 whole\n"
     "1:4..20971528 no JSON value begins so\n"
     "2:1..20971530 whole\n",
     20 * MEBIBYTE, '-'},
    {"a line of brackets behind junk", "junk\n", "{}\n{}",
     "1:1..20971528 no JSON value begins so\n"
     "3:1..20971530 whole\n",
     20 * MEBIBYTE, '['},
    {"a line of blanks behind junk", "junk\n", "{}\n{}",
     "1:1..5 no JSON value begins so\n"
     "2:131073..131079 whole\n"
     "3:1..131082 whole\n",
     MEBIBYTE / 8, ' '},
};

static void what_is_too_long_takes_little_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(longs); i++) {
        _cleanup_(object_source_destroyp) struct object_source *stream = NULL;
        _cleanup_(buffer_finish) struct buffer input;
        struct found found = {.list.max = 1000};
        buffer_init(&input, 64 * MEBIBYTE);
        (void)buffer_append_string(&input, longs[i].before);
        append_filler(&input, longs[i].size, longs[i].filler);
        assert_int_equal(buffer_append_string(&input, longs[i].behind), 0);
        assert_int_equal(object_stream_create(&stream), 0);
        (void)feed(stream, buffer_bytes(&input), SIZE_MAX, note_object, &found);
        assert_string_equal(buffer_string(&found.list), longs[i].expected);
        assert_true(found.longest <= OBJECT_SOURCE_OBJECT_MAX);
        buffer_finish(&found.list);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_and_refusals),
        cmocka_unit_test(what_is_too_long_takes_little_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
