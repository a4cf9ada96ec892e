/* SPDX-License-Identifier: MIT */
/* A draft under any events says what a model says that reads the whole text anew at every event.
 * The first byte tells how the draft begins. Each byte after it is an event. A write also takes
 * the bytes that follow it: each chooses a word of JSON. */
#include "fs/text/draft.h"
#include "tests/fuzz/fuzz.h"

#define MAX_EVENTS 400
#define BASE_SIZE  50

struct model { /* what fs/text/draft.h says, in the plainest form */
    enum draft_state state;
    bool is_new, is_appended, began_empty, was_flushed_by_another, has_failed;
    uint64_t base_size;
    struct buffer text;
    size_t stored_size;
};

struct input {
    const uint8_t *data;
    size_t left;
};

static unsigned take(struct input *input)
{
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->data++;
}

/* What a text is worth that began empty. */
struct worth {
    bool is_possible; /* of objects and blanks, and perhaps the beginning of an object */
    bool has_begun;   /* it ends inside an object */
    size_t objects, end_of_last;
};

/* The size of the object that the text begins with; 0: none yet, SIZE_MAX: never. */
static size_t size_of_object(struct bytes text)
{
    struct json_reader reader;
    struct json_token token;
    json_reader_init(&reader);
    json_reader_feed(&reader, text, false);
    if (text.data[0] != '{')
        return SIZE_MAX;
    for (;;) {
        enum json_kind kind = json_reader_next(&reader, &token);
        if (kind == JSON_OBJECT_END && json_reader_depth(&reader) == 0)
            return json_reader_offset(&reader);
        if (kind < JSON_OBJECT_BEGIN)
            return kind == JSON_NEED_MORE ? 0 : SIZE_MAX;
    }
}

static struct worth judge(struct bytes text)
{
    struct worth worth = {.is_possible = true};
    for (size_t at = 0; at < text.size;) {
        if (strchr(" \t\r\n", text.data[at]) && text.data[at] != '\0') {
            at++;
            continue;
        }
        size_t size = size_of_object(bytes_skip(text, at));
        worth.is_possible = size != SIZE_MAX;
        worth.has_begun = size == 0;
        if (size == 0 || size == SIZE_MAX)
            return worth;
        at += size;
        worth.end_of_last = at;
        worth.objects++;
    }
    return worth;
}

static bool is_one_object(struct bytes text)
{
    struct worth worth = judge(text);
    return worth.is_possible && !worth.has_begun && worth.objects == 1;
}

static void make_loose(struct model *model)
{
    model->state = DRAFT_LOOSE;
    model->began_empty = false;
    model->stored_size = 0;
}

static void set_size(struct model *model, size_t size)
{
    while (model->text.size < size)
        INVARIANT(buffer_append_char(&model->text, '\0') == 0);
    model->text.size = size;
}

/* What draft_write answers, if the bytes are stored as far as they can be. */
static int model_append(struct model *model, struct bytes bytes)
{
    size_t size = model->text.size;
    INVARIANT(buffer_append(&model->text, bytes) == 0);
    struct worth worth = judge(buffer_bytes(&model->text));
    bool is_refused =
        !worth.is_possible || (!model->is_appended && worth.objects + worth.has_begun > 1);
    if (is_refused) {
        model->text.size = size;
        model->has_failed = true;
        return -EINVAL;
    }
    bool is_complete = worth.end_of_last > model->stored_size;
    if (worth.has_begun || is_complete)
        model->state = worth.has_begun ? DRAFT_PART : DRAFT_STORED;
    return is_complete ? DRAFT_STORE : DRAFT_NOTHING;
}

static int model_write(struct model *model, struct bytes bytes, size_t offset)
{
    bool is_at_end = model->is_appended || offset == model->text.size;
    struct worth added = judge(bytes);
    bool is_blank = added.is_possible && !added.has_begun && added.objects == 0;
    if (bytes.size == 0)
        return DRAFT_NOTHING;
    if (is_at_end && model->state != DRAFT_LOOSE && model->began_empty)
        return model_append(model, bytes);
    if (is_at_end && model->state == DRAFT_STORED && is_blank)
        return buffer_append(&model->text, bytes);
    set_size(model, MAX(model->text.size, offset + bytes.size));
    memcpy(model->text.data + offset, bytes.data, bytes.size);
    make_loose(model);
    return DRAFT_NOTHING;
}

static int model_resize(struct model *model, uint64_t size)
{
    uint64_t old = model->base_size + model->text.size;
    if (size == 0) {
        bool is_stored_empty = model->state == DRAFT_STORED && old == 0;
        model->state = is_stored_empty ? DRAFT_STORED : DRAFT_BLANK;
        model->is_appended = model->has_failed = false;
        model->began_empty = true;
        model->base_size = model->stored_size = model->text.size = 0;
    } else if (size != old && model->is_appended) {
        return -EINVAL;
    } else if (size != old) {
        set_size(model, size);
        make_loose(model);
    }
    return DRAFT_NOTHING;
}

static bool stores_empty(const struct model *model)
{
    return model->is_new && !model->has_failed;
}

static int model_flush(struct model *model, bool is_by_opener, bool is_sync)
{
    model->was_flushed_by_another |= !is_by_opener;
    int refused = is_by_opener ? -EINVAL : DRAFT_NOTHING;
    if (model->state == DRAFT_STORED)
        return DRAFT_NOTHING;
    if (model->state == DRAFT_PART)
        return refused;
    if (model->state == DRAFT_LOOSE)
        return is_one_object(buffer_bytes(&model->text)) ? DRAFT_STORE : refused;
    if (is_sync)
        return stores_empty(model) ? DRAFT_STORE : -EINVAL;
    bool is_left = stores_empty(model) || (!model->is_new && model->was_flushed_by_another);
    return is_left ? DRAFT_NOTHING : refused;
}

static int model_end(const struct model *model, bool is_release)
{
    if (model->state == DRAFT_STORED)
        return is_release ? DRAFT_NOTHING : DRAFT_TOUCH;
    if (model->state == DRAFT_BLANK && stores_empty(model))
        return DRAFT_STORE;
    return is_release ? DRAFT_GIVE_UP : DRAFT_NOTHING;
}

static void check_same(const struct draft *draft, const struct model *model)
{
    INVARIANT(draft->state == model->state);
    INVARIANT(draft->is_new == model->is_new);
    INVARIANT(draft->is_appended == model->is_appended);
    INVARIANT(draft->has_failed == model->has_failed);
    INVARIANT(draft_size(draft) == model->base_size + model->text.size);
    INVARIANT(bytes_equal(buffer_bytes(&draft->text), buffer_bytes(&model->text)));
    bool is_stored = model->state == DRAFT_STORED || model->state == DRAFT_BLANK;
    size_t begin = is_stored ? model->text.size : model->stored_size;
    INVARIANT(bytes_equal(draft_unstored(draft), bytes_skip(buffer_bytes(&model->text), begin)));
}

/* The problem of -EINVAL lies in the text, and what is before it is well so far. */
static void check_problem(const struct draft_problem *problem)
{
    INVARIANT(problem->reason);
    size_t copied = 0;
    for (size_t i = 0; i < problem->before.size; i++)
        copied += (unsigned char)problem->before.data[i]; /* for sanitizers: it can be read */
    INVARIANT(copied <= problem->before.size * 255);
}

/* Words that make objects likely, and break them. */
static void take_words(struct input *input, unsigned count, struct buffer *ret)
{
    static const char *const words[] = {"{",  "}",    "\"a\": 1", "\"b\":", "\"",  ",",
                                        " ",  "\n",   "{}",       "[",      "]",   "true",
                                        "-2", "\\u0", "x",        "\xC3",   "\xA4"};
    buffer_clear(ret);
    for (unsigned i = 0; i < count; i++)
        (void)buffer_append_string(ret, words[take(input) % ARRAY_SIZE(words)]);
    INVARIANT(ret->error == 0);
}

static int write_both(struct draft *draft, struct model *model, struct input *input, unsigned event,
                      int *ret_expected)
{
    struct draft_problem problem = {0};
    struct buffer words;
    buffer_init(&words, 4096);
    take_words(input, event / 16, &words);
    bool is_elsewhere = event % 4 == 3;
    size_t offset = is_elsewhere ? take(input) : (size_t)draft_size(draft);
    /* not after the data: a write elsewhere into what was appended is one at its end */
    *ret_expected = model_write(model, buffer_bytes(&words), offset);
    int r = draft_write(draft, buffer_bytes(&words), offset, &problem);
    if (r == -EINVAL)
        check_problem(&problem);
    buffer_finish(&words);
    return r;
}

static int happen(struct draft *draft, struct model *model, struct input *input, unsigned event,
                  int *ret_expected)
{
    struct draft_problem problem = {0};
    uint64_t size;
    switch (event % 16) {
    case 8:
        size = event / 16 % 4 == 0 ? 0 : take(input);
        *ret_expected = model_resize(model, size);
        return draft_resize(draft, size, &problem);
    case 9:
    case 10:
        *ret_expected = model_flush(model, event % 16 == 9, false);
        return draft_flush(draft, event % 16 == 9, &problem);
    case 11:
        *ret_expected = model_flush(model, true, true);
        return draft_sync(draft, &problem);
    case 12:
    case 13:
        *ret_expected = model_end(model, event % 16 == 13);
        return event % 16 == 13 ? (int)draft_release(draft) : draft_touch(draft, &problem);
    default:
        return write_both(draft, model, input, event, ret_expected);
    }
}

/* The model's object, and its state after the answer of the service. */
static void settle(struct draft *draft, struct model *model, const struct model *before,
                   bool is_stored)
{
    bool is_of_write = model->state == DRAFT_PART || model->state == DRAFT_STORED;
    struct bytes text = buffer_bytes(&model->text), object = draft_object(draft);
    size_t end = judge(text).end_of_last;
    if (!is_of_write)
        INVARIANT(bytes_equal(object, model->state == DRAFT_LOOSE ? text : BYTES_LITERAL("{}")));
    else
        INVARIANT(bytes_equal(object, bytes_skip(bytes_first(text, end), model->stored_size)));
    INVARIANT(model->is_appended ? judge(object).objects > 0 : is_one_object(object));
    if (is_stored) {
        draft_was_stored(draft);
        model->stored_size = is_of_write ? end : model->stored_size;
        model->state = is_of_write ? model->state : DRAFT_STORED;
        model->is_new = false;
        return;
    }
    draft_was_refused(draft);
    if (!is_of_write)
        return;
    model->state = before->state;
    model->text.size = before->text.size;
    model->has_failed = true;
}

static void begin(struct draft *draft, struct model *model, unsigned how)
{
    static const char whole[] = "{\"a\": 1}\n";
    bool is_whole = how % 4 == 1, is_appended = how % 4 == 2, is_new = !is_whole && how / 4 % 2;
    struct bytes text = is_whole ? BYTES_LITERAL(whole) : (struct bytes){0};
    bool is_stored = is_whole || (is_appended && !is_new);
    *model = (struct model){.state = is_stored ? DRAFT_STORED : DRAFT_BLANK,
                            .is_new = is_new,
                            .is_appended = is_appended,
                            .began_empty = !is_whole,
                            .base_size = is_appended && !is_new ? BASE_SIZE : 0};
    buffer_init(&model->text, DRAFT_MAX_BYTES);
    INVARIANT(buffer_set(&model->text, text) == 0);
    INVARIANT(draft_init(draft, is_new, is_appended, model->base_size, text) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    struct draft draft;
    struct model model;
    begin(&draft, &model, take(&input));
    for (int i = 0; i < MAX_EVENTS && input.left > 0; i++) {
        struct model before = model;
        unsigned event = take(&input);
        int expected = 0, r = happen(&draft, &model, &input, event, &expected);
        INVARIANT(r == expected);
        if (r == DRAFT_STORE)
            settle(&draft, &model, &before, take(&input) % 4 != 0);
        check_same(&draft, &model);
    }
    draft_finish(&draft);
    buffer_finish(&model.text);
    return 0;
}
