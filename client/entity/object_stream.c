/* SPDX-License-Identifier: MIT */
#include "client/entity/object_stream.h"
#include "client/text/json_reader.h"

/* of a text that is longer than an object may be: what json_reader_drop needs */
#define KEPT_BYTES ((size_t)3)

enum array_state {
    NO_ARRAY,
    BEHIND_BRACKET, /* a value or ] */
    BEHIND_COMMA,   /* a value */
    BEHIND_VALUE,   /* a comma or ] */
};

enum doing { SEEKING_VALUE, READING_VALUE, SEEKING_LINE, HAVING_FAILED };

enum list { NO_LIST, LIST_VALUE, LIST_ITEMS }; /* by its name */

#define CONTINUE 2 /* of a step: nothing was found, and there is more to read */

struct object_stream {
    struct object_source source; /* first */
    size_t begin;                /* of the value, or of what is skipped */
    size_t at;                   /* read so far */
    size_t fed;                  /* of a value: where the text begins that its reader knows */
    size_t line_begin;           /* is_line_begin: of this line */
    struct stream_object found;  /* place and refusal of the value */
    struct json_reader reader;
    enum list named;           /* in the object that is read: the member whose name was read last */
    bool has_key;              /* in it, so far */
    enum list list;            /* the array is a list in an object; around it: */
    struct json_reader around; /* what has read the object up to the list */
    bool is_behind_list;       /* the rest of such an object is read */
    enum array_state array;
    enum doing doing;
    bool is_line_begin; /* only blanks, [ and , stand between line_begin and `at` */
};

static void note(struct object_stream *stream, size_t offset, const char *refusal)
{
    text_input_mark(&stream->source.input, offset);
    stream->found = (struct stream_object){.line = stream->source.input.line,
                                           .column = stream->source.input.column,
                                           .refusal = refusal,
                                           .is_listed = stream->list != NO_LIST,
                                           .is_of_items = stream->list == LIST_ITEMS};
}

/* Removes the bytes from `begin` to `end`, which is not after `at`. */
static void drop(struct object_stream *stream, size_t begin, size_t end)
{
    size_t n = text_input_drop(&stream->source.input, begin, end);
    stream->at -= n;
    stream->fed -= MIN(n, stream->fed);
    stream->line_begin -= MIN(n, stream->line_begin);
}

static void drop_read(struct object_source *source)
{
    struct object_stream *stream = (struct object_stream *)source;
    bool has_value = stream->doing == READING_VALUE || stream->doing == SEEKING_LINE;
    drop(stream, 0, has_value ? stream->begin : stream->at);
    stream->begin = 0;
}

/* Forgets what was read of a refused text beyond its maximum. `kept`: needed from there on. */
static void cut(struct object_stream *stream, size_t kept)
{
    size_t most = stream->begin + OBJECT_SOURCE_OBJECT_MAX;
    if (kept > most)
        drop(stream, most, kept);
}

/* What is refused or an object ends here. */
static int take(struct object_stream *stream, size_t end, struct stream_object *ret)
{
    struct bytes text = text_input_part(&stream->source.input, stream->begin, end);
    text.size = MIN(text.size, OBJECT_SOURCE_OBJECT_MAX);
    *ret = stream->found;
    ret->text = ret->refusal ? bytes_trim(text) : text;
    ret->end_offset = stream->source.input.dropped + end;
    stream->begin = stream->at = end;
    stream->doing = SEEKING_VALUE;
    if (stream->array)
        stream->array = BEHIND_VALUE;
    return 1;
}

/* Seeking a line */

static bool may_precede(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '[' || c == ',';
}

/* 1: an object's line was found, or the input ended; 0: more input is needed. */
static int seek_line(struct object_stream *stream, struct stream_object *ret)
{
    const struct buffer *input = &stream->source.input.text;
    while (stream->at < input->size) {
        char c = input->data[stream->at];
        if (stream->is_line_begin && c == '{')
            return take(stream, stream->line_begin, ret);
        if (stream->is_line_begin && may_precede(c)) {
            stream->at++;
            continue;
        }
        const char *found = memchr(input->data + stream->at, '\n', input->size - stream->at);
        stream->is_line_begin = found != NULL;
        stream->at = found ? (size_t)(found - input->data) + 1 : input->size;
        stream->line_begin = stream->at;
    }
    if (stream->source.input.is_ended)
        return take(stream, input->size, ret);
    if (stream->is_line_begin && stream->at - stream->line_begin > TEXT_INPUT_READ_BYTES)
        stream->is_line_begin = false; /* no line that a program wrote */
    cut(stream, stream->is_line_begin ? stream->line_begin : stream->at);
    return 0;
}

/* The byte at `wrong` is no JSON. Where an object is not closed, that is the next object's `{`:
 * then its line is the next one. */
static int refuse(struct object_stream *stream, size_t wrong, const char *problem,
                  struct stream_object *ret)
{
    note(stream, wrong, problem);
    stream->is_behind_list = false;
    if (stream->array) {
        *ret = stream->found;
        ret->end_offset = stream->source.input.dropped + wrong;
        stream->doing = HAVING_FAILED;
        return -EBADMSG;
    }
    const char *data = stream->source.input.text.data;
    size_t line_begin = wrong, least = MAX(stream->begin, stream->fed);
    while (line_begin > least && may_precede(data[line_begin - 1]))
        line_begin--;
    stream->is_line_begin = line_begin > least && data[line_begin - 1] == '\n';
    if (stream->is_line_begin) {
        stream->line_begin = stream->source.input.marked = line_begin;
        stream->source.input.column = 1;
    }
    stream->at = wrong;
    stream->doing = SEEKING_LINE;
    return seek_line(stream, ret);
}

/* Values */

static const char *refusal_of(const struct object_stream *stream, size_t size)
{
    if (stream->source.input.text.data[stream->begin] != '{')
        return "not a JSON object";
    return size > OBJECT_SOURCE_OBJECT_MAX ? "an object of more than 8 MiB" : NULL;
}

/* An object may be too long before its end was read: then what was read of it is dropped. */
static int need_more(struct object_stream *stream)
{
    stream->at = stream->source.input.text.size;
    size_t kept = stream->at - MIN(KEPT_BYTES, stream->at);
    if (kept <= stream->begin + OBJECT_SOURCE_OBJECT_MAX)
        return 0;
    if (!stream->found.refusal)
        stream->found.refusal = refusal_of(stream, SIZE_MAX);
    json_reader_drop(&stream->reader, kept - stream->fed);
    stream->fed = kept;
    cut(stream, kept);
    return 0;
}

static enum list list_of(struct bytes name)
{
    return bytes_equal(name, BYTES_LITERAL("value"))   ? LIST_VALUE
           : bytes_equal(name, BYTES_LITERAL("items")) ? LIST_ITEMS
                                                       : NO_LIST;
}

/* Is this token of an object at the top the start of its list? */
static bool begins_list(struct object_stream *stream, const struct json_token *token)
{
    size_t depth = json_reader_depth(&stream->reader);
    if (stream->array || depth > 2)
        return false;
    bool is_name = token->kind == JSON_NAME && depth == 1;
    enum list list = token->kind == JSON_ARRAY_BEGIN ? stream->named : NO_LIST;
    stream->has_key |= is_name && (bytes_equal(token->text, BYTES_LITERAL("PartitionKey")) ||
                                   bytes_equal(token->text, BYTES_LITERAL("RowKey")));
    stream->named = is_name ? list_of(token->text) : NO_LIST;
    stream->list = stream->has_key ? NO_LIST : list;
    return stream->list != NO_LIST;
}

/* Its objects are read as those of an array at the top. */
static int enter_list(struct object_stream *stream)
{
    size_t read = json_reader_offset(&stream->reader);
    stream->around = stream->reader;
    json_reader_drop(&stream->around, read);
    stream->begin = stream->at = stream->fed + read;
    stream->is_behind_list = false;
    stream->array = BEHIND_BRACKET;
    stream->doing = SEEKING_VALUE;
    return CONTINUE;
}

/* At the bracket that closes the list: the reader of the object continues. */
static int leave_list(struct object_stream *stream)
{
    stream->reader = stream->around;
    stream->begin = stream->fed = stream->at;
    stream->list = NO_LIST;
    stream->array = NO_ARRAY;
    stream->is_behind_list = true;
    stream->doing = READING_VALUE;
    note(stream, stream->at, NULL);
    return CONTINUE;
}

static int end_object_around(struct object_stream *stream, size_t end)
{
    stream->begin = stream->at = end;
    stream->is_behind_list = false;
    stream->doing = SEEKING_VALUE;
    return CONTINUE;
}

/* Continues to read the value. */
static int read_value(struct object_stream *stream, struct stream_object *ret)
{
    static const char cut_off[] = "the input ends in the middle of it";
    struct json_reader *reader = &stream->reader;
    struct json_token token;
    enum json_kind kind;
    json_reader_feed(reader, text_input_rest(&stream->source.input, stream->fed),
                     stream->source.input.is_ended);
    do {
        kind = json_reader_next(reader, &token);
        if (kind >= JSON_OBJECT_BEGIN && begins_list(stream, &token))
            return enter_list(stream);
    } while (kind >= JSON_OBJECT_BEGIN && json_reader_depth(reader) > 0);
    if (kind == JSON_NEED_MORE)
        return need_more(stream);
    size_t end = stream->fed + json_reader_offset(reader);
    if (kind == JSON_ERROR) {
        bool is_cut_off = stream->source.input.is_ended && end == stream->source.input.text.size;
        return refuse(stream, end, is_cut_off ? cut_off : json_reader_problem(reader), ret);
    }
    if (stream->is_behind_list)
        return end_object_around(stream, end);
    if (!stream->found.refusal)
        stream->found.refusal = refusal_of(stream, end - stream->begin);
    return take(stream, end, ret);
}

/* Before a value: true: the character was taken. */
static bool take_separator(struct object_stream *stream, char c)
{
    if (c == ']' && stream->list)
        return false;
    switch (stream->array) {
    case NO_ARRAY:
        if (c == '[')
            stream->array = BEHIND_BRACKET;
        return c == '[' || c == ',';
    case BEHIND_BRACKET:
        if (c == ']')
            stream->array = NO_ARRAY;
        return c == ']';
    case BEHIND_VALUE:
        if (c == ',' || c == ']')
            stream->array = c == ',' ? BEHIND_COMMA : NO_ARRAY;
        return c == ',' || c == ']';
    case BEHIND_COMMA:
    default:
        return false;
    }
}

/* 1: a byte order mark was skipped; 0: none is there; -EAGAIN: it may become one. */
static int skip_mark(struct object_stream *stream)
{
    static const struct bytes whole = BYTES_LITERAL(JSON_BYTE_ORDER_MARK);
    struct bytes text = text_input_rest(&stream->source.input, stream->at);
    if (text.data[0] != whole.data[0] ||
        !bytes_start_with(whole, bytes_first(text, MIN(text.size, whole.size))))
        return 0;
    if (text.size < whole.size)
        return stream->source.input.is_ended ? 0 : -EAGAIN;
    text_input_mark(&stream->source.input, stream->at);
    stream->source.input.marked = stream->at += whole.size; /* no column is of it */
    return 1;
}

/* Advances to the next value. 1: it begins at `at`; 0: no more input. */
static int seek_value(struct object_stream *stream)
{
    const struct buffer *input = &stream->source.input.text;
    for (;;) {
        stream->at += json_count_blanks(text_input_rest(&stream->source.input, stream->at));
        if (stream->at == input->size)
            return 0;
        int r = skip_mark(stream);
        if (r < 0)
            return 0;
        if (r == 0 && !take_separator(stream, input->data[stream->at]))
            return 1;
        stream->at += r == 0;
    }
}

static int begin_value(struct object_stream *stream, struct stream_object *ret)
{
    if (seek_value(stream) == 0) {
        stream->begin = stream->at;
        if (stream->source.input.is_ended && stream->array)
            return refuse(stream, stream->at, "the input ends inside an array", ret);
        return 0;
    }
    bool is_bracket = stream->source.input.text.data[stream->at] == ']';
    if (is_bracket && stream->list && stream->array != BEHIND_COMMA)
        return leave_list(stream);
    stream->begin = stream->fed = stream->at;
    note(stream, stream->at, NULL);
    if (stream->array == BEHIND_VALUE)
        return refuse(stream, stream->at, "a comma is expected here", ret);
    if (stream->array == BEHIND_COMMA && is_bracket)
        return refuse(stream, stream->at, "a bracket after a comma", ret);
    json_reader_init(&stream->reader);
    stream->named = NO_LIST;
    stream->has_key = false;
    stream->doing = READING_VALUE;
    return read_value(stream, ret);
}

static int next(struct object_stream *stream, struct stream_object *ret_object)
{
    switch (stream->doing) {
    case SEEKING_VALUE:
        return begin_value(stream, ret_object);
    case READING_VALUE:
        return read_value(stream, ret_object);
    case SEEKING_LINE:
        return seek_line(stream, ret_object);
    case HAVING_FAILED:
    default:
        *ret_object = stream->found;
        return -EBADMSG;
    }
}

static int next_object(struct object_source *source, struct stream_object *ret_object)
{
    int r;
    do
        r = next((struct object_stream *)source, ret_object);
    while (r == CONTINUE);
    return r;
}

static void destroy(struct object_source *source)
{
    free(source);
}

int object_stream_create(struct object_source **ret)
{
    static const struct object_source_ops ops = {
        .destroy = destroy, .drop = drop_read, .next = next_object};
    struct object_stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return -ENOMEM;
    stream->source.ops = &ops;
    text_input_init(&stream->source.input, OBJECT_SOURCE_OBJECT_MAX + 4 * TEXT_INPUT_READ_BYTES);
    *ret = &stream->source;
    return 0;
}
