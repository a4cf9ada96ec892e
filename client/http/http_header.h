/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_HTTP_HTTP_HEADER_H
#define CLIENT_HTTP_HTTP_HEADER_H
/* Header lines of HTTP and of MIME parts, as received: "Name: value", each ending in CRLF or LF.
 * Untrusted input. Pure, any thread. */
#include "client/base/bytes.h"

bool http_header_is_value(struct bytes value); /* without control characters, such as line ends */
int http_header_append(struct buffer *ret, const char *name, struct bytes value); /* and CRLF */
/* Takes the first line off the text, and returns it without its end. */
struct bytes http_header_take_line(struct bytes *text);
/* The value of the last header of that name, which is compared without case. True for an empty
 * value; false: there is no such header. */
bool http_header_find(struct bytes lines, const char *name, struct bytes *ret);
/* `name` in "multipart/mixed; name=value" or `...; name="value"`. */
bool http_header_parameter(struct bytes value, const char *name, struct bytes *ret);

#endif
