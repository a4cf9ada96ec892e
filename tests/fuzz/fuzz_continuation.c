/* SPDX-License-Identifier: MIT */
/* Whatever the headers of an answer hold: what the next request sends back of them is a query
 * string that has no further parameter, and each part has the value that came. */
#include "client/base/unicode.h"
#include "client/http/http_header.h"
#include "client/http/request_url.h"
#include "client/store/table_store.h"
#include "tests/fuzz/fuzz.h"

#define MAX_BYTES ((size_t)1 << 20)

static const char *const parameters[TOKEN_PARTS] = {"NextPartitionKey", "NextRowKey",
                                                    "NextTableName"};

static bool is_encoded(struct bytes text)
{
    for (size_t i = 0; i < text.size; i++)
        if (strchr("&=#?/+'\" \\", text.data[i]) || (unsigned char)text.data[i] >= 0x7F ||
            text.data[i] < ' ')
            return false;
    return true;
}

static struct bytes decode(struct bytes text, struct buffer *ret)
{
    while (text.size > 0) {
        int byte = text.data[0] == '%' && text.size >= 3 ? hex_byte_value(text.data + 1) : -1;
        (void)buffer_append_char(ret, (char)(byte >= 0 ? byte : text.data[0]));
        text = bytes_skip(text, byte >= 0 ? 3 : 1);
    }
    return buffer_bytes(ret);
}

/* The query string has the parameters of the headers that are present, in their order, and nothing
 * else. */
static void check_query(struct bytes query, struct bytes headers)
{
    for (enum token_part part = 0; part < TOKEN_PARTS; part++) {
        struct bytes value;
        struct buffer decoded;
        if (!http_header_find(headers, token_header(part), &value))
            continue;
        struct bytes sent = bytes_take_until(&query, '&');
        struct bytes name = bytes_take_until(&sent, '=');
        buffer_init(&decoded, MAX_BYTES);
        INVARIANT(bytes_equal(name, bytes_of(parameters[part])));
        INVARIANT(is_encoded(sent));
        INVARIANT(bytes_equal(decode(sent, &decoded), value));
        buffer_finish(&decoded);
    }
    INVARIANT(query.size == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes headers = {(const char *)data, size};
    struct continuation *after = NULL;
    struct buffer token, query;
    if (size > MAX_BYTES / 4 || (size > 0 && memchr(data, '\0', size)))
        return 0; /* libcurl refuses it */
    buffer_init(&token, MAX_BYTES);
    buffer_init(&query, MAX_BYTES);
    INVARIANT(token_append_headers(&token, headers) == 0);
    if (token.size > 0) {
        INVARIANT(continuation_create(buffer_bytes(&token), BYTES_LITERAL(""), &after) == 0);
        INVARIANT(request_url_append_table_query(&query, NULL, after) == 0);
    }
    check_query(buffer_bytes(&query), headers);
    continuation_destroy(after);
    buffer_finish(&token);
    buffer_finish(&query);
    return 0;
}
