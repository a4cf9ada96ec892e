/* SPDX-License-Identifier: MIT */
#include "fs/text/draft.h"

#define EMPTY_OBJECT "{}"

static void fail(struct draft_problem *ret, const char *reason, struct bytes before)
{
    *ret = (struct draft_problem){reason, before};
}

int draft_init(struct draft *draft, bool is_new, bool is_appended, uint64_t base_size,
               struct bytes text)
{
    bool is_stored = text.size > 0 || (is_appended && !is_new);
    *draft = (struct draft){.state = is_stored ? DRAFT_STORED : DRAFT_BLANK,
                            .is_new = is_new,
                            .is_appended = is_appended,
                            .began_empty = text.size == 0,
                            .base_size = base_size};
    buffer_init(&draft->text, DRAFT_MAX_BYTES);
    return buffer_set(&draft->text, text);
}

void draft_finish(struct draft *draft)
{
    buffer_finish(&draft->text);
}

void draft_refuse_empty(struct draft *draft, const char *reason)
{
    draft->refuses_empty = reason;
}

uint64_t draft_size(const struct draft *draft)
{
    return draft->base_size + draft->text.size;
}

/* May an object begin at reading->at, which is no blank? NULL: it may. */
static const char *begin_object(struct draft_reading *reading, bool may_repeat)
{
    if (reading->object_end > 0 && !may_repeat)
        return "there is text after the JSON object";
    reading->is_inside = true;
    json_reader_init_object(&reading->json);
    return NULL;
}

/* Reads to the end of the object that begins at reading->at. False: the text ends before it, or is
 * wrong: then ret_wrong is set, and reading->at is the offset of the wrong byte. */
static bool read_object(struct draft_reading *reading, struct bytes text, const char **ret_wrong)
{
    struct json_reader *json = &reading->json;
    struct json_token token;
    enum json_kind kind;
    json_reader_feed(json, bytes_skip(text, reading->at), false);
    do
        kind = json_reader_next(json, &token);
    while (kind >= JSON_OBJECT_BEGIN && json_reader_depth(json) > 0);
    if (kind == JSON_NEED_MORE)
        return false;
    reading->at += json_reader_offset(json);
    reading->is_inside = false;
    if (kind == JSON_ERROR)
        *ret_wrong = json_reader_problem(json);
    else
        reading->object_end = reading->at;
    return kind != JSON_ERROR;
}

/* Reads what follows the last byte that was read. NULL: the text so far is objects and blanks, and
 * perhaps the beginning of an object. Else why the text can never become one: reading->at is then
 * the offset of the wrong byte. Only with may_repeat there may be several objects. */
static const char *read_on(struct draft_reading *reading, struct bytes text, bool may_repeat)
{
    const char *wrong = NULL;
    for (;;) {
        if (!reading->is_inside) {
            reading->at += json_count_blanks(bytes_skip(text, reading->at));
            if (reading->at < text.size)
                wrong = begin_object(reading, may_repeat);
            if (wrong || reading->at == text.size)
                return wrong;
        }
        if (!read_object(reading, text, &wrong))
            return wrong;
    }
}

/* The text up to `end`, where what is stored of an appended draft does not count. */
static struct bytes unstored_before(const struct draft *draft, size_t end)
{
    size_t begin = draft->is_appended ? draft->stored_size : 0;
    return (struct bytes){draft->text.data + begin, end - begin};
}

static int refuse(const struct draft *draft, const char *reason, struct draft_problem *ret)
{
    fail(ret, reason, unstored_before(draft, draft->text.size));
    return -EINVAL;
}

static void undo_write(struct draft *draft)
{
    draft->text.size = draft->before.size;
    draft->reading = draft->before.reading;
    draft->state = draft->before.state;
    draft->has_failed = true;
}

/* There is room for the bytes. */
static int append(struct draft *draft, struct bytes bytes, struct draft_problem *ret_problem)
{
    draft->before.reading = draft->reading;
    draft->before.size = draft->text.size;
    draft->before.state = draft->state;
    (void)buffer_append(&draft->text, bytes);
    struct draft_reading *reading = &draft->reading;
    const char *wrong = read_on(reading, buffer_bytes(&draft->text), draft->is_appended);
    if (wrong) {
        fail(ret_problem, wrong, unstored_before(draft, reading->at));
        undo_write(draft);
        return -EINVAL;
    }
    bool is_complete = reading->object_end > draft->stored_size;
    if (reading->is_inside)
        draft->state = DRAFT_PART;
    else if (is_complete)
        draft->state = DRAFT_STORED; /* once the owner has stored it */
    return is_complete ? DRAFT_STORE : DRAFT_NOTHING;
}

/* The text's size counts for its room. A problem that is reported has no views of the text. */
static void shorten(struct draft *draft, size_t size)
{
    draft->text.size = size;
    buffer_shrink(&draft->text);
}

/* Makes the text this long, with zeros. There is room. */
static void lengthen(struct draft *draft, size_t size)
{
    if (size <= draft->text.size)
        return;
    memset(draft->text.data + draft->text.size, 0, size - draft->text.size);
    draft->text.size = size;
}

static void become_loose(struct draft *draft)
{
    draft->state = DRAFT_LOOSE;
    draft->began_empty = false;
    draft->stored_size = 0;
}

/* There is room up to the end of the bytes. */
static int overwrite(struct draft *draft, struct bytes bytes, size_t offset)
{
    lengthen(draft, offset + bytes.size);
    memcpy(draft->text.data + offset, bytes.data, bytes.size);
    become_loose(draft);
    return DRAFT_NOTHING;
}

/* Is text that is written at the end checked at once? */
static bool is_in_order(const struct draft *draft)
{
    return draft->state != DRAFT_LOOSE && draft->began_empty;
}

/* For a draft that adds to a stored text: the part that was read to its end is merged, or blanks.
 * It leaves the draft, and counts as stored. */
static void forget_merged(struct draft *draft)
{
    size_t merged = draft->reading.at;
    memmove(draft->text.data, draft->text.data + merged, draft->text.size - merged);
    shorten(draft, draft->text.size - merged);
    draft->base_size += merged;
    draft->stored_size = 0;
    draft->reading.at = 0;
    draft->reading.object_end = 0;
}

static int ensure(struct draft *draft, uint64_t offset, size_t size)
{
    if (offset > DRAFT_MAX_BYTES || size > DRAFT_MAX_BYTES - offset)
        return -EFBIG;
    return buffer_ensure(&draft->text, MAX((size_t)offset + size, draft->text.size));
}

int draft_write(struct draft *draft, struct bytes bytes, uint64_t offset,
                struct draft_problem *ret_problem)
{
    bool is_at_end = draft->is_appended || offset == draft->text.size;
    if (bytes.size == 0)
        return DRAFT_NOTHING;
    if (draft->is_appended && !draft->is_new && bytes.size > DRAFT_MAX_BYTES - draft->text.size)
        forget_merged(draft);
    if (is_at_end)
        offset = draft->text.size;
    int r = ensure(draft, offset, bytes.size);
    if (r < 0) {
        draft->has_failed = true;
        return r;
    }
    if (is_at_end && is_in_order(draft))
        return append(draft, bytes, ret_problem);
    if (is_at_end && draft->state == DRAFT_STORED && json_count_blanks(bytes) == bytes.size)
        return buffer_append(&draft->text, bytes);
    return overwrite(draft, bytes, (size_t)offset);
}

void draft_missed_write(struct draft *draft)
{
    draft->has_failed = true;
}

static void begin_anew(struct draft *draft)
{
    if (draft->state != DRAFT_STORED || draft_size(draft) > 0) /* {} may be stored */
        draft->state = DRAFT_BLANK;
    draft->is_appended = false;
    draft->began_empty = true;
    draft->has_failed = false;
    draft->base_size = 0;
    draft->stored_size = 0;
    draft->reading = (struct draft_reading){0};
    shorten(draft, 0);
}

int draft_resize(struct draft *draft, uint64_t size, struct draft_problem *ret_problem)
{
    if (size == 0)
        begin_anew(draft);
    if (size == draft_size(draft))
        return DRAFT_NOTHING;
    if (draft->is_appended) {
        fail(ret_problem, "the size of a file that is open for appending can only become 0",
             (struct bytes){0});
        return -EINVAL;
    }
    int r = ensure(draft, size, 0);
    if (r < 0)
        return r;
    if (size < draft->text.size)
        shorten(draft, (size_t)size);
    else
        lengthen(draft, (size_t)size);
    become_loose(draft);
    return DRAFT_NOTHING;
}

static int refuse_part(const struct draft *draft, struct draft_problem *ret)
{
    return refuse(draft, "the text ends before its JSON object does", ret);
}

/* Of a new draft {} could be stored, but for a failed write. */
static int refuse_blank(const struct draft *draft, struct draft_problem *ret)
{
    bool has_failed = draft->is_new && draft->has_failed;
    return refuse(draft,
                  has_failed             ? "a write failed before, and no JSON object was written"
                  : draft->refuses_empty ? draft->refuses_empty
                                         : "no JSON object was written",
                  ret);
}

/* Is it an empty text that may become {}? */
static bool is_empty_new(const struct draft *draft)
{
    return draft->state == DRAFT_BLANK && draft->is_new && !draft->has_failed;
}

static bool may_store_empty(const struct draft *draft)
{
    return is_empty_new(draft) && !draft->refuses_empty;
}

/* Is the whole text one object? */
static int judge(const struct draft *draft, struct draft_problem *ret)
{
    struct bytes text = buffer_bytes(&draft->text);
    struct draft_reading reading = {0};
    const char *wrong = read_on(&reading, text, false);
    if (wrong) {
        fail(ret, wrong, bytes_first(text, reading.at));
        return -EINVAL;
    }
    if (reading.is_inside)
        return refuse_part(draft, ret);
    return reading.object_end > 0 ? DRAFT_STORE : refuse(draft, "no JSON object was written", ret);
}

static int flush_by_opener(const struct draft *draft, struct draft_problem *ret)
{
    switch (draft->state) {
    case DRAFT_BLANK:
        if (may_store_empty(draft) ||
            ((!draft->is_new || draft->refuses_empty) && draft->was_flushed_by_another))
            return DRAFT_NOTHING;
        return refuse_blank(draft, ret);
    case DRAFT_PART:
        return refuse_part(draft, ret);
    case DRAFT_LOOSE:
        return judge(draft, ret);
    case DRAFT_STORED:
    default:
        return DRAFT_NOTHING;
    }
}

int draft_flush(struct draft *draft, bool is_by_opener, struct draft_problem *ret_problem)
{
    struct draft_problem ignored;
    if (is_by_opener)
        return flush_by_opener(draft, ret_problem);
    draft->was_flushed_by_another = true;
    return draft->state == DRAFT_LOOSE ? MAX(judge(draft, &ignored), DRAFT_NOTHING) : DRAFT_NOTHING;
}

int draft_sync(struct draft *draft, struct draft_problem *ret_problem)
{
    if (draft->state != DRAFT_BLANK)
        return flush_by_opener(draft, ret_problem);
    return may_store_empty(draft) ? DRAFT_STORE : refuse_blank(draft, ret_problem);
}

int draft_touch(const struct draft *draft, struct draft_problem *ret_problem)
{
    if (draft->state == DRAFT_STORED)
        return DRAFT_TOUCH;
    if (!is_empty_new(draft))
        return DRAFT_NOTHING;
    return draft->refuses_empty ? refuse_blank(draft, ret_problem) : DRAFT_STORE;
}

enum draft_action draft_release(const struct draft *draft)
{
    if (draft->state == DRAFT_STORED)
        return DRAFT_NOTHING;
    return may_store_empty(draft) ? DRAFT_STORE : DRAFT_GIVE_UP;
}

struct bytes draft_object(const struct draft *draft)
{
    if (draft->state == DRAFT_BLANK)
        return BYTES_LITERAL(EMPTY_OBJECT);
    if (draft->state == DRAFT_LOOSE)
        return buffer_bytes(&draft->text);
    return unstored_before(draft, draft->reading.object_end);
}

void draft_was_stored(struct draft *draft)
{
    if (draft->state == DRAFT_BLANK || draft->state == DRAFT_LOOSE)
        draft->state = DRAFT_STORED;
    else
        draft->stored_size = draft->reading.object_end;
    draft->is_new = false;
}

void draft_was_refused(struct draft *draft)
{
    if (draft->state != DRAFT_BLANK && draft->state != DRAFT_LOOSE)
        undo_write(draft);
}

struct bytes draft_unstored(const struct draft *draft)
{
    bool is_all_stored = draft->state == DRAFT_STORED || draft->state == DRAFT_BLANK;
    size_t begin = is_all_stored ? draft->text.size : draft->stored_size;
    return bytes_skip(buffer_bytes(&draft->text), begin);
}
