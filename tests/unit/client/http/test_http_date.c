/* SPDX-License-Identifier: MIT */
#include "client/http/http_date.h"
#include "client/base/clock.h"
#include "tests/unit/unit.h"

static const struct {
    int64_t seconds;
    const char *text;
} dates[] = {
    {0, "Thu, 01 Jan 1970 00:00:00 GMT"},
    {86399, "Thu, 01 Jan 1970 23:59:59 GMT"},
    {951782399, "Mon, 28 Feb 2000 23:59:59 GMT"},
    {951782400, "Tue, 29 Feb 2000 00:00:00 GMT"},
    {951868800, "Wed, 01 Mar 2000 00:00:00 GMT"},
    {1735787045, "Thu, 02 Jan 2025 03:04:05 GMT"},
    {1709164800, "Thu, 29 Feb 2024 00:00:00 GMT"},
    {1798761599, "Thu, 31 Dec 2026 23:59:59 GMT"},
    {4107542400, "Mon, 01 Mar 2100 00:00:00 GMT"}, /* 2100 is no leap year */
    {253402300799, "Fri, 31 Dec 9999 23:59:59 GMT"},
};

static void dates_are_written_and_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(dates); i++) {
        _cleanup_(buffer_finish) struct buffer text;
        int64_t utc_100ns = -1;
        buffer_init(&text, 64);
        assert_int_equal(http_date_append(&text, dates[i].seconds * TICKS_PER_SEC + 9999999), 0);
        assert_string_equal(buffer_string(&text), dates[i].text);
        assert_true(http_date_parse(buffer_bytes(&text), &utc_100ns));
        assert_int_equal(utc_100ns, dates[i].seconds * TICKS_PER_SEC);
    }
}

static void a_leap_second_is_the_next_minute(void **state)
{
    (void)state;
    int64_t utc_100ns;
    assert_true(http_date_parse(bytes_of("Sat, 31 Dec 2016 23:59:60 GMT"), &utc_100ns));
    assert_int_equal(utc_100ns, 1483228800 * TICKS_PER_SEC);
    assert_true(http_date_parse(bytes_of("Tue, 30 Jun 2015 23:59:60 GMT"), &utc_100ns));
    assert_int_equal(utc_100ns, 1435708800 * TICKS_PER_SEC);
    assert_true(http_date_parse(bytes_of("Thu, 02 Jan 2025 03:04:60 GMT"), &utc_100ns));
    assert_int_equal(utc_100ns, 1735787100 * TICKS_PER_SEC);
}

static void other_forms_are_read(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "Thursday, 02-Jan-25 03:04:05 GMT", /* RFC 850 */
        "Thu Jan  2 03:04:05 2025",         /* asctime */
        "Thu, 02 Jan 2025 03:04:05 UTC",    "Wed, 01 Jan 2025 19:04:05 -0800",
        " Thu, 02 Jan 2025 03:04:05 GMT ",
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        int64_t utc_100ns;
        assert_true(http_date_parse(bytes_of(texts[i]), &utc_100ns));
        assert_int_equal(utc_100ns, 1735787045 * TICKS_PER_SEC);
    }
}

static void every_day_of_400_years_is_written_and_read(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer text;
    buffer_init(&text, 64);
    for (int64_t day = 0; day < 146097; day++) {
        char expected[64];
        struct tm date;
        time_t seconds = (time_t)(day * 86400 + 45296);
        (void)gmtime_r(&seconds, &date);
        (void)strftime(expected, sizeof(expected), "%a, %d %b %Y %H:%M:%S GMT", &date);
        buffer_clear(&text);
        assert_int_equal(http_date_append(&text, seconds * TICKS_PER_SEC), 0);
        assert_string_equal(buffer_string(&text), expected);
        int64_t back = 0;
        assert_true(http_date_parse(buffer_bytes(&text), &back));
        assert_int_equal(back, seconds * TICKS_PER_SEC);
    }
}

static void other_texts_are_no_dates(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "GMT",
        "Thu, 02 Jam 2025 03:04:05 GMT",
        "Thu, 32 Jan 2025 03:04:05 GMT",
        "Thu, 00 Jan 2025 03:04:05 GMT",
        "Thu, 02 Jan 2025 24:04:05 GMT",
        "Thu, 02 Jan 2025 03:60:05 GMT",
        "Thu, 02 Jan 2025 03:04:61 GMT",
        "Thu, 02 Jan 1969 03:04:05 GMT",
        "Sat, 01 Jan 10000 00:00:00 GMT",
        "Fri, 31 Dec 2147483647 23:59:59 GMT",
        "2025-01-02T03:04:05Z",
        "03:04:05 GMT",
        "soon",
        "-5",
        "1.5",
        "99999999999999999999",
        "Thu, 02 Jan 2025 03:04:05 GMT, and then a text that is far too long",
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        int64_t value = 7;
        assert_false(http_date_parse(bytes_of(texts[i]), &value));
        assert_int_equal(value, 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dates_are_written_and_read),
        cmocka_unit_test(a_leap_second_is_the_next_minute),
        cmocka_unit_test(other_forms_are_read),
        cmocka_unit_test(every_day_of_400_years_is_written_and_read),
        cmocka_unit_test(other_texts_are_no_dates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
