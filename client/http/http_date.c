/* SPDX-License-Identifier: MIT */
#include "client/http/http_date.h"

#include <curl/curl.h>

#define TEXT_MAX_BYTES ((size_t)63)

/* strftime depends on the locale. */
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

bool http_date_parse(struct bytes text, int64_t *ret_utc_100ns)
{
    char string[TEXT_MAX_BYTES + 1] = "";
    if (text.size == 0 || text.size > TEXT_MAX_BYTES)
        return false;
    memcpy(string, text.data, text.size);
    time_t seconds = curl_getdate(string, NULL);
    if (seconds < 0 || seconds > HTTP_DATE_MAX_100NS / TICKS_PER_SEC)
        return false;
    *ret_utc_100ns = seconds * TICKS_PER_SEC;
    return true;
}
