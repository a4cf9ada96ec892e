/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_HTTP_HTTP_DATE_H
#define CLIENT_HTTP_HTTP_DATE_H
/* The date of HTTP headers, in every locale. In ticks since 1970 (client/base/clock.h), for the
 * years 1970 to 9999. Pure, any thread. */
#include "client/base/bytes.h"

#define HTTP_DATE_SIZE 29

/* As RFC 1123 has it: "Thu, 02 Jan 2025 03:04:05 GMT" */
int http_date_append(struct buffer *ret, int64_t utc_100ns);
/* Takes what curl_getdate takes: the three forms of RFC 9110, 5.6.7, and more. The service's clock
 * and a pause, which has a maximum, come of it; so a day beyond the end of its month may be one of
 * the next month. The second 60 is the next minute's first. */
bool http_date_parse(struct bytes text, int64_t *ret_utc_100ns);

#endif
