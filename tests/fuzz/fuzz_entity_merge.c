/* SPDX-License-Identifier: MIT */
/* Two entities in JSON and a list of names, NUL between them: what is merged and selected of their
 * canonical texts is canonical, too, and holds what it should. */
#include "client/entity/entity_check.h"
#include "client/entity/entity_compare.h"
#include "client/entity/entity_merge.h"
#include "client/entity/entity_select.h"
#include "client/entity/entity_text.h"
#include "tests/fuzz/fuzz.h"

#define MAX_TEXT_BYTES ((size_t)1 << 20)

static bool make_text(struct entity_text *text, struct bytes json, struct buffer *ret)
{
    struct json_reader reader;
    struct json_token token;
    struct entity_facts facts;
    json_reader_init(&reader);
    json_reader_feed(&reader, json, true);
    buffer_clear(ret);
    return json_reader_next(&reader, &token) == JSON_OBJECT_BEGIN &&
           entity_text_from_service(text, &reader, ret, &facts) == 0 && !facts.problem;
}

static struct bytes take_part(struct bytes *rest)
{
    const char *nul = rest->size > 0 ? memchr(rest->data, '\0', rest->size) : NULL;
    size_t size = nul ? (size_t)(nul - rest->data) : rest->size;
    struct bytes part = bytes_first(*rest, size);
    *rest = bytes_skip(*rest, nul ? size + 1 : size);
    return part;
}

static void check_canonical(struct entity_text *scratch, struct bytes text)
{
    struct buffer again;
    buffer_init(&again, MAX_TEXT_BYTES);
    INVARIANT(make_text(scratch, text, &again));
    INVARIANT(bytes_equal(buffer_bytes(&again), text));
    INVARIANT(entity_text_equal(text, text));
    buffer_finish(&again);
}

static void check_selected(struct entity_text *scratch, struct bytes list, struct bytes text)
{
    struct entity_select select;
    struct buffer selected;
    const char *problem = NULL;
    size_t at = 0;
    if (entity_select_init(&select, list, &problem, &at) < 0) {
        INVARIANT(problem && at <= list.size);
        return;
    }
    buffer_init(&selected, MAX_TEXT_BYTES);
    INVARIANT(entity_select_append(&select, text, &selected) == 0);
    check_canonical(scratch, buffer_bytes(&selected));
    INVARIANT(entity_text_includes(text, buffer_bytes(&selected)));
    buffer_finish(&selected);
}

static void check_merged(struct entity_text *scratch, struct bytes a, struct bytes b,
                         struct bytes list)
{
    struct buffer merged, again;
    struct entity_refusal refusal = {0};
    buffer_init(&merged, MAX_TEXT_BYTES * 2);
    buffer_init(&again, MAX_TEXT_BYTES * 2);
    INVARIANT(entity_merge_append(a, b, &merged) == 0);
    INVARIANT(entity_merge_append(buffer_bytes(&merged), b, &again) == 0);
    INVARIANT(bytes_equal(buffer_bytes(&merged), buffer_bytes(&again)));
    check_canonical(scratch, buffer_bytes(&merged));
    check_selected(scratch, list, buffer_bytes(&merged));
    int r = entity_check(BYTES_LITERAL("p\0r"), buffer_bytes(&merged), &refusal);
    INVARIANT(r == refusal.error);
    INVARIANT(r == 0 || (refusal.code && refusal.reason));
    buffer_finish(&merged);
    buffer_finish(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes rest = {(const char *)data, size};
    struct bytes first = take_part(&rest), second = take_part(&rest);
    struct entity_text *scratch;
    struct buffer a, b;
    buffer_init(&a, MAX_TEXT_BYTES);
    buffer_init(&b, MAX_TEXT_BYTES);
    INVARIANT(entity_text_create(&scratch) == 0);
    if (make_text(scratch, first, &a) && make_text(scratch, second, &b)) {
        check_merged(scratch, buffer_bytes(&a), buffer_bytes(&b), rest);
        check_merged(scratch, buffer_bytes(&b), buffer_bytes(&a), rest);
    }
    (void)entity_text_equal(first, second); /* whatever they are */
    entity_text_destroy(scratch);
    buffer_finish(&a);
    buffer_finish(&b);
    return 0;
}
