/* An entity's canonical text, read as a service's answer, gives itself; and an answer that holds
 * the entity, the same. */
#include "client/azure/entity_answer.h"
#include "client/text/entity_text.h"
#include "tests/fuzz/fuzz.h"

#define MAX_TEXT_BYTES ((size_t)1 << 20)

/* -EPROTO when there is no entity at the begin of `answer`. */
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

static void check_answer(struct bytes answer, struct bytes text)
{
    struct page_builder *builder;
    struct call call = {.deadline_ms = 0};
    INVARIANT(page_builder_create(MAX_TEXT_BYTES * 3, &builder) == 0);
    int r = entity_answer_single(answer, BYTES_LITERAL("e"), &call, builder);
    INVARIANT(r == call.failure.error);
    if (r == 0) {
        INVARIANT(page_builder_rows(builder) == 1);
        INVARIANT(bytes_start_with(buffer_bytes(page_builder_text(builder)), text));
    }
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
        bool has_keys = facts.has_partition_key && facts.has_row_key;
        INVARIANT(make_text(text, buffer_bytes(&once), &twice, &again) == 0);
        INVARIANT(bytes_equal(buffer_bytes(&once), buffer_bytes(&twice)));
        INVARIANT(has_keys == (again.has_partition_key && again.has_row_key));
        check_answer(answer, buffer_bytes(&once));
    }
    check_page(answer);
    entity_text_destroy(text);
    buffer_finish(&once);
    buffer_finish(&twice);
    return 0;
}
