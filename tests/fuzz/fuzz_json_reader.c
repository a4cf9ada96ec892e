/* SPDX-License-Identifier: MIT */
/* Reading a text in pieces gives the tokens of reading it whole, and an error as early as can
 * be; strings survive being spelled anew. */
#include "client/text/json_reader.h"
#include "client/text/json_string.h"
#include "tests/fuzz/fuzz.h"

#define MAX_TOKENS 4096
#define MAX_PIECES 512

/* A token, independent of where the text stands; without padding, so that memcmp compares two. */
struct place {
    uint64_t kind, has_escapes, is_integer, begin, size;
};

struct tokens {
    struct place list[MAX_TOKENS];
    size_t count;
};

/* Reads on until no token comes; the kind of what came instead. */
static enum json_kind read_tokens(struct json_reader *reader, const char *text, struct tokens *ret)
{
    struct json_token token;
    enum json_kind kind;
    while ((kind = json_reader_next(reader, &token)) >= JSON_OBJECT_BEGIN) {
        INVARIANT(kind == token.kind);
        if (ret->count == MAX_TOKENS)
            return kind;
        ret->list[ret->count++] = (struct place){.kind = kind,
                                                 .has_escapes = token.has_escapes,
                                                 .is_integer = token.is_integer,
                                                 .begin = (size_t)(token.text.data - text),
                                                 .size = token.text.size};
    }
    return kind;
}

/* Between quotes, in canonical spelling. */
static void respell(struct bytes raw, struct buffer *ret)
{
    buffer_init(ret, raw.size + 2);
    (void)buffer_append_char(ret, '"');
    (void)json_string_append_canonical(ret, raw);
    INVARIANT(buffer_append_char(ret, '"') == 0);
}

static void check_spelling(struct bytes raw)
{
    struct buffer once, twice, cesu8;
    struct json_reader reader;
    struct json_token token;
    respell(raw, &once);
    json_reader_init(&reader);
    json_reader_feed(&reader, buffer_bytes(&once), true);
    INVARIANT(json_reader_next(&reader, &token) == JSON_STRING);
    INVARIANT(json_string_compare(raw, token.text) == 0);
    respell(token.text, &twice);
    INVARIANT(bytes_equal(buffer_bytes(&once), buffer_bytes(&twice)));
    buffer_init(&cesu8, 2 * raw.size);
    INVARIANT(json_string_append_cesu8(&cesu8, raw) == 0);
    buffer_finish(&cesu8);
    buffer_finish(&once);
    buffer_finish(&twice);
}

/* The text as far as `end`, in memory of its own. */
static struct bytes piece_of(struct bytes text, size_t end)
{
    char *piece = malloc(end);
    INVARIANT(piece);
    memcpy(piece, text.data, end);
    return (struct bytes){piece, end};
}

static void check_pieces(struct bytes text, const struct json_reader *whole,
                         const struct tokens *expected, enum json_kind expected_end)
{
    static struct tokens tokens;
    struct json_reader reader;
    enum json_kind kind = JSON_NEED_MORE;
    size_t step = text.size / MAX_PIECES + 1, end = 0;
    json_reader_init(&reader);
    tokens.count = 0;
    while (end < text.size && kind != JSON_ERROR) {
        end = MIN(end + step, text.size);
        struct bytes piece = piece_of(text, end);
        json_reader_feed(&reader, piece, false);
        kind = read_tokens(&reader, piece.data, &tokens);
        free((char *)piece.data);
    }
    if (kind == JSON_ERROR) { /* found with the piece that holds the wrong byte */
        size_t wrong = json_reader_offset(&reader);
        bool is_comma = strcmp(json_reader_problem(&reader), "a trailing comma") == 0;
        INVARIANT(wrong < end && (is_comma ? text.data[wrong] == ',' : wrong + step >= end));
    }
    json_reader_feed(&reader, text, true);
    INVARIANT(read_tokens(&reader, text.data, &tokens) == expected_end);
    INVARIANT(tokens.count == expected->count);
    INVARIANT(memcmp(tokens.list, expected->list, tokens.count * sizeof(struct place)) == 0);
    INVARIANT(json_reader_offset(&reader) == json_reader_offset(whole));
    INVARIANT(json_reader_problem(&reader) == json_reader_problem(whole));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tokens tokens;
    struct bytes text = {(const char *)data, size};
    struct json_reader reader;
    json_reader_init(&reader);
    json_reader_feed(&reader, text, true);
    tokens.count = 0;
    enum json_kind end = read_tokens(&reader, text.data, &tokens);
    if (tokens.count == MAX_TOKENS)
        return 0;
    INVARIANT(end == JSON_END || end == JSON_ERROR);
    INVARIANT((end == JSON_ERROR) == (json_reader_problem(&reader) != NULL));
    INVARIANT(json_reader_offset(&reader) <= size);
    for (size_t i = 0; i < tokens.count; i++)
        if (tokens.list[i].kind == JSON_NAME || tokens.list[i].kind == JSON_STRING)
            check_spelling((struct bytes){text.data + tokens.list[i].begin, tokens.list[i].size});
    check_pieces(text, &reader, &tokens, end);
    return 0;
}
