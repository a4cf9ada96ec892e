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

static void write_digits(char *ret, int n, int64_t number)
{
    while (n-- > 0) {
        ret[n] = (char)('0' + number % 10);
        number /= 10;
    }
}

void timestamp_etag_write(int64_t timestamp, char ret[TIMESTAMP_ETAG_SIZE + 1])
{
    time_t seconds = (time_t)(timestamp / TICKS_PER_SEC);
    struct tm time = {0};
    (void)gmtime_r(&seconds, &time); /* converts every second up to the year 9999 */
    memcpy(ret, form, sizeof(form));
    write_digits(ret + YEAR, 4, time.tm_year + 1900);
    write_digits(ret + MONTH, 2, time.tm_mon + 1);
    write_digits(ret + DAY, 2, time.tm_mday);
    write_digits(ret + HOUR, 2, time.tm_hour);
    write_digits(ret + MINUTE, 2, time.tm_min);
    write_digits(ret + SECOND, 2, time.tm_sec);
    write_digits(ret + TICKS, 7, timestamp % TICKS_PER_SEC);
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
