/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_HTTP_HTTP_HEADER_H
#define CLIENT_HTTP_HTTP_HEADER_H
/* Header lines of HTTP and of MIME parts, as received: "Name: value", each ending in CRLF or LF.
 * Untrusted input. Pure, any thread. */
#include "client/base/bytes.h"

bool http_header_is_value(struct bytes value); /* has no control character, such as a line end */
int http_header_append(struct buffer *ret, const char *name, struct bytes value); /* with CRLF */
/* Removes the first line from the text, and returns it without its line end. */
struct bytes http_header_take_line(struct bytes *text);
/* The value of the last header with this name, in any case; it may be empty. False: there is no
 * such header. */
bool http_header_find(struct bytes lines, const char *name, struct bytes *ret);
/* The value of the parameter `name` in "multipart/mixed; name=value" or `...; name="value"`. */
bool http_header_parameter(struct bytes value, const char *name, struct bytes *ret);

#endif
