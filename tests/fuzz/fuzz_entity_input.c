/* SPDX-License-Identifier: MIT */
/* What a user writes: a text that is accepted becomes one that can be stored, that is shown as it
 * is, and that becomes itself. A refusal tells a place in the text, in one short line. A service's
 * entity is shown as a text that becomes itself, too. After a NUL may be a second text, which is
 * stored over the first one. */
#include "client/base/position.h"
#include "client/entity/entity_input.h"
#include "client/entity/entity_text.h"
#include "tests/fuzz/fuzz.h"

#define POSITION BYTES_LITERAL("p\0r")

/* Appends what a service's entity looks like; and its position, if it has both keys. */
static bool show(struct bytes answer, struct buffer *ret, struct buffer *ret_position)
{
    struct entity_text *scratch;
    struct json_reader reader;
    struct json_token token;
    struct entity_facts facts;
    json_reader_init(&reader);
    json_reader_feed(&reader, answer, true);
    INVARIANT(entity_text_create(&scratch) == 0);
    bool is_shown = json_reader_next(&reader, &token) == JSON_OBJECT_BEGIN &&
                    entity_text_from_service(scratch, &reader, ret, &facts) == 0;
    bool has_keys = is_shown && facts.has_partition_key && facts.has_row_key;
    if (has_keys) /* a key with U+0000 has no position */
        (void)position_append(ret_position, facts.partition_key, facts.row_key);
    entity_text_destroy(scratch);
    return is_shown;
}

static void check_told(struct bytes text, const struct entity_input_refusal *refusal)
{
    struct buffer line;
    size_t lines = 1;
    buffer_init(&line, ENTITY_INPUT_MAX_LINE);
    for (size_t i = 0; i < text.size; i++)
        lines += text.data[i] == '\n';
    INVARIANT(refusal->line <= lines && refusal->column <= text.size + 1);
    INVARIANT((refusal->line == 0) == (refusal->column == 0));
    INVARIANT(entity_input_refusal_append(&line, refusal) == 0);
    for (size_t i = 0; i < line.size; i++)
        INVARIANT((unsigned char)line.data[i] >= 0x20 && line.data[i] != 0x7F);
    buffer_finish(&line);
}

static void check_refusal(struct bytes text, int error, const struct entity_input_refusal *refusal)
{
    INVARIANT(error == -EINVAL || error == -ENAMETOOLONG || error == -EFBIG);
    INVARIANT(error == refusal->refusal.error && refusal->refusal.code && refusal->refusal.reason);
    check_told(text, refusal);
}

/* Is the text accepted? Then its canonical text is in ret. */
static bool accept(struct entity_input *input, struct bytes position, struct bytes text,
                   enum entity_input_kind kind, struct buffer *ret)
{
    struct entity_input_refusal refusal;
    buffer_clear(ret);
    int r = entity_input_append(input, position, text, kind, ret, &refusal);
    if (r == 0)
        return true;
    INVARIANT(ret->size == 0);
    check_refusal(text, r, &refusal);
    return false;
}

/* A canonical text becomes itself. */
static void check_stays(struct entity_input *input, struct bytes position, struct bytes text)
{
    struct buffer again;
    buffer_init(&again, ENTITY_INPUT_MAX_BYTES);
    INVARIANT(accept(input, position, text, INPUT_WHOLE, &again));
    INVARIANT(bytes_equal(buffer_bytes(&again), text));
    INVARIANT(accept(input, position, text, INPUT_MERGE, &again));
    INVARIANT(bytes_equal(buffer_bytes(&again), text));
    buffer_finish(&again);
}

static void check_accepted(struct entity_input *input, struct bytes text)
{
    struct entity_refusal refusal;
    struct buffer shown, position;
    buffer_init(&shown, ENTITY_INPUT_MAX_BYTES);
    buffer_init(&position, POSITION_MAX_BYTES);
    INVARIANT(entity_check(POSITION, text, &refusal) == 0);
    INVARIANT(show(text, &shown, &position));
    INVARIANT(bytes_equal(buffer_bytes(&shown), text));
    INVARIANT(bytes_equal(buffer_bytes(&position), POSITION));
    check_stays(input, POSITION, text);
    buffer_finish(&shown);
    buffer_finish(&position);
}

/* The text as a service's answer: what a service can have is shown as a text that stays. */
static void check_shown(struct entity_input *input, struct bytes text)
{
    struct buffer shown, position;
    struct entity_refusal refusal;
    buffer_init(&shown, ENTITY_INPUT_MAX_BYTES);
    buffer_init(&position, POSITION_MAX_BYTES);
    if (show(text, &shown, &position) && position.size > 0 &&
        entity_check(buffer_bytes(&position), buffer_bytes(&shown), &refusal) == 0)
        check_stays(input, buffer_bytes(&position), buffer_bytes(&shown));
    buffer_finish(&shown);
    buffer_finish(&position);
}

static bool accept_over(struct entity_input *input, const struct entity_input_over *over,
                        struct buffer *ret)
{
    struct entity_input_ignored ignored;
    struct entity_input_refusal refusal;
    buffer_clear(ret);
    int r = entity_input_append_over(input, over, ret, &ignored, &refusal);
    if (r < 0)
        check_refusal(over->text, r, &refusal);
    if (r == 0 && ignored.annotation.refusal.reason)
        check_told(over->text, &ignored.annotation);
    if (r == 0 && ignored.key.refusal.reason)
        check_told(over->text, &ignored.key);
    return r == 0;
}

/* A text over another one; whole: what becomes of it alone. What replaces is literal. Over itself a
 * merge changes nothing. */
static void check_over(struct entity_input *input, struct bytes stored, struct bytes text)
{
    struct buffer alone, over, again;
    struct entity_input_over merge = {
        .position = POSITION, .text = text, .kind = INPUT_MERGE, .stored = stored};
    struct entity_input_over replace = merge;
    replace.kind = INPUT_WHOLE;
    buffer_init(&alone, ENTITY_INPUT_MAX_BYTES);
    buffer_init(&over, ENTITY_INPUT_MAX_BYTES);
    buffer_init(&again, ENTITY_INPUT_MAX_BYTES);
    bool is_accepted = accept(input, POSITION, text, INPUT_WHOLE, &alone);
    if (accept_over(input, &replace, &over))
        INVARIANT(is_accepted && bytes_equal(buffer_bytes(&alone), buffer_bytes(&over)));
    if (accept_over(input, &merge, &over)) {
        check_accepted(input, buffer_bytes(&over));
        merge.stored = buffer_bytes(&over);
        INVARIANT(accept_over(input, &merge, &again));
        INVARIANT(bytes_equal(buffer_bytes(&over), buffer_bytes(&again)));
    }
    buffer_finish(&alone);
    buffer_finish(&over);
    buffer_finish(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *nul = size > 0 ? memchr(data, '\0', size) : NULL;
    struct bytes text = {(const char *)data, nul ? (size_t)(nul - data) : size};
    struct bytes second = bytes_skip((struct bytes){(const char *)data, size}, text.size + !!nul);
    struct entity_input *input;
    struct buffer whole, merge;
    buffer_init(&whole, ENTITY_INPUT_MAX_BYTES);
    buffer_init(&merge, ENTITY_INPUT_MAX_BYTES);
    INVARIANT(entity_input_create(&input) == 0);
    bool is_whole = accept(input, POSITION, text, INPUT_WHOLE, &whole);
    bool is_merge = accept(input, POSITION, text, INPUT_MERGE, &merge);
    if (is_whole)
        check_accepted(input, buffer_bytes(&whole));
    if (is_merge)
        check_accepted(input, buffer_bytes(&merge));
    if (is_whole && is_merge)
        INVARIANT(bytes_equal(buffer_bytes(&whole), buffer_bytes(&merge)));
    if (is_whole)
        check_over(input, buffer_bytes(&whole), nul ? second : text);
    check_shown(input, text);
    entity_input_destroy(input);
    buffer_finish(&whole);
    buffer_finish(&merge);
    return 0;
}
