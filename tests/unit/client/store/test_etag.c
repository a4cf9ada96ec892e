/* SPDX-License-Identifier: MIT */
#include "client/azure/etag.h"
#include "client/text/timestamp_etag.h"
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

static void assert_written(int64_t timestamp)
{
    char written[TIMESTAMP_ETAG_SIZE + 1], expected[100], day[32];
    time_t seconds = (time_t)(timestamp / TICKS_PER_SEC);
    struct tm utc;
    timestamp_etag_write(timestamp, written);
    assert_non_null(gmtime_r(&seconds, &utc));
    assert_int_not_equal(strftime(day, sizeof(day), "%Y-%m-%dT%H%%3A%M%%3A%S", &utc), 0);
    (void)snprintf(expected, sizeof(expected), "W/\"datetime'%s.%07dZ'\"", day,
                   (int)(timestamp % TICKS_PER_SEC));
    assert_string_equal(written, expected);
}

/* Up to the end of the year 9999. */
static void a_timestamp_of_every_day_is_written(void **state)
{
    (void)state;
    for (int64_t day = 0; day <= TIMESTAMP_MAX / TICKS_PER_SEC / 86400; day++)
        assert_written((day * 86400 + day * 7919 % 86400) * TICKS_PER_SEC + day % 10000000);
    assert_written(1);
    assert_written(TIMESTAMP_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_time_is_read_where_there_is_one),
        cmocka_unit_test(what_cannot_be_kept_is_refused),
        cmocka_unit_test(a_timestamp_of_every_day_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
