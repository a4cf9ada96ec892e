#ifndef CLIENT_AZURE_HTTP_DATE_H
#define CLIENT_AZURE_HTTP_DATE_H
/* The date of HTTP headers (RFC 1123): "Thu, 02 Jan 2025 03:04:05 GMT", in every locale. Pure, any
 * thread. */
#include "client/bytes.h"

#define HTTP_DATE_SIZE 29

int http_date_append(struct buffer *ret, int64_t utc_100ns); /* since 1970; years 1970 to 9999 */
bool http_date_parse(struct bytes text, int64_t *ret_utc_100ns); /* this form only, surely GMT */

#endif
