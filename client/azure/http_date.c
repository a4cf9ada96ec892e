#include "client/azure/http_date.h"
#include "client/clock.h"

#define SECONDS_A_DAY   86400
#define DAYS_A_ERA      146097 /* 400 years: then leap years and week days repeat */
#define DAYS_BEFORE_ERA 719468 /* from 0000-03-01 to 1970-01-01 */

static const char day_names[][4] = {"Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"};
static const char month_names[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

/* Years here begin in March, so that the leap day is the last of its year. The k-th month from
 * March begins on day (153 k + 2) / 5: months of 31 and 30 days in turn, twice broken. */
static void date_of_day(int64_t day, int *ret_year, int *ret_month, int *ret_day)
{
    int64_t since = day + DAYS_BEFORE_ERA;
    int64_t era = since / DAYS_A_ERA;
    int64_t in_era = since % DAYS_A_ERA;
    int64_t year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    int64_t in_year = in_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * in_year + 2) / 153;
    *ret_day = (int)(in_year - (153 * month + 2) / 5) + 1;
    *ret_month = (int)(month + 2) % 12;
    *ret_year = (int)(era * 400 + year) + (*ret_month < 2 ? 1 : 0);
}

static int64_t day_of_date(int year, int month, int day)
{
    int64_t begin = year - (month < 2 ? 1 : 0);
    int64_t from_march = (month + 10) % 12;
    int64_t in_year = (153 * from_march + 2) / 5 + day - 1;
    return begin * 365 + begin / 4 - begin / 100 + begin / 400 + in_year - DAYS_BEFORE_ERA;
}

int http_date_append(struct buffer *ret, int64_t utc_100ns)
{
    int64_t seconds = utc_100ns / TICKS_PER_SEC;
    int64_t day = seconds / SECONDS_A_DAY;
    int of_day = (int)(seconds % SECONDS_A_DAY);
    int year, month, day_of_month;
    date_of_day(day, &year, &month, &day_of_month);
    return buffer_append_format(ret, "%s, %02d %s %04d %02d:%02d:%02d GMT", day_names[day % 7],
                                day_of_month, month_names[month], year, of_day / 3600,
                                of_day / 60 % 60, of_day % 60);
}

static bool parse_number(struct bytes text, size_t begin, size_t n, uint64_t max, int *ret)
{
    uint64_t value;
    if (!bytes_parse_unsigned((struct bytes){text.data + begin, n}, max, &value))
        return false;
    *ret = (int)value;
    return true;
}

static bool parse_month(struct bytes text, size_t begin, int *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(month_names); i++) {
        if (memcmp(text.data + begin, month_names[i], 3) == 0) {
            *ret = (int)i;
            return true;
        }
    }
    return false;
}

bool http_date_parse(struct bytes text, int64_t *ret_utc_100ns)
{
    int year, month, day, hour, minute, second;
    if (text.size != HTTP_DATE_SIZE || !bytes_end_with(text, BYTES_LITERAL(" GMT")))
        return false;
    if (!parse_number(text, 5, 2, 31, &day) || !parse_month(text, 8, &month) ||
        !parse_number(text, 12, 4, 9999, &year) || year < 1970 ||
        !parse_number(text, 17, 2, 23, &hour) || !parse_number(text, 20, 2, 59, &minute) ||
        !parse_number(text, 23, 2, 60, &second))
        return false;
    int64_t minutes = (int64_t)hour * 60 + minute;
    int64_t seconds = day_of_date(year, month, day) * SECONDS_A_DAY + minutes * 60 + second;
    *ret_utc_100ns = seconds * TICKS_PER_SEC;
    return true;
}
