#include "client/azure/http_date.h"
#include "client/clock.h"

/* strftime and strptime depend on the locale. */
static const char day_names[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
static const char month_names[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

int http_date_append(struct buffer *ret, int64_t utc_100ns)
{
    time_t seconds = (time_t)(utc_100ns / TICKS_PER_SEC);
    struct tm utc = {0};
    (void)gmtime_r(&seconds, &utc); /* converts every second up to the year 9999 */
    return buffer_append_format(ret, "%s, %02d %s %04d %02d:%02d:%02d GMT", day_names[utc.tm_wday],
                                utc.tm_mday, month_names[utc.tm_mon], utc.tm_year + 1900,
                                utc.tm_hour, utc.tm_min, utc.tm_sec);
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
    struct tm utc = {0};
    int year, day, second;
    if (text.size != HTTP_DATE_SIZE || !bytes_end_with(text, BYTES_LITERAL(" GMT")))
        return false;
    if (!parse_number(text, 5, 2, 31, &day) || !parse_month(text, 8, &utc.tm_mon) ||
        !parse_number(text, 12, 4, 9999, &year) || year < 1970 ||
        !parse_number(text, 17, 2, 23, &utc.tm_hour) ||
        !parse_number(text, 20, 2, 59, &utc.tm_min) || !parse_number(text, 23, 2, 60, &second))
        return false;
    utc.tm_year = year - 1900;
    utc.tm_mday = day;
    int64_t seconds = timegm(&utc) + second; /* a leap second is the next minute's first */
    if (utc.tm_mday != day)                  /* timegm converts 31 June to 1 July */
        return false;
    *ret_utc_100ns = seconds * TICKS_PER_SEC;
    return true;
}
