/* SPDX-License-Identifier: MIT */
#include "client/text/edm_datetime.h"
#include "client/base/clock.h"

/* A page has a thousand times, and gmtime_r and timegm take a lock. Here dates are days since 1
 * March of the year 0, and years begin in March, so that the leap day is the last one of a year:
 * the months from March have 31, 30, 31, 30, 31 days, and so on in turns of 153 days. */
#define DAYS_BEFORE_1970 719468
#define DAYS_OF_ERA      146097 /* 400 years */
#define TICKS_PER_DAY    (86400 * TICKS_PER_SEC)
#define MIN_TICKS        INT64_C(-116444736000000000) /* 1601-01-01 */
#define MAX_TICKS        INT64_C(2534023007999999999) /* 9999-12-31T23:59:59.9999999 */
#define MAX_OFFSET_MIN   (14 * 60)
#define FRACTION_DIGITS  7

static const char form[] = "0000-00-00T00:00:00.0000000Z";
_Static_assert(sizeof(form) - 1 == EDM_DATETIME_SIZE, "a digit for each 0 of the form");

enum { /* offsets in the form */
       YEAR = 0,
       MONTH = 5,
       DAY = 8,
       HOUR = 11,
       MINUTE = 14,
       SECOND = 17,
       FRACTION = 20,
};

/* Takes the form at the start of the text. */
static bool take(struct bytes *text, const char *expected)
{
    size_t size = strlen(expected);
    if (text->size < size || !bytes_have_form(bytes_first(*text, size), expected))
        return false;
    *text = bytes_skip(*text, size);
    return true;
}

static int two_digits(const char *digits)
{
    return (digits[0] - '0') * 10 + (digits[1] - '0');
}

static bool is_date(int year, int month, int day)
{
    static const char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return month >= 1 && month <= 12 && day >= 1 &&
           day <= days[month - 1] + (month == 2 && is_leap);
}

static bool take_date(struct bytes *text, int64_t *ret_ticks)
{
    const char *at = text->data;
    if (!take(text, "0000-00-00"))
        return false;
    int year = two_digits(at + YEAR) * 100 + two_digits(at + YEAR + 2);
    int month = two_digits(at + MONTH), day = two_digits(at + DAY);
    if (!is_date(year, month, day))
        return false;
    int months = (month + 9) % 12; /* since March */
    year -= month <= 2;
    int days = year * 365 + year / 4 - year / 100 + year / 400 + (153 * months + 2) / 5 + day - 1;
    *ret_ticks = (days - DAYS_BEFORE_1970) * TICKS_PER_DAY;
    return true;
}

/* hh:mm after one character. */
static bool take_minutes(struct bytes *text, const char *expected, int *ret)
{
    const char *at = text->data + 1;
    if (!take(text, expected))
        return false;
    int hour = two_digits(at), minute = two_digits(at + 3);
    *ret = hour * 60 + minute;
    return hour < 24 && minute < 60;
}

/* False: a point without one to seven digits after it. */
static bool take_fraction(struct bytes *text, int64_t *ret_ticks)
{
    if (!take(text, "."))
        return true;
    int64_t ticks = 0;
    int n = 0;
    for (; n < FRACTION_DIGITS && text->size > 0 && bytes_have_form(bytes_first(*text, 1), "0");
         n++) {
        ticks = ticks * 10 + (text->data[0] - '0');
        *text = bytes_skip(*text, 1);
    }
    for (int i = n; i < FRACTION_DIGITS; i++)
        ticks *= 10;
    *ret_ticks += ticks;
    return n > 0;
}

static bool take_time(struct bytes *text, int64_t *ret_ticks)
{
    int minutes;
    if (!take_minutes(text, "T00:00", &minutes))
        return false;
    *ret_ticks = minutes * (60 * TICKS_PER_SEC);
    const char *at = text->data + 1;
    if (!take(text, ":00"))
        return true;
    *ret_ticks += two_digits(at) * TICKS_PER_SEC;
    return two_digits(at) < 60 && take_fraction(text, ret_ticks);
}

/* Takes the rest of the text: `Z`, an offset, or nothing. */
static bool take_zone(struct bytes text, int64_t *ret_ticks)
{
    int minutes = 0;
    bool is_west = bytes_start_with(text, BYTES_LITERAL("-"));
    if (!take(&text, "Z") && text.size > 0 &&
        !take_minutes(&text, is_west ? "-00:00" : "+00:00", &minutes))
        return false;
    *ret_ticks = (is_west ? -minutes : minutes) * (60 * TICKS_PER_SEC);
    return text.size == 0 && minutes <= MAX_OFFSET_MIN;
}

/* In any year. */
static bool read(struct bytes text, int64_t *ret)
{
    int64_t date, time = 0, offset = 0;
    if (!take_date(&text, &date))
        return false;
    if (text.size > 0 && !bytes_equal(text, BYTES_LITERAL("Z")) &&
        (!take_time(&text, &time) || !take_zone(text, &offset)))
        return false;
    *ret = date + time - offset;
    return true;
}

bool edm_datetime_has_form(struct bytes text)
{
    int64_t ticks;
    return read(text, &ticks);
}

bool edm_datetime_parse(struct bytes text, int64_t *ret)
{
    int64_t ticks;
    if (!read(text, &ticks) || ticks < MIN_TICKS || ticks > MAX_TICKS)
        return false;
    *ret = ticks;
    return true;
}

static void write_digits(char *ret, int n, uint32_t number)
{
    while (n-- > 0) {
        ret[n] = (char)('0' + number % 10);
        number /= 10;
    }
}

static void write_date(char ret[EDM_DATETIME_SIZE + 1], uint32_t days)
{
    uint32_t era = days / DAYS_OF_ERA, of_era = days % DAYS_OF_ERA;
    uint32_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    uint32_t of_year = of_era - (365 * year + year / 4 - year / 100);
    uint32_t month = (5 * of_year + 2) / 153; /* 0: March */
    bool is_next_year = month >= 10;
    write_digits(ret + YEAR, 4, era * 400 + year + is_next_year);
    write_digits(ret + MONTH, 2, is_next_year ? month - 9 : month + 3);
    write_digits(ret + DAY, 2, of_year - (153 * month + 2) / 5 + 1);
}

void edm_datetime_write(int64_t ticks, char ret[EDM_DATETIME_SIZE + 1])
{
    uint64_t since_march_0 = (uint64_t)(ticks + DAYS_BEFORE_1970 * TICKS_PER_DAY);
    uint64_t of_day = since_march_0 % TICKS_PER_DAY;
    uint32_t second = (uint32_t)(of_day / TICKS_PER_SEC);
    memcpy(ret, form, sizeof(form));
    write_date(ret, (uint32_t)(since_march_0 / TICKS_PER_DAY));
    write_digits(ret + HOUR, 2, second / 3600);
    write_digits(ret + MINUTE, 2, second / 60 % 60);
    write_digits(ret + SECOND, 2, second % 60);
    write_digits(ret + FRACTION, FRACTION_DIGITS, (uint32_t)(of_day % TICKS_PER_SEC));
}

int edm_datetime_append(struct buffer *ret, int64_t ticks)
{
    char text[EDM_DATETIME_SIZE + 1];
    size_t size = EDM_DATETIME_SIZE - 1; /* without the Z */
    edm_datetime_write(ticks, text);
    while (text[size - 1] == '0' && size > FRACTION)
        size--;
    if (size == FRACTION) /* the point */
        size--;
    text[size++] = 'Z';
    return buffer_append(ret, (struct bytes){text, size});
}
