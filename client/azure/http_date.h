#ifndef CLIENT_AZURE_HTTP_DATE_H
#define CLIENT_AZURE_HTTP_DATE_H
/* The date of HTTP headers (RFC 1123): "Thu, 02 Jan 2025 03:04:05 GMT", in every locale. In ticks
 * since 1970 (client/clock.h), for the years 1970 to 9999. Pure, any thread. */
#include "client/bytes.h"

#define HTTP_DATE_SIZE 29

int http_date_append(struct buffer *ret, int64_t utc_100ns);
/* false: not a date of this form, or no such day. The second 60 is the next minute's first; the
 * name of the day is not checked. */
bool http_date_parse(struct bytes text, int64_t *ret_utc_100ns);

#endif
