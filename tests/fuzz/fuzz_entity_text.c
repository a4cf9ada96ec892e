/* SPDX-License-Identifier: MIT */
/* An entity's canonical text, read as a service's answer, gives itself; and an answer that holds
 * the entity, the same. One that has no text has a reason, and is a bad row. */
#include "client/azure/entity_answer.h"
#include "client/entity/entity_text.h"
#include "tests/fuzz/fuzz.h"

#define MAX_TEXT_BYTES ((size_t)1 << 20)

/* -EPROTO when there is no entity at the start of `answer`. */
static int make_text(struct entity_text *text, struct bytes answer, struct buffer *ret,
                     struct entity_facts *ret_facts)
{
    struct json_reader reader;
    struct json_token token;
    json_reader_init(&reader);
    json_reader_feed(&reader, answer, true);
    if (json_reader_next(&reader, &token) != JSON_OBJECT_BEGIN)
        return -EPROTO;
    int r = entity_text_from_service(text, &reader, ret, ret_facts);
    INVARIANT(r != -EPROTO || json_reader_problem(&reader));
    return r;
}

/* A page's row of an entity with keys: `text`, or its JSON. */
static void check_row(struct page_builder *builder, struct bytes answer, struct bytes text,
                      bool is_bad)
{
    struct page *page;
    INVARIANT(page_builder_finish(builder, RANGE_ALL, false, &page) == 0);
    INVARIANT(page_rows(page) == 1 && page_is_bad(page, 0) == is_bad);
    INVARIANT(page_text(page, 0).size > 0);
    if (is_bad)
        INVARIANT(bytes_find(answer, page_text(page, 0)) != NULL);
    else
        INVARIANT(bytes_equal(page_text(page, 0), text));
    page_unref(page);
}

static void check_reason(struct bytes answer, const char *problem)
{
    struct buffer reason;
    buffer_init(&reason, 200);
    INVARIANT(entity_text_append_problem(answer, &reason) == (problem ? 0 : -EPROTO));
    if (problem)
        INVARIANT(bytes_start_with(buffer_bytes(&reason), bytes_of(problem)));
    buffer_finish(&reason);
}

static void check_answer(struct bytes answer, struct bytes text, bool is_bad)
{
    struct page_builder *builder;
    struct call call = {.deadline_ms = 0};
    INVARIANT(page_builder_create(MAX_TEXT_BYTES * 3, &builder) == 0);
    int r = entity_answer_single(answer, BYTES_LITERAL("e"), &call, builder);
    INVARIANT(r == call.failure.error);
    if (r == 0)
        check_row(builder, answer, text, is_bad);
    page_builder_destroy(builder);
}

static void check_page(struct bytes answer)
{
    struct page_builder *builder;
    struct call call = {.deadline_ms = 0};
    size_t dropped = 1;
    INVARIANT(page_builder_create(MAX_TEXT_BYTES * 3, &builder) == 0);
    int r = entity_answer_page(answer, RANGE_ALL, false, &call, builder, &dropped);
    INVARIANT(r == call.failure.error);
    INVARIANT(r < 0 || dropped == 0);
    page_builder_destroy(builder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes answer = {(const char *)data, size};
    struct buffer once, twice;
    struct entity_text *text;
    struct entity_facts facts, again;
    buffer_init(&once, MAX_TEXT_BYTES);
    buffer_init(&twice, MAX_TEXT_BYTES);
    INVARIANT(entity_text_create(&text) == 0);
    if (make_text(text, answer, &once, &facts) == 0) {
        bool has_keys = facts.has_partition_key && facts.has_row_key, is_bad = facts.problem;
        check_reason(answer, facts.problem);
        INVARIANT(!is_bad || once.size == 0);
        INVARIANT(is_bad || make_text(text, buffer_bytes(&once), &twice, &again) == 0);
        INVARIANT(is_bad || bytes_equal(buffer_bytes(&once), buffer_bytes(&twice)));
        INVARIANT(is_bad || has_keys == (again.has_partition_key && again.has_row_key));
        check_answer(answer, buffer_bytes(&once), is_bad);
    }
    check_page(answer);
    entity_text_destroy(text);
    buffer_finish(&once);
    buffer_finish(&twice);
    return 0;
}
