/* SPDX-License-Identifier: MIT */
#include "client/text/timestamp_etag.h"
#include "client/text/edm_datetime.h"

static const char form[] = "W/\"datetime'0000-00-00T00%3A00%3A00.0000000Z'\"";
_Static_assert(sizeof(form) - 1 == TIMESTAMP_ETAG_SIZE, "a digit for each 0 of the form");

enum { /* offsets in the form, which has %3A for each colon of a time */
       DATE = 12,
       MINUTE = 28,
       SECOND = 33,
};

void timestamp_etag_write(int64_t timestamp, char ret[TIMESTAMP_ETAG_SIZE + 1])
{
    char time[EDM_DATETIME_SIZE + 1];
    edm_datetime_write(timestamp, time);
    memcpy(ret, form, sizeof(form));
    memcpy(ret + DATE, time, strlen("2024-01-02T03"));
    memcpy(ret + MINUTE, time + strlen("2024-01-02T03:"), 2);
    memcpy(ret + SECOND, time + strlen("2024-01-02T03:04:"), strlen("05.1234567"));
}

bool timestamp_etag_parse(struct bytes etag, int64_t *ret_timestamp)
{
    if (!bytes_have_form(etag, form))
        return false;
    char time[EDM_DATETIME_SIZE + 1];
    (void)snprintf(time, sizeof(time), "%.13s:%.2s:%.11s", etag.data + DATE, etag.data + MINUTE,
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
