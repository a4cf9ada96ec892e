/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_HTTP_URL_H
#define CLIENT_HTTP_URL_H
/* Splits a URL with libcurl's parser, so that the checks see the same host that libcurl connects
 * to. Pure, any thread. https://curl.se/libcurl/c/libcurl-url.html */
#include "client/base/bytes.h"

#include <curl/curl.h>

struct url { /* libcurl's strings; NULL: there is no such part */
    char *scheme, *host, *port, *path;
};

/* The path is not changed; if there is none, it is "/". An IPv6 address is in brackets. Refused: a
 * URL with a user name or with the zone of an IPv6 address, and a host that libcurl would rewrite,
 * but for its case. Example: libcurl reads 0x7f.1 as 127.0.0.1. `text` must not contain a secret,
 * because libcurl's memory is not wiped. Returns 0 or a CURLUE_ code of libcurl. The caller
 * finishes ret, also after an error. */
CURLUcode url_split(struct bytes text, struct url *ret);
void url_finish(struct url *url);

#endif
