/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_HTTP_URL_H
#define CLIENT_HTTP_URL_H
/* Splits a URL with libcurl's own parser, so that what is checked is what libcurl connects to.
 * Pure, any thread. https://curl.se/libcurl/c/libcurl-url.html */
#include "client/base/bytes.h"

#include <curl/curl.h>

struct url { /* libcurl's strings; NULL: there is no such part */
    char *scheme, *host, *port, *path;
};

/* The path stays as it is, and is "/" where there is none. An IPv6 address is in brackets. Refused:
 * a user, the zone of an address, and a host that libcurl would change in more than its case,
 * because it reads 0x7f.1 as 127.0.0.1 and decodes %XX. A query must not have a secret: libcurl's
 * memory is not wiped. An error is one of libcurl's CURLUE_ codes. The caller finishes ret, also
 * after an error. */
CURLUcode url_split(struct bytes text, struct url *ret);
void url_finish(struct url *url);

#endif
