#ifndef CLIENT_AZURE_HTTP_HEADER_H
#define CLIENT_AZURE_HTTP_HEADER_H
/* Header lines of HTTP and of MIME parts, as they came: "Name: value", with CRLF or LF behind each.
 * Not trusted. Pure, any thread. */
#include "client/bytes.h"

bool http_header_is_value(struct bytes value); /* no control characters: it ends no line */
int http_header_append(struct buffer *ret, const char *name, struct bytes value); /* CRLF behind */
/* Takes a line with its end off the text; what is answered is without it. */
struct bytes http_header_take_line(struct bytes *text);
/* The value of the last header of that name, in any case; false: there is none, which an empty one
 * is not. */
bool http_header_find(struct bytes lines, const char *name, struct bytes *ret);
/* `name` in "multipart/mixed; name=value" or `...; name="value"`. */
bool http_header_parameter(struct bytes value, const char *name, struct bytes *ret);

#endif
