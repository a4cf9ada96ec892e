/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_HTTP_HTTP_DATE_H
#define CLIENT_HTTP_HTTP_DATE_H
/* Dates of HTTP headers, independent of the locale. In ticks since 1970 (client/base/clock.h), for
 * the years 1970 to 9999. Pure, any thread. */
#include "client/base/bytes.h"
#include "client/base/clock.h"

#define HTTP_DATE_SIZE      29
#define HTTP_DATE_MAX_100NS (INT64_C(253402300799) * TICKS_PER_SEC) /* the end of 9999 */

/* In the form of RFC 1123: "Thu, 02 Jan 2025 03:04:05 GMT" */
int http_date_append(struct buffer *ret, int64_t utc_100ns);
/* Accepts all that curl_getdate accepts: the three forms of RFC 9110, 5.6.7, and more. It may take
 * 31 June for 1 July: this does no harm, because dates only give the service's clock and a pause,
 * which has a maximum. Second 60 is the first of the next minute. */
bool http_date_parse(struct bytes text, int64_t *ret_utc_100ns);

#endif
