/* SPDX-License-Identifier: MIT */
#include "client/text/edm_datetime.h"
#include "client/base/clock.h"
#include "tests/unit/unit.h"

/* What is it in the canonical spelling? */
static void assert_time(struct bytes text, const char *expected)
{
    _cleanup_(buffer_finish) struct buffer out;
    int64_t ticks;
    buffer_init(&out, EDM_DATETIME_SIZE);
    if (!edm_datetime_parse(text, &ticks))
        fail_msg("%.*s is no time", (int)text.size, text.data);
    assert_true(edm_datetime_has_form(text));
    assert_int_equal(edm_datetime_append(&out, ticks), 0);
    assert_bytes(buffer_bytes(&out), bytes_of(expected));
}

static void assert_none(struct bytes text, bool has_form)
{
    int64_t ticks = 42;
    if (edm_datetime_parse(text, &ticks) || edm_datetime_has_form(text) != has_form)
        fail_msg("%.*s", (int)text.size, text.data);
    assert_int_equal(ticks, 42);
}

static void every_form_of_the_service_is_a_time(void **state)
{
    (void)state;
    static const struct {
        struct bytes text;
        const char *expected;
    } cases[] = {
        {B("2008-07-10"), "2008-07-10T00:00:00Z"},
        {B("2008-07-10Z"), "2008-07-10T00:00:00Z"},
        {B("2008-07-10T04:25"), "2008-07-10T04:25:00Z"},
        {B("2008-07-10T04:25Z"), "2008-07-10T04:25:00Z"},
        {B("2008-07-10T04:25:03"), "2008-07-10T04:25:03Z"},
        {B("2008-07-10T04:25:03Z"), "2008-07-10T04:25:03Z"},
        {B("2008-07-10T04:25:03.1"), "2008-07-10T04:25:03.1Z"},
        {B("2008-07-10T04:25:03.12Z"), "2008-07-10T04:25:03.12Z"},
        {B("2008-07-10T04:25:03.123Z"), "2008-07-10T04:25:03.123Z"},
        {B("2008-07-10T04:25:03.1234"), "2008-07-10T04:25:03.1234Z"},
        {B("2008-07-10T04:25:03.12345Z"), "2008-07-10T04:25:03.12345Z"},
        {B("2008-07-10T04:25:03.123456Z"), "2008-07-10T04:25:03.123456Z"},
        {B("2008-07-10T04:25:03.1234567Z"), "2008-07-10T04:25:03.1234567Z"},
        {B("2008-07-10T04:25:03.0000001Z"), "2008-07-10T04:25:03.0000001Z"},
        {B("2008-07-10T04:25:03.1200000Z"), "2008-07-10T04:25:03.12Z"},
        {B("2008-07-10T04:25:50.0Z"), "2008-07-10T04:25:50Z"},
        {B("2008-07-10T04:25:50.0000000"), "2008-07-10T04:25:50Z"},
        {B("2020-11-16T04:25:03-05:00"), "2020-11-16T09:25:03Z"},
        {B("2008-07-10T04:25+01:00"), "2008-07-10T03:25:00Z"},
        {B("2008-07-10T04:25-08:00"), "2008-07-10T12:25:00Z"},
        {B("2008-07-10T04:25:03.5+05:45"), "2008-07-09T22:40:03.5Z"},
        {B("2008-07-10T04:25:03+00:00"), "2008-07-10T04:25:03Z"},
        {B("2008-07-10T04:25:03-00:00"), "2008-07-10T04:25:03Z"},
        {B("2020-02-29T23:30:00-01:00"), "2020-03-01T00:30:00Z"},
        {B("2019-01-01T00:30:00+01:00"), "2018-12-31T23:30:00Z"},
        {B("2008-07-10T00:00:00+14:00"), "2008-07-09T10:00:00Z"},
        {B("2008-07-10T00:00:00-14:00"), "2008-07-10T14:00:00Z"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_time(cases[i].text, cases[i].expected);
}

static void years_are_those_of_utc(void **state)
{
    (void)state;
    assert_time(B("1601-01-01"), "1601-01-01T00:00:00Z");
    assert_time(B("9999-12-31T23:59:59.9999999"), "9999-12-31T23:59:59.9999999Z");
    assert_time(B("1600-12-31T23:30:00-01:00"), "1601-01-01T00:30:00Z");
    assert_time(B("1601-01-01T01:00:00+01:00"), "1601-01-01T00:00:00Z");
    assert_time(B("9999-12-31T22:59:59.9999999-01:00"), "9999-12-31T23:59:59.9999999Z");
    static const struct bytes beyond[] = {
        B("1600-12-31T23:59:59.9999999Z"), B("1601-01-01T00:59:59+01:00"),
        B("9999-12-31T23:00:00-01:00"),    B("0001-01-01T00:00:00"), /* .NET's DateTime.MinValue */
        B("0000-01-01T00:00:00Z"),         B("0000-02-29"),
        B("1600-12-31T23:30:00+14:00"),
    };
    for (size_t i = 0; i < ARRAY_SIZE(beyond); i++)
        assert_none(beyond[i], true);
}

static void times_are_100_ns_since_1970(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ticks;
    } cases[] = {
        {"1970-01-01T00:00:00.0000000Z", 0},
        {"1970-01-01T00:00:00.0000001Z", 1},
        {"1970-01-01T00:00:00.1000000Z", 1000000},
        {"1969-12-31T23:59:59.9999999Z", -1},
        {"2000-02-29T12:34:56.0000000Z", 9518276960000000},
        {"2000-03-01T00:00:00.0000000Z", 9518688000000000},
        {"2017-01-05T03:25:25.9422152Z", 14835867259422152},
        {"2038-01-19T03:14:08.0000000Z", 21474836480000000},
        {"1900-02-28T00:00:00.0000000Z", -22039776000000000},
        {"1900-03-01T00:00:00.0000000Z", -22038912000000000},
        {"1601-01-01T00:00:00.0000000Z", -116444736000000000},
        {"1601-01-01T00:00:00.0000001Z", -116444735999999999},
        {"2016-12-31T23:59:59.9999999Z", 14832287999999999}, /* before a leap second */
        {"2017-01-01T00:00:00.0000000Z", 14832288000000000},
        {"9999-12-31T23:59:59.9999999Z", 2534023007999999999},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        int64_t ticks = 42;
        char written[EDM_DATETIME_SIZE + 1];
        assert_true(edm_datetime_parse(bytes_of(cases[i].text), &ticks));
        assert_true(ticks == cases[i].ticks);
        edm_datetime_write(ticks, written);
        assert_string_equal(written, cases[i].text);
    }
}

static void every_day_is_one_day_behind_the_last(void **state)
{
    (void)state;
    int64_t expected = -116444736000000000;
    for (int year = 1601; year <= 9999; year++)
        for (int month = 1; month <= 12; month++)
            for (int day = 1; day <= 31; day++) {
                char text[64], written[EDM_DATETIME_SIZE + 1];
                int64_t ticks;
                (void)snprintf(text, sizeof(text), "%04d-%02d-%02d", year, month, day);
                if (!edm_datetime_parse(bytes_of(text), &ticks))
                    continue; /* a day too many would show in the next */
                assert_true(ticks == expected);
                edm_datetime_write(ticks, written);
                assert_memory_equal(written, text, 10);
                expected += 86400 * TICKS_PER_SEC;
            }
    assert_true(expected == 2534023008000000000);
}

static const struct bytes no_times[] = {
    B(""),
    B("Z"),
    B("20200101"),
    B("2020-01-01+00:00"),
    B("2020-01-01TZ"),
    B("2020-01-01T00Z"),
    B("2020-01-01T0000Z"),
    B("2020-01-01T00:00.5Z"),
    B("2020-01-01T00:00:0Z"),
    B("2020-01-01T00:00:00.Z"),
    B("2020-01-01T00:00:00.+01:00"),
    B("2020-01-01T00:00:00.12345678Z"),
    B("2020-01-01T00:00:00.-1Z"),
    B("2020-01-01T00:00:00,1Z"),
    B("2020-01-01T00:00:00z"),
    B("2020-01-01t00:00:00Z"),
    B("2020-01-01 00:00:00Z"),
    B("2020-01-01T00:00:00ZZ"),
    B("2020-01-01T00:00:00Z "),
    B(" 2020-01-01T00:00:00Z"),
    B("2020-01-01T24:00:00Z"),
    B("2020-01-01T00:60:00Z"),
    B("2020-01-01T00:00:60Z"),
    B("2020-00-01T00:00:00Z"),
    B("2020-13-01T00:00:00Z"),
    B("2020-01-00T00:00:00Z"),
    B("2020-01-32T00:00:00Z"),
    B("2021-02-29T00:00:00Z"),
    B("1900-02-29T00:00:00Z"),
    B("2016-12-31T23:59:60Z"), /* a leap second */
    B("0000-00-00"),
    B("10000-01-01T00:00:00Z"),
    B("-020-01-01T00:00:00Z"),
    B("2020-1-01T00:00:00.0Z"),
    B("2020-01-01T00:00:00\0Z"),
    B("2020-01-01T00:00:00\0"),
    B("2020-01-01T00:00:00+14:01"),
    B("2020-01-01T00:00:00-14:01"),
    B("2020-01-01T00:00:00+15:00"),
    B("2020-01-01T00:00:00+01:60"),
    B("2020-01-01T00:00:00+99:00"),
    B("2020-01-01T00:00:00+0100"),
    B("2020-01-01T00:00:00+1:00"),
    B("2020-01-01T00:00:00+-1:00"),
    B("2020-01-01T00:00:00 01:00"),
    B("2020-01-01T00:00:00Z+01:00"),
    B("2020-01-01T00:00:00+01:00Z"),
    B("2020-01-01T00:00:00+01:00:00"),
    B("Wed, 01 Jan 2020 00:00:00 GMT"),
};

static void what_is_no_time_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(no_times); i++)
        assert_none(no_times[i], false);
}

/* A text cut anywhere, in memory of its own, so that a read after it is seen. */
static void nothing_is_read_behind_the_text(void **state)
{
    (void)state;
    struct bytes text = B("2008-07-10T04:25:03.1234567+01:00");
    for (size_t size = 0; size <= text.size; size++) {
        char *copy = malloc(MAX(size, 1));
        int64_t ticks;
        memcpy(copy, text.data, size);
        bool is_time = edm_datetime_parse((struct bytes){copy, size}, &ticks);
        bool has_end =
            size == 10 || size == 16 || size == 19 || (size > 20 && size < 28) || size == text.size;
        assert_int_equal(is_time, has_end);
        free(copy);
    }
    assert_none((struct bytes){NULL, 0}, false);
}

static void a_full_buffer_is_an_error(void **state)
{
    (void)state;
    for (size_t max = 0; max <= strlen("1970-01-01T00:00:00Z"); max++) {
        _cleanup_(buffer_finish) struct buffer out;
        buffer_init(&out, max);
        int expected = max < strlen("1970-01-01T00:00:00Z") ? -EFBIG : 0;
        assert_int_equal(edm_datetime_append(&out, 0), expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_of_the_service_is_a_time),
        cmocka_unit_test(years_are_those_of_utc),
        cmocka_unit_test(times_are_100_ns_since_1970),
        cmocka_unit_test(every_day_is_one_day_behind_the_last),
        cmocka_unit_test(what_is_no_time_is_refused),
        cmocka_unit_test(nothing_is_read_behind_the_text),
        cmocka_unit_test(a_full_buffer_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
