#include "client/azure/etag.h"
#include "tests/unit/unit.h"

static void the_time_is_read_where_there_is_one(void **state)
{
    (void)state;
    static const struct {
        const char *etag;
        int64_t timestamp;
    } cases[] = {
        {"W/\"datetime'1970-01-01T00%3A00%3A01.9422152Z'\"", 19422152},
        {"W/\"datetime'1970-01-01T00%3a00%3a01Z'\"", 10000000},
        {"W/\"datetime'1970-01-01T00:00:01Z'\"", 10000000},
        {"W/\"datetime'1970-01-01T00%3A00%3A01.94221521Z'\"", 0}, /* 8 digits */
        {"W/\"datetime'1970-01-01T00%2A00%3A01Z'\"", 0},
        {"W/\"datetime'1970-01-01T00%3A00%3A0%33Z'\"", 0},
        {"W/\"datetime'1970-01-01T00%3A00%3A01Z\"", 0},
        {"W/\"datetime'%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A'\"", 0},
        {"W/\"datetime''\"", 0},
        {"W/\"datetime'\"", 0},
        {"\"0x8D4EF3D2A0A1B00\"", 0},
        {"*", 0},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct write_result result;
        assert_int_equal(etag_read(bytes_of(cases[i].etag), &result), 0);
        assert_string_equal(result.etag, cases[i].etag);
        assert_true(result.timestamp == cases[i].timestamp);
    }
}

static void what_cannot_be_kept_is_refused(void **state)
{
    (void)state;
    char text[200];
    struct write_result result = {.etag = "untouched", .timestamp = 7};
    memset(text, 'x', sizeof(text));
    assert_int_equal(etag_read(B(""), &result), -EPROTO);
    assert_int_equal(etag_read(B("\"a\0b\""), &result), -EPROTO);
    assert_int_equal(etag_read(B("\"a\r\nb\""), &result), -EPROTO);
    assert_int_equal(etag_read((struct bytes){text, sizeof(result.etag)}, &result), -EPROTO);
    assert_string_equal(result.etag, "untouched");
    assert_int_equal(result.timestamp, 7);
    assert_int_equal(etag_read((struct bytes){text, sizeof(result.etag) - 1}, &result), 0);
    assert_int_equal(strlen(result.etag), sizeof(result.etag) - 1);
    assert_int_equal(result.timestamp, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_time_is_read_where_there_is_one),
        cmocka_unit_test(what_cannot_be_kept_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
