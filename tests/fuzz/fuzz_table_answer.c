/* SPDX-License-Identifier: MIT */
/* Whatever a list of tables holds: a list of one name has no other names than the list of all, and
 * cJSON reads each JSON text that the program's own reader, which is strict, reads without what
 * cJSON cannot do. The first line is the name that is looked for, the rest is the body. */
#include "client/azure/table_answer.h"
#include "client/base/unicode.h"
#include "client/text/json_reader.h"
#include "client/text/json_string.h"
#include "client/text/small_json.h"
#include "tests/fuzz/fuzz.h"

#define NAMES_MAX_BYTES  ((size_t)1 << 20)
#define NUMBER_MAX_BYTES 63 /* cJSON's */

static bool is_c_string(struct bytes raw)
{
    uint32_t character;
    for (size_t n; (n = json_string_next(raw, &character)) > 0; raw = bytes_skip(raw, n)) {
        if (character == 0 || UNICODE_IS_SURROGATE(character))
            return false;
    }
    return true;
}

static bool is_strict(struct bytes text)
{
    struct json_reader reader;
    struct json_token token;
    enum json_kind kind;
    json_reader_init(&reader);
    json_reader_feed(&reader, text, true);
    while ((kind = json_reader_next(&reader, &token)) >= JSON_OBJECT_BEGIN) {
        if ((kind == JSON_NAME || kind == JSON_STRING) && !is_c_string(token.text))
            return false;
        if (kind == JSON_NUMBER && token.text.size > NUMBER_MAX_BYTES)
            return false;
    }
    return kind == JSON_END && text.size <= SMALL_JSON_MAX_BYTES;
}

static int read_list(struct bytes body, const char *only, struct table_names *ret,
                     size_t *ret_count)
{
    size_t count = 0;
    buffer_init(&ret->names, NAMES_MAX_BYTES);
    int r = table_answer_append(body, only, ret);
    const struct buffer *names = &ret->names;
    for (size_t i = 0; i < names->size; count++) {
        size_t size = strnlen(names->data + i, names->size - i);
        INVARIANT(size > 0 && size < names->size - i);
        INVARIANT(!only || strcmp(names->data + i, only) == 0);
        i += size + 1;
    }
    *ret_count = count;
    return r;
}

static size_t count_of(const struct table_names *all, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < all->names.size; i += strlen(all->names.data + i) + 1)
        count += strcmp(all->names.data + i, name) == 0;
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char only[64];
    struct table_names all, one;
    size_t n_all, n_one;
    struct bytes body = {(const char *)data, size};
    struct bytes line = bytes_take_until(&body, '\n');
    (void)snprintf(only, sizeof(only), "%.*s", (int)MIN(line.size, sizeof(only)),
                   line.size > 0 ? line.data : "");
    int r = read_list(body, NULL, &all, &n_all);
    int r_one = read_list(body, only, &one, &n_one);
    INVARIANT(r == r_one);
    INVARIANT(r == 0 || r == -EPROTO);
    INVARIANT(r < 0 || n_one == count_of(&all, only));
    buffer_finish(&all.names);
    buffer_finish(&one.names);
    cJSON *tree = NULL;
    INVARIANT(small_json_parse(body, &tree) == 0 || !is_strict(body));
    cJSON_Delete(tree);
    return 0;
}
