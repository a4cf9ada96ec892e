/* SPDX-License-Identifier: MIT */
#include "client/azure/entity_answer.h"
#include "tests/unit/unit.h"

#define PAGE_BYTES ((size_t)1 << 20)

struct made {
    int error;
    struct call call;
    size_t dropped;
    struct page *page; /* what was in the builder, also after a failure */
};

/* A page, or one entity with this ETag. The body is in memory of its own, so that a read after it
 * is seen. */
static void make(struct made *made, struct bytes body, struct range range, bool keys_only,
                 const struct bytes *etag)
{
    struct page_builder *builder;
    char *copy = body.size > 0 ? malloc(body.size) : NULL;
    if (copy)
        memcpy(copy, body.data, body.size);
    *made = (struct made){.error = 0};
    body.data = copy;
    assert_int_equal(page_builder_create(PAGE_BYTES, &builder), 0);
    made->error =
        etag ? entity_answer_single(body, *etag, &made->call, builder)
             : entity_answer_page(body, range, keys_only, &made->call, builder, &made->dropped);
    free(copy);
    assert_int_equal(made->error, made->call.failure.error);
    assert_int_equal(page_builder_finish(builder, RANGE_ALL, keys_only, &made->page), 0);
    page_builder_destroy(builder);
}

static void make_page(struct made *made, struct bytes body, struct range range, bool keys_only)
{
    make(made, body, range, keys_only, NULL);
}

static void make_single(struct made *made, struct bytes body, struct bytes etag)
{
    make(made, body, RANGE_ALL, false, &etag);
}

static void assert_row(const struct made *made, size_t row, struct bytes position,
                       struct bytes etag, int64_t timestamp, struct bytes text)
{
    assert_true(row < page_rows(made->page));
    assert_bytes(page_position(made->page, row), position);
    assert_bytes(page_etag(made->page, row), etag);
    assert_true(page_timestamp(made->page, row) == timestamp);
    assert_bytes(page_text(made->page, row), text);
    assert_false(page_is_bad(made->page, row));
}

static const char sample[] =
    "{\"odata.metadata\":\"https://account.table.core.windows.net/$metadata#packages\",\"value\":["
    "{\"odata.etag\":\"W/"
    "\\\"1\\\"\",\"PartitionKey\":\"a\",\"RowKey\":\"\\u00e9\",\"Timestamp\":\"1970-01-01T00:00:"
    "01Z\",\"x\":1},"
    "{\"odata.etag\":\"W/"
    "\\\"2\\\"\",\"PartitionKey\":\"b\",\"RowKey\":\"\",\"Timestamp\":\"1970-01-01T00:00:02.5Z\"},"
    "{\"PartitionKey\":\"b\",\"RowKey\":\"\\ud83d\\ude00\"}]}";

#define TEXT_0 B("{\n  \"PartitionKey\": \"a\",\n  \"RowKey\": \"\xC3\xA9\",\n  \"x\": 1\n}\n")
#define TEXT_1 B("{\n  \"PartitionKey\": \"b\",\n  \"RowKey\": \"\"\n}\n")
#define TEXT_2 B("{\n  \"PartitionKey\": \"b\",\n  \"RowKey\": \"\xF0\x9F\x98\x80\"\n}\n")

static void a_body_becomes_rows(void **state)
{
    (void)state;
    struct made made;
    make_page(&made, B(sample), RANGE_ALL, false);
    assert_int_equal(made.error, 0);
    assert_int_equal(page_rows(made.page), 3);
    assert_row(&made, 0, B("a\0\xC3\xA9"), B("W/\"1\""), 10000000, TEXT_0);
    assert_row(&made, 1, B("b\0"), B("W/\"2\""), 25000000, TEXT_1);
    assert_row(&made, 2, B("b\0\xED\xA0\xBD\xED\xB8\x80"), B(""), 0, TEXT_2);
    page_unref(made.page);
}

static void keys_only_rows_have_no_text(void **state)
{
    (void)state;
    struct made made;
    make_page(&made, B(sample), RANGE_ALL, true);
    assert_int_equal(made.error, 0);
    assert_int_equal(page_rows(made.page), 3);
    assert_true(page_is_keys_only(made.page));
    assert_row(&made, 0, B("a\0\xC3\xA9"), B("W/\"1\""), 10000000, B(""));
    assert_row(&made, 2, B("b\0\xED\xA0\xBD\xED\xB8\x80"), B(""), 0, B(""));
    page_unref(made.page);
}

static void rows_outside_the_range_are_left_out(void **state)
{
    (void)state;
    struct made made;
    make_page(&made, B(sample), (struct range){B("a\0\xC3\xA9\x01"), B("b\0\x01")}, false);
    assert_int_equal(made.error, 0);
    assert_int_equal(page_rows(made.page), 1);
    assert_int_equal(made.dropped, 2);
    assert_row(&made, 0, B("b\0"), B("W/\"2\""), 25000000, TEXT_1);
    page_unref(made.page);
    make_page(&made, B(sample), (struct range){B("b\0\x01"), B("c")}, false);
    assert_int_equal(page_rows(made.page), 1);
    assert_row(&made, 0, B("b\0\xED\xA0\xBD\xED\xB8\x80"), B(""), 0, TEXT_2);
    page_unref(made.page);
    make_page(&made, B(sample), (struct range){B("x"), B("x")}, false);
    assert_int_equal(made.error, 0);
    assert_int_equal(page_rows(made.page), 0);
    assert_int_equal(made.dropped, 3);
    page_unref(made.page);
}

static void empty_answers_are_pages(void **state)
{
    (void)state;
    static const struct bytes bodies[] = {
        B("{\"value\":[]}"),
        B("\n{ \"value\" : [ ] , \"odata.metadata\" : \"x\" }\n"),
        B("{\"unknown\":{\"value\":[1,{}]},\"v\\u0061lue\":[],\"more\":null}"),
    };
    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        struct made made;
        make_page(&made, bodies[i], RANGE_ALL, false);
        assert_int_equal(made.error, 0);
        assert_int_equal(page_rows(made.page), 0);
        page_unref(made.page);
    }
}

static void assert_refused(const struct made *made, const char *problem, size_t offset)
{
    char message[256];
    (void)snprintf(message, sizeof(message), "the answer is not one with entities: %s, at byte %zu",
                   problem, offset);
    assert_int_equal(made->error, -EPROTO);
    assert_string_equal(made->call.failure.message, message);
    bool is_cut = offset > 0 && strcmp(problem, "the text ends too early") == 0;
    assert_int_equal(made->call.failure.is_retryable, is_cut);
    page_unref(made->page);
}

struct refused {
    struct bytes body;
    const char *problem;
    size_t offset;
};

#define ROW "{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}"

static void what_the_service_does_not_send_is_refused(void **state)
{
    (void)state;
    static const struct refused cases[] = {
        {B(""), "the text ends too early", 0},
        {B("[]"), "not an object", 0},
        {B("<html>"), "no JSON value begins so", 0},
        {B("{}"), "no value before the object's end", 1},
        {B("{\"Value\":[]}"), "no value before the object's end", 11},
        {B("{\"value\":{}}"), "value is not an array", 9},
        {B("{\"value\":[],\"value\":[]}"), "a second value", 12},
        {B("{\"value\":[5]}"), "an entity that is not an object", 10},
        {B("{\"value\":[[]]}"), "an entity that is not an object", 10},
        {B("{\"value\":[" ROW ",null]}"), "an entity that is not an object", 44},
        {B("{\"value\":[{}]}"), "an entity without both its keys ends here", 11},
        {B("{\"value\":[{\"PartitionKey\":\"p\"}]}"), "an entity without both its keys ends here",
         29},
        {B("{\"value\":[{\"RowKey\":\"p\"}]}"), "an entity without both its keys ends here", 23},
        {B("{\"value\":[{\"PartitionKey\":\"\\u0000\",\"RowKey\":\"r\"}]}"),
         "an entity with U+0000 in a key ends here", 47},
        {B("{\"value\":[{\"PartitionKey\":\"p\",\"RowKey\":\"\\u0000\",\"x\":[]}]}"),
         "an entity with U+0000 in a key ends here", 54},
        {B("{\"value\":[{\"PartitionKey\":\"p\",\"RowKey\":\"r\",\"RowKey\":\"r\"}]}"),
         "a key that occurs twice", 52},
        {B("{\"value\":[]}]"), "a bracket that closes nothing", 12},
        {B("{\"value\":[]}{}"), "an object or array where none can be", 12},
        {B("{\"a\":[1,],\"value\":[]}"), "a trailing comma", 7},
        {B("{\"value\":[" ROW " " ROW "]}"), "an object or array where none can be", 44},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct made made;
        make_page(&made, cases[i].body, RANGE_ALL, false);
        assert_refused(&made, cases[i].problem, cases[i].offset);
    }
}

static void keys_that_are_longer_than_any_are_refused(void **state)
{
    (void)state;
    for (int longer = 0; longer < 2; longer++) {
        struct made made;
        char body[POSITION_ROW_MAX_BYTES + 100];
        int size = (int)POSITION_ROW_MAX_BYTES - 2 + longer; /* with "p", a NUL */
        int n = snprintf(body, sizeof(body),
                         "{\"value\":[{\"PartitionKey\":\"p\",\"RowKey\":\"%0*d\"}]}", size, 0);
        make_page(&made, (struct bytes){body, (size_t)n}, RANGE_ALL, false);
        if (longer) {
            assert_refused(&made, "an entity with keys that are too long ends here",
                           (size_t)n - sizeof("]}"));
            continue;
        }
        assert_int_equal(page_position(made.page, 0).size, POSITION_ROW_MAX_BYTES);
        page_unref(made.page);
    }
}

static void a_body_cut_anywhere_is_refused(void **state)
{
    (void)state;
    struct bytes body = B(sample);
    for (size_t n = 0; n < body.size; n++) {
        struct made made;
        make_page(&made, bytes_first(body, n), RANGE_ALL, false);
        assert_refused(&made, "the text ends too early", n);
    }
}

static void a_failure_leaves_whole_rows(void **state)
{
    (void)state;
    struct made made;
    make_page(&made, B("{\"value\":[" ROW ",{\"PartitionKey\":\"p\",\"x\":1}]}"), RANGE_ALL, false);
    assert_int_equal(made.error, -EPROTO);
    assert_int_equal(page_rows(made.page), 1);
    assert_bytes(page_position(made.page, 0), B("p\0r"));
    page_unref(made.page);
}

static void a_single_entity_is_one_row(void **state)
{
    (void)state;
    struct made made;
    struct bytes body = B("{\"odata.metadata\":\"m\",\"odata.etag\":\"W/"
                          "\\\"1\\\"\",\"PartitionKey\":\"p\",\"RowKey\":\"r\","
                          "\"Timestamp\":\"1970-01-01T00:00:01Z\"}");
    struct bytes text = B("{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"r\"\n}\n");
    make_single(&made, body, B(""));
    assert_int_equal(made.error, 0);
    assert_int_equal(page_rows(made.page), 1);
    assert_row(&made, 0, B("p\0r"), B("W/\"1\""), 10000000, text);
    page_unref(made.page);
    make_single(&made, body, B("W/\"header\""));
    assert_int_equal(made.error, 0);
    assert_row(&made, 0, B("p\0r"), B("W/\"header\""), 10000000, text);
    page_unref(made.page);
    make_single(&made, B("{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}"), B(""));
    assert_row(&made, 0, B("p\0r"), B(""), 0, text);
    page_unref(made.page);

    for (size_t n = 0; n < body.size; n++) {
        make_single(&made, bytes_first(body, n), B(""));
        assert_refused(&made, "the text ends too early", n);
    }
}

static void what_is_no_single_entity_is_refused(void **state)
{
    (void)state;
    static const struct refused cases[] = {
        {B("[" ROW "]"), "not an object", 0},
        {B("{\"value\":[]}"), "an entity without both its keys ends here", 11},
        {B("{\"PartitionKey\":\"p\"}"), "an entity without both its keys ends here", 19},
        {B(ROW ROW), "an object or array where none can be", 33},
        {B(ROW "x"), "no JSON value begins so", 33},
        {B("{\"PartitionKey\":\"p\",\"RowKey\":\"\\u0000\"}"),
         "an entity with U+0000 in a key ends here", 37},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct made made;
        make_single(&made, cases[i].body, B("e"));
        assert_refused(&made, cases[i].problem, cases[i].offset);
    }
}

#define BAD_ROW                                                                                    \
    "{ \"x\" : {\"RowKey\":[1]},\"odata.etag\":\"e2\",\"PartitionKey\":\"p\",\"RowKey\":\"b\","    \
    "\"Timestamp\":\"1970-01-01T00:00:02Z\" }"

static void assert_bad(const struct made *made, size_t row, struct bytes position,
                       struct bytes etag, int64_t timestamp, struct bytes json)
{
    assert_true(row < page_rows(made->page));
    assert_true(page_is_bad(made->page, row));
    assert_bytes(page_position(made->page, row), position);
    assert_bytes(page_etag(made->page, row), etag);
    assert_int_equal(page_timestamp(made->page, row), timestamp);
    assert_bytes(page_text(made->page, row), json);
}

static void a_row_without_a_text_is_bad_beside_good_ones(void **state)
{
    (void)state;
    struct made made;
    struct bytes good = B("{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"a\"\n}\n");
    struct bytes next = B("{\n  \"PartitionKey\": \"p\",\n  \"RowKey\": \"c\"\n}\n");
    struct bytes body = B("{\"value\":[{\"PartitionKey\":\"p\",\"RowKey\":\"a\"}, " BAD_ROW
                          ",{\"PartitionKey\":\"p\",\"RowKey\":\"c\"}]}");
    make_page(&made, body, RANGE_ALL, false);
    assert_int_equal(made.error, 0);
    assert_int_equal(page_rows(made.page), 3);
    assert_row(&made, 0, B("p\0a"), B(""), 0, good);
    assert_bad(&made, 1, B("p\0b"), B("e2"), 20000000, B(BAD_ROW));
    assert_row(&made, 2, B("p\0c"), B(""), 0, next);

    struct entity copy = {0};
    assert_int_equal(entity_copy(&(struct entity){made.page, 1}, &copy), 0);
    assert_true(page_is_bad(copy.page, copy.row));
    assert_bytes(page_text(copy.page, copy.row), B(BAD_ROW));
    entity_finish(&copy);
    page_unref(made.page);

    make_page(&made, body, (struct range){B("p\0c"), B("q")}, false);
    assert_int_equal(made.error, 0);
    assert_int_equal(made.dropped, 2);
    assert_row(&made, 0, B("p\0c"), B(""), 0, next);
    page_unref(made.page);

    make_page(&made, body, RANGE_ALL, true); /* names and ETags are as of any row */
    assert_int_equal(made.error, 0);
    assert_int_equal(page_rows(made.page), 3);
    assert_row(&made, 1, B("p\0b"), B("e2"), 20000000, B(""));
    page_unref(made.page);
}

static void each_kind_of_bad_row(void **state)
{
    (void)state;
    static const char *const members[] = {
        "\"x\":[]",           "\"x\":{}",           "\"x\":1,\"x\":1",
        "\"x@odata.type\":1", "\"Timestamp\":\"\"", "\"odata.etag\":\"\\udc00\"",
        "\"odata.etag\":7",
    };
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        _cleanup_(buffer_finish) struct buffer row;
        struct made made;
        buffer_init(&row, 1000);
        (void)buffer_append_format(&row, "{\"PartitionKey\":\"p\",\"RowKey\":\"b\",%s}",
                                   members[i]);
        make_single(&made, buffer_bytes(&row), B("header"));
        assert_int_equal(made.error, 0);
        assert_int_equal(page_rows(made.page), 1);
        assert_bad(&made, 0, B("p\0b"), B("header"), 0, buffer_bytes(&row));
        page_unref(made.page);
    }
}

static void past_the_maximum_is_efbig(void **state)
{
    (void)state;
    struct bytes body = B(sample);
    for (size_t max = 0; max < 1000; max++) {
        struct page_builder *builder;
        struct call call = {.deadline_ms = 0};
        size_t dropped;
        assert_int_equal(page_builder_create(max, &builder), 0);
        int r = entity_answer_page(body, RANGE_ALL, false, &call, builder, &dropped);
        page_builder_destroy(builder);
        if (r == 0) {
            assert_true(max > TEXT_0.size + TEXT_1.size + TEXT_2.size);
            return;
        }
        assert_int_equal(r, -EFBIG);
        assert_int_equal(call.failure.error, -EFBIG);
        assert_string_equal(call.failure.message, "an answer too large for a page");
    }
    fail();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_becomes_rows),
        cmocka_unit_test(keys_only_rows_have_no_text),
        cmocka_unit_test(rows_outside_the_range_are_left_out),
        cmocka_unit_test(empty_answers_are_pages),
        cmocka_unit_test(what_the_service_does_not_send_is_refused),
        cmocka_unit_test(keys_that_are_longer_than_any_are_refused),
        cmocka_unit_test(a_body_cut_anywhere_is_refused),
        cmocka_unit_test(a_failure_leaves_whole_rows),
        cmocka_unit_test(a_single_entity_is_one_row),
        cmocka_unit_test(what_is_no_single_entity_is_refused),
        cmocka_unit_test(a_row_without_a_text_is_bad_beside_good_ones),
        cmocka_unit_test(each_kind_of_bad_row),
        cmocka_unit_test(past_the_maximum_is_efbig),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
