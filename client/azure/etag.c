/* SPDX-License-Identifier: MIT */
#include "client/azure/etag.h"
#include "client/http/http_header.h"
#include "client/text/edm_datetime.h"

#define TIME_MAX_BYTES 40 /* of a DateTime with its colons percent-encoded */

/* Services percent-encode the colons, and no other character of a time. 0: not a time. */
static int64_t read_time(struct bytes encoded)
{
    char decoded[TIME_MAX_BYTES];
    size_t n = 0;
    int64_t timestamp;
    if (encoded.size > sizeof(decoded))
        return 0;
    while (encoded.size > 0) {
        bool is_colon = bytes_start_with(encoded, BYTES_LITERAL("%3A")) ||
                        bytes_start_with(encoded, BYTES_LITERAL("%3a"));
        decoded[n] = encoded.data[0];
        if (is_colon)
            decoded[n] = ':';
        n++;
        encoded = bytes_skip(encoded, is_colon ? 3 : 1);
    }
    return edm_datetime_parse((struct bytes){decoded, n}, &timestamp) ? timestamp : 0;
}

int etag_read(struct bytes etag, struct write_result *ret)
{
    static const struct bytes begin = BYTES_LITERAL("W/\"datetime'"), end = BYTES_LITERAL("'\"");
    struct write_result result = {0};
    if (etag.size == 0 || etag.size >= sizeof(result.etag) || !http_header_is_value(etag))
        return -EPROTO;
    memcpy(result.etag, etag.data, etag.size);
    if (bytes_start_with(etag, begin) && bytes_end_with(etag, end) &&
        etag.size > begin.size + end.size) {
        struct bytes time = bytes_skip(etag, begin.size);
        time.size -= end.size;
        result.timestamp = read_time(time);
    }
    *ret = result;
    return 0;
}
