#include "client/text/timestamp_etag.h"
#include "client/text/edm_value.h"

static const char form[] = "W/\"datetime'0000-00-00T00%3A00%3A00.0000000Z'\"";
_Static_assert(sizeof(form) - 1 == TIMESTAMP_ETAG_SIZE, "a digit for each 0 of the form");

enum { /* offsets in the form */
       YEAR = 12,
       MONTH = 17,
       DAY = 20,
       HOUR = 23,
       MINUTE = 28,
       SECOND = 33,
       TICKS = 36,
};

static void write_digits(char *ret, int n, uint32_t number)
{
    while (n-- > 0) {
        ret[n] = (char)('0' + number % 10);
        number /= 10;
    }
}

/* A page has a thousand of them, and gmtime_r takes a lock. Years are counted from March on, so
 * that the leap day is the last of a year: the months from March have 31, 30, 31, 30, 31 days, and
 * so on in turns of 153 days. An era of 400 years always has 146,097 days. */
static void write_date(char ret[TIMESTAMP_ETAG_SIZE + 1], uint32_t days_since_1970)
{
    uint32_t days = days_since_1970 + 719468; /* since 1 March of the year 0 */
    uint32_t era = days / 146097, of_era = days % 146097;
    uint32_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    uint32_t of_year = of_era - (365 * year + year / 4 - year / 100);
    uint32_t month = (5 * of_year + 2) / 153; /* 0: March */
    bool is_next_year = month >= 10;
    write_digits(ret + YEAR, 4, era * 400 + year + is_next_year);
    write_digits(ret + MONTH, 2, is_next_year ? month - 9 : month + 3);
    write_digits(ret + DAY, 2, of_year - (153 * month + 2) / 5 + 1);
}

void timestamp_etag_write(int64_t timestamp, char ret[TIMESTAMP_ETAG_SIZE + 1])
{
    uint64_t seconds = (uint64_t)timestamp / TICKS_PER_SEC;
    uint32_t second_of_day = (uint32_t)(seconds % 86400);
    memcpy(ret, form, sizeof(form));
    write_date(ret, (uint32_t)(seconds / 86400));
    write_digits(ret + HOUR, 2, second_of_day / 3600);
    write_digits(ret + MINUTE, 2, second_of_day / 60 % 60);
    write_digits(ret + SECOND, 2, second_of_day % 60);
    write_digits(ret + TICKS, 7, (uint32_t)((uint64_t)timestamp % TICKS_PER_SEC));
}

bool timestamp_etag_parse(struct bytes etag, int64_t *ret_timestamp)
{
    if (!bytes_have_form(etag, form))
        return false;
    char time[sizeof("2024-01-02T03:04:05.1234567Z")];
    (void)snprintf(time, sizeof(time), "%.13s:%.2s:%.11s", etag.data + YEAR, etag.data + MINUTE,
                   etag.data + SECOND);
    return edm_datetime_parse(bytes_of(time), ret_timestamp);
}

bool timestamp_etag_is_of(struct bytes etag, int64_t timestamp)
{
    char written[TIMESTAMP_ETAG_SIZE + 1];
    if (etag.size != TIMESTAMP_ETAG_SIZE || !timestamp_is_valid(timestamp))
        return false;
    timestamp_etag_write(timestamp, written);
    return bytes_equal(etag, bytes_of(written));
}
