/* SPDX-License-Identifier: MIT */
#include "client/http/url.h"

#include <strings.h>

DEFINE_CLEANUP(CURLU *, curl_url_cleanup);

static const struct {
    CURLUPart part;
    CURLUcode absent;
    size_t offset; /* in struct url */
} parts[] = {
    {CURLUPART_SCHEME, CURLUE_NO_SCHEME, offsetof(struct url, scheme)},
    {CURLUPART_HOST, CURLUE_NO_HOST, offsetof(struct url, host)},
    {CURLUPART_PORT, CURLUE_NO_PORT, offsetof(struct url, port)},
    {CURLUPART_PATH, CURLUE_OK, offsetof(struct url, path)},
};

static bool has_zone(CURLU *handle)
{
    char *zone = NULL;
    bool has = curl_url_get(handle, CURLUPART_ZONEID, &zone, 0) != CURLUE_NO_ZONEID;
    curl_free(zone);
    return has;
}

/* Does the host stand in the text, after the scheme, in any case? */
static bool is_as_written(const char *host, const char *text)
{
    const char *written = strstr(text, "://");
    size_t size = strlen(host);
    return written && strncasecmp(written + 3, host, size) == 0 &&
           strchr(":/?#", written[3 + size]); /* one of these, or the end */
}

static CURLUcode get_parts(CURLU *handle, struct url *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        char **part = (char **)((char *)ret + parts[i].offset);
        CURLUcode code = curl_url_get(handle, parts[i].part, part, 0);
        if (code != CURLUE_OK && code != parts[i].absent)
            return code;
    }
    return CURLUE_OK;
}

CURLUcode url_split(struct bytes text, struct url *ret)
{
    _cleanup_(curl_url_cleanupp) CURLU *handle = curl_url();
    _cleanup_(freep) char *copy = strndup(text.size > 0 ? text.data : "", text.size);
    *ret = (struct url){0};
    if (!handle || !copy)
        return CURLUE_OUT_OF_MEMORY;
    CURLUcode code =
        curl_url_set(handle, CURLUPART_URL, copy, CURLU_PATH_AS_IS | CURLU_DISALLOW_USER);
    if (code == CURLUE_OK)
        code = get_parts(handle, ret);
    if (code != CURLUE_OK)
        return code;
    if (!ret->host || has_zone(handle) || (ret->host[0] != '[' && !is_as_written(ret->host, copy)))
        return CURLUE_BAD_HOSTNAME;
    return CURLUE_OK;
}

void url_finish(struct url *url)
{
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        char **part = (char **)((char *)url + parts[i].offset);
        curl_free(TAKE_PTR(*part));
    }
}
