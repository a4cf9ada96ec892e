#include "fs/files/draft.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/unit.h"

#define OTHER 100 /* an offset that is never the end, and a size that is another one */

/* How a draft of the table came about. */
enum begin {
    STORED_APPENDED, /* opened for appending */
    STORED_EMPTY,    /* new, and stored as {} */
    STORED_ANEW,     /* began empty; an object was stored */
    STORED_WHOLE,    /* opened whole */
    BLANK_NEW,
    BLANK_FAILED, /* new, and a write failed */
    BLANK_OLD,    /* truncated */
    BLANK_CHILD,  /* truncated, and another process has flushed it */
    PART,
    PART_APPENDED,
    LOOSE_WHOLE, /* one object */
    LOOSE_PART,  /* none */
    BEGINS,
};

enum event {
    COMPLETES,
    COULD_BECOME,
    BLANKS,
    NEVER,
    ELSEWHERE,
    SIZE_0,
    SIZE_OTHER,
    FLUSH_OPENER,
    FLUSH_OTHER,
    SYNC,
    TOUCH,
    RELEASE,
    EVENTS,
};

static int write_bytes(struct draft *draft, struct bytes bytes, uint64_t offset)
{
    struct draft_problem problem = {0};
    int r = draft_write(draft, bytes, offset, &problem);
    assert_int_equal(r == -EINVAL, problem.reason != NULL);
    return r;
}

static int write_at(struct draft *draft, const char *text, uint64_t offset)
{
    return write_bytes(draft, bytes_of(text), offset);
}

static int write_text(struct draft *draft, const char *text)
{
    return write_at(draft, text, draft_size(draft));
}

static int resize(struct draft *draft, uint64_t size)
{
    struct draft_problem problem = {0};
    int r = draft_resize(draft, size, &problem);
    assert_int_equal(r == -EINVAL, problem.reason != NULL);
    return r;
}

/* The write is stored. */
static void store_text(struct draft *draft, const char *text)
{
    assert_int_equal(write_text(draft, text), DRAFT_STORE);
    draft_was_stored(draft);
}

static void init(struct draft *draft, bool is_new, bool is_appended, const char *text)
{
    uint64_t base_size = is_appended && !is_new ? 50 : 0;
    assert_int_equal(draft_init(draft, is_new, is_appended, base_size, bytes_of(text)), 0);
}

static void begin(struct draft *draft, enum begin begin)
{
    struct draft_problem problem;
    bool is_new = begin == STORED_EMPTY || begin == BLANK_NEW || begin == BLANK_FAILED;
    bool is_appended = begin == STORED_APPENDED || begin == PART_APPENDED;
    bool is_whole = begin == STORED_WHOLE || begin == LOOSE_WHOLE || begin == LOOSE_PART;
    init(draft, is_new, is_appended, is_whole ? "{\"old\": 1}\n" : "");
    if (begin == STORED_EMPTY) {
        assert_int_equal(draft_sync(draft, &problem), DRAFT_STORE);
        draft_was_stored(draft);
    } else if (begin == STORED_ANEW) {
        store_text(draft, "{}");
    } else if (begin == BLANK_FAILED) {
        assert_int_equal(write_text(draft, "hello"), -EINVAL);
    } else if (begin == BLANK_CHILD) {
        assert_int_equal(draft_flush(draft, false, &problem), DRAFT_NOTHING);
    } else if (begin == PART || begin == PART_APPENDED) {
        assert_int_equal(write_text(draft, "{\"a\":"), DRAFT_NOTHING);
    } else if (begin == LOOSE_WHOLE || begin == LOOSE_PART) {
        assert_int_equal(write_at(draft, begin == LOOSE_PART ? "?" : "n", 2), DRAFT_NOTHING);
        assert_int_equal(write_at(draft, begin == LOOSE_PART ? "?" : " ", 0), DRAFT_NOTHING);
        assert_int_equal(write_at(draft, begin == LOOSE_PART ? "?" : "{", 0), DRAFT_NOTHING);
    }
}

/* For a draft inside `{"a":`, and for one outside an object. */
static const char *text_of(const struct draft *draft, enum event event)
{
    bool is_part = draft->state == DRAFT_PART;
    if (event == COMPLETES)
        return is_part ? "1}" : "{}";
    if (event == COULD_BECOME)
        return is_part ? "1," : " {";
    if (event == BLANKS)
        return " \t\r\n";
    return is_part ? "}" : "hello";
}

static bool is_write(enum event event)
{
    return event <= ELSEWHERE;
}

static int happen(struct draft *draft, enum event event)
{
    struct draft_problem problem = {0};
    int r = 0;
    switch (event) {
    case COMPLETES:
    case COULD_BECOME:
    case BLANKS:
    case NEVER:
        return write_text(draft, text_of(draft, event));
    case ELSEWHERE:
        return write_at(draft, "{}", OTHER);
    case SIZE_0:
    case SIZE_OTHER:
        return resize(draft, event == SIZE_0 ? 0 : OTHER);
    case FLUSH_OPENER:
    case FLUSH_OTHER:
        r = draft_flush(draft, event == FLUSH_OPENER, &problem);
        break;
    case SYNC:
        r = draft_sync(draft, &problem);
        break;
    case TOUCH:
        r = draft_touch(draft);
        break;
    case RELEASE:
        r = draft_release(draft);
        break;
    case EVENTS:
        fail();
    }
    assert_int_equal(r == -EINVAL, problem.reason != NULL);
    return r;
}

/* A cell: the next state S B P L without an action; `!` EINVAL; of an action the letter of it and
 * the next state: s store, e store {}, t touch, g give up. */
static const char *const table[BEGINS][EVENTS] = {
    /*                    done  part  blank never else  0    other openr child sync touch release */
    [STORED_APPENDED] = {"sS", "P", "S", "!S", "sS", "B", "!S", "S", "S", "S", "tS", "S"},
    [STORED_EMPTY] = {"sS", "P", "S", "!S", "L", "S", "L", "S", "S", "S", "tS", "S"},
    [STORED_ANEW] = {"!S", "!S", "S", "!S", "L", "B", "L", "S", "S", "S", "tS", "S"},
    [STORED_WHOLE] = {"L", "L", "S", "L", "L", "B", "L", "S", "S", "S", "tS", "S"},
    [BLANK_NEW] = {"sS", "P", "B", "!B", "L", "B", "L", "B", "B", "eS", "eS", "eS"},
    [BLANK_FAILED] = {"sS", "P", "B", "!B", "L", "B", "L", "!B", "B", "!B", "B", "gB"},
    [BLANK_OLD] = {"sS", "P", "B", "!B", "L", "B", "L", "!B", "B", "!B", "B", "gB"},
    [BLANK_CHILD] = {"sS", "P", "B", "!B", "L", "B", "L", "B", "B", "!B", "B", "gB"},
    [PART] = {"sS", "P", "P", "!P", "L", "B", "L", "!P", "P", "!P", "P", "gP"},
    [PART_APPENDED] = {"sS", "P", "P", "!P", "P", "B", "!P", "!P", "P", "!P", "P", "gP"},
    [LOOSE_WHOLE] = {"L", "L", "L", "L", "L", "B", "L", "sS", "sS", "sS", "L", "gL"},
    [LOOSE_PART] = {"L", "L", "L", "L", "L", "B", "L", "!L", "L", "!L", "L", "gL"},
};

static enum draft_state state_of(char letter)
{
    return letter == 'S'   ? DRAFT_STORED
           : letter == 'B' ? DRAFT_BLANK
           : letter == 'P' ? DRAFT_PART
                           : DRAFT_LOOSE;
}

static int result_of(char letter)
{
    switch (letter) {
    case '!':
        return -EINVAL;
    case 's':
    case 'e':
        return DRAFT_STORE;
    case 't':
        return DRAFT_TOUCH;
    case 'g':
        return DRAFT_GIVE_UP;
    default:
        return DRAFT_NOTHING;
    }
}

static void check_cell(enum begin from, enum event event)
{
    const char *cell = table[from][event];
    struct draft draft;
    begin(&draft, from);
    enum draft_state before = draft.state;
    uint64_t size = draft_size(&draft);
    int r = happen(&draft, event);
    if (r != result_of(cell[0]))
        print_error("begin %d, event %d, expected %s: %d\n", from, event, cell, r);
    assert_int_equal(r, result_of(cell[0]));
    if (r == -EINVAL) {
        assert_int_equal(draft.state, before);
        assert_int_equal(draft_size(&draft), size);
    }
    if (r == DRAFT_STORE) {
        assert_int_equal(bytes_equal(draft_object(&draft), B("{}")),
                         cell[0] == 'e' || (is_write(event) && before != DRAFT_PART));
        draft_was_stored(&draft);
        assert_false(draft.is_new);
    }
    assert_int_equal(draft.state, state_of(cell[strlen(cell) - 1]));
    draft_finish(&draft);
}

static void every_cell_of_the_table_is_so(void **state)
{
    (void)state;
    for (enum begin from = 0; from < BEGINS; from++)
        for (enum event event = 0; event < EVENTS; event++)
            check_cell(from, event);
}

/* The kernel's offset is as of before another client's append. */
static void an_appended_write_goes_to_the_end_whatever_its_offset(void **state)
{
    (void)state;
    struct draft draft;
    for (uint64_t offset = 0; offset < 200; offset += 7) {
        init(&draft, false, true, "");
        assert_int_equal(write_at(&draft, "{\"a\":", offset), DRAFT_NOTHING);
        assert_int_equal(write_at(&draft, "1}", 0), DRAFT_STORE);
        assert_bytes(draft_object(&draft), B("{\"a\":1}"));
        assert_int_equal(draft_size(&draft), 57);
        draft_finish(&draft);
    }
}

/* The event's store is refused: the draft is as before the event. */
static void check_refused(enum begin from, enum event event)
{
    struct draft draft;
    begin(&draft, from);
    struct draft before = draft;
    if (happen(&draft, event) == DRAFT_STORE) {
        draft_was_refused(&draft);
        assert_int_equal(draft.state, before.state);
        assert_int_equal(draft.is_new, before.is_new);
        assert_int_equal(draft_size(&draft), before.base_size + before.text.size);
        assert_int_equal(draft.has_failed, before.has_failed || is_write(event));
        if (event == COMPLETES)
            store_text(&draft, text_of(&draft, COMPLETES));
    }
    draft_finish(&draft);
}

static void what_is_not_stored_changes_nothing(void **state)
{
    (void)state;
    for (enum begin from = 0; from < BEGINS; from++)
        for (enum event event = 0; event < EVENTS; event++)
            check_refused(from, event);
}

/* Writes the text in pieces. Returns the result of the last write, or of the first one that fails.
 * Every store succeeds, and stores nothing but whole objects; their number is in ret_stored. */
static int write_in_pieces(struct draft *draft, struct bytes text, size_t piece, int *ret_stored)
{
    struct draft_problem problem;
    int r = 0;
    *ret_stored = 0;
    for (size_t at = 0; at < text.size && r >= 0; at += piece) {
        struct bytes bytes = bytes_first(bytes_skip(text, at), MIN(piece, text.size - at));
        r = draft_write(draft, bytes, draft_size(draft), &problem);
        if (r != DRAFT_STORE)
            continue;
        struct bytes object = draft_object(draft);
        assert_int_equal(object.data[object.size - 1], '}');
        draft_was_stored(draft);
        ++*ret_stored;
    }
    return r;
}

/* A text that began empty, written in order: what becomes of it. */
static const struct {
    const char *text;
    enum draft_state state; /* after the last byte, or after the write that failed */
    bool fails, fails_appended;
} texts[] = {
    {"{\"a\": {\"b\": [1, {}]}, \"c\": \"}\"}", DRAFT_STORED, false, false},
    {" \n\t\r{}", DRAFT_STORED, false, false},
    {"{} \n\n\t ", DRAFT_STORED, false, false},
    {"{\"\xC3\xA4\\u00e4\": -1.5e+10}\n", DRAFT_STORED, false, false},
    {"{\"a\": tru", DRAFT_PART, false, false},
    {"{", DRAFT_PART, false, false},
    {"{\"a\": 1}{\"b\": 2}", DRAFT_STORED, true, false},
    {"{\"a\": 1}\n{\"b\": 2}\n", DRAFT_STORED, true, false},
    {"{\"a\": 1} ,", DRAFT_STORED, true, true},
    {"{\"a\": 1}}", DRAFT_STORED, true, true},
    {"", DRAFT_BLANK, false, false},
    {"   ", DRAFT_BLANK, false, false},
    {"1", DRAFT_BLANK, true, true},
    {"\"s\"", DRAFT_BLANK, true, true},
    {"[", DRAFT_BLANK, true, true},
    {"[{}]", DRAFT_BLANK, true, true},
    {"null", DRAFT_BLANK, true, true},
    {"true", DRAFT_BLANK, true, true},
    {"hello", DRAFT_BLANK, true, true},
    {"\xEF\xBB\xBF{}", DRAFT_BLANK, true, true},
    {"}", DRAFT_BLANK, true, true},
    {"{\"a\" 1}", DRAFT_PART, true, true},
    {"{\"a\": 01}", DRAFT_PART, true, true},
    {"{,}", DRAFT_PART, true, true},
    {"{\"a\": \"\xFF\"}", DRAFT_PART, true, true},
};

static void check_pieces(struct bytes text, size_t piece, bool is_appended, bool fails,
                         enum draft_state expected)
{
    struct draft draft;
    int stored;
    init(&draft, true, is_appended, "");
    int r = write_in_pieces(&draft, text, piece, &stored);
    if ((r < 0) != fails)
        print_error("%.*s in pieces of %zu: %d\n", (int)text.size, text.data, piece, r);
    assert_int_equal(r < 0, fails);
    if (fails) {
        assert_int_equal(r, -EINVAL);
        assert_true(draft.has_failed);
        assert_true(draft.text.size % piece == 0); /* the failed piece is not there */
    }
    /* with larger pieces what came before the wrong byte may not be there either */
    if (piece == 1 || !fails)
        assert_int_equal(draft.state, expected);
    assert_int_equal(draft.is_new, stored == 0);
    draft_finish(&draft);
}

static void texts_in_pieces_of_every_size_come_to_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct bytes text = bytes_of(texts[i].text);
        for (size_t piece = 1; piece <= 8; piece++) {
            check_pieces(text, piece, false, texts[i].fails, texts[i].state);
            check_pieces(text, piece, true, texts[i].fails_appended, texts[i].state);
        }
    }
}

/* Whatever was written before, and however far the bad write came: the good rest is stored. */
static void after_a_refused_write_the_good_rest_completes_the_object(void **state)
{
    (void)state;
    static const char good[] = " {\"a\": \"\xC3\xA4\\u00e4\", \"b\": [1.5e3, true]} \n";
    static const char *const bad[] = {"\x01",   "x\x01",   "\"\x01",   "]\x01",
                                      "{}\x01", "1}{\x01", "\xC3\x01", "\xA4\\u00e4\x01"};
    for (size_t cut = 0; cut < sizeof(good) - 4; cut++) {
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
            struct draft draft;
            init(&draft, false, i % 2 == 0, "");
            (void)write_bytes(&draft, (struct bytes){good, cut}, draft_size(&draft));
            struct draft before = draft;
            assert_int_equal(write_text(&draft, bad[i]), -EINVAL);
            assert_int_equal(draft.state, before.state);
            assert_int_equal(draft.text.size, cut);
            assert_memory_equal(&draft.reading, &before.reading, sizeof(draft.reading));
            assert_int_equal(write_text(&draft, good + cut), DRAFT_STORE);
            struct bytes object = draft_object(&draft);
            assert_bytes(object, bytes_first(B(good), object.size));
            draft_was_stored(&draft);
            assert_int_equal(draft.state, DRAFT_STORED);
            draft_finish(&draft);
        }
    }
}

static void many_blanks_are_no_text(void **state)
{
    (void)state;
    struct draft draft;
    struct draft_problem problem;
    init(&draft, true, false, "");
    for (int i = 0; i < 10000; i++)
        assert_int_equal(write_text(&draft, " "), DRAFT_NOTHING);
    assert_int_equal(draft.state, DRAFT_BLANK);
    assert_int_equal(draft_size(&draft), 10000);
    assert_int_equal(draft_flush(&draft, true, &problem), DRAFT_NOTHING);
    assert_int_equal(draft_release(&draft), DRAFT_STORE);
    assert_bytes(draft_object(&draft), B("{}"));
    store_text(&draft, "{\"a\": 1}");
    assert_int_equal(draft_size(&draft), 10008);
    for (int i = 0; i < 10000; i++)
        assert_int_equal(write_text(&draft, "\n"), DRAFT_NOTHING);
    assert_int_equal(draft.state, DRAFT_STORED);
    draft_finish(&draft);
}

static void several_objects_of_one_write_are_stored_at_once(void **state)
{
    (void)state;
    struct draft draft;
    init(&draft, false, true, "");
    assert_int_equal(draft.state, DRAFT_STORED);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(write_text(&draft, "{\"a\":1} {\"b\":2}\n{\"c\":"), DRAFT_STORE);
        struct bytes objects = draft_object(&draft);
        size_t blanks = round == 2; /* the one behind the objects of the round before */
        assert_bytes(bytes_skip(objects, blanks), B("{\"a\":1} {\"b\":2}"));
        if (round == 0) {
            draft_was_refused(&draft);
            continue;
        }
        draft_was_stored(&draft);
        assert_int_equal(draft.state, DRAFT_PART);
        assert_bytes(draft_unstored(&draft), B("\n{\"c\":"));
        assert_int_equal(write_text(&draft, "3}\n"), DRAFT_STORE);
        assert_bytes(draft_object(&draft), B("\n{\"c\":3}"));
        draft_was_stored(&draft);
        assert_int_equal(draft.state, DRAFT_STORED);
        assert_bytes(draft_unstored(&draft), B(""));
    }
    assert_int_equal(draft_size(&draft), 50 + 2 * strlen("{\"a\":1} {\"b\":2}\n{\"c\":3}\n"));
    draft_finish(&draft);
}

/* Nothing of a write counts that is wrong at its end, also not the objects in it. */
static void a_write_is_taken_whole_or_not_at_all(void **state)
{
    (void)state;
    struct draft draft;
    init(&draft, false, true, "");
    assert_int_equal(write_text(&draft, "{\"a\":1}{\"b\":2} x"), -EINVAL);
    assert_int_equal(draft_size(&draft), 50);
    assert_int_equal(draft.state, DRAFT_STORED);
    draft_finish(&draft);
}

static void size_0_ends_appending(void **state)
{
    (void)state;
    struct draft draft;
    init(&draft, false, true, "");
    assert_int_equal(write_text(&draft, "{\"a\":"), DRAFT_NOTHING);
    assert_int_equal(resize(&draft, 0), DRAFT_NOTHING);
    assert_false(draft.is_appended);
    assert_int_equal(draft_size(&draft), 0);
    store_text(&draft, "{\"b\":1}");
    assert_int_equal(write_text(&draft, "{\"c\":1}"), -EINVAL);
    assert_int_equal(draft_size(&draft), 7);
    draft_finish(&draft);
}

/* A write that failed is forgotten when the text begins anew. */
static void size_0_forgives_a_failed_write(void **state)
{
    (void)state;
    struct draft draft;
    begin(&draft, BLANK_FAILED);
    assert_int_equal(draft_release(&draft), DRAFT_GIVE_UP);
    assert_int_equal(resize(&draft, 0), DRAFT_NOTHING);
    assert_int_equal(draft_release(&draft), DRAFT_STORE);
    draft_finish(&draft);
}

static void the_same_size_changes_nothing(void **state)
{
    (void)state;
    struct draft draft;
    for (enum begin from = 0; from < BEGINS; from++) {
        begin(&draft, from);
        struct draft before = draft;
        if (draft_size(&draft) > 0) {
            assert_int_equal(resize(&draft, draft_size(&draft)), DRAFT_NOTHING);
            assert_memory_equal(&draft, &before, sizeof(draft));
        }
        draft_finish(&draft);
    }
}

/* An edit in place passes through mixtures of old and new. */
static void a_loose_text_is_judged_as_a_whole(void **state)
{
    (void)state;
    struct draft draft;
    struct draft_problem problem;
    init(&draft, false, false, "{\"a\": 1}\n");
    assert_int_equal(write_at(&draft, "{\"b\": 22}", 0), DRAFT_NOTHING);
    assert_int_equal(draft.state, DRAFT_LOOSE);
    assert_int_equal(draft_flush(&draft, true, &problem), DRAFT_STORE);
    assert_bytes(draft_object(&draft), B("{\"b\": 22}"));
    draft_was_stored(&draft);
    assert_int_equal(resize(&draft, 12), DRAFT_NOTHING);
    assert_int_equal(draft_flush(&draft, true, &problem), -EINVAL);
    assert_bytes(problem.before, B("{\"b\": 22}"));
    assert_bytes(draft_unstored(&draft), B("{\"b\": 22}\0\0\0"));
    assert_int_equal(write_at(&draft, " \n ", 9), DRAFT_NOTHING);
    assert_int_equal(draft_sync(&draft, &problem), DRAFT_STORE);
    draft_was_stored(&draft);
    assert_int_equal(resize(&draft, 3), DRAFT_NOTHING);
    assert_int_equal(draft_flush(&draft, true, &problem), -EINVAL);
    assert_bytes(problem.before, B("{\"b"));
    assert_string_equal(problem.reason, "the text ends before its JSON object does");
    assert_int_equal(write_at(&draft, "\": 3}", 20), DRAFT_NOTHING); /* a gap is zeros */
    assert_bytes(draft_unstored(&draft), B("{\"b\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\": 3}"));
    draft_finish(&draft);
}

static void assert_problem(const char *first, const char *second, const char *reason,
                           const char *before)
{
    struct draft draft;
    struct draft_problem problem;
    init(&draft, false, false, "");
    (void)write_text(&draft, first);
    assert_int_equal(draft_write(&draft, bytes_of(second), draft_size(&draft), &problem), -EINVAL);
    assert_string_equal(problem.reason, reason);
    assert_bytes(problem.before, bytes_of(before));
    draft_finish(&draft);
}

static void a_problem_tells_why_and_where(void **state)
{
    (void)state;
    assert_problem("", "\n hello", "not a JSON object", "\n ");
    assert_problem("{\"a\":\n", " 1 2}", "a value where none can be", "{\"a\":\n 1 ");
    assert_problem("{\n", "\"a\": '1'}", "no JSON value begins so", "{\n\"a\": ");
    assert_problem("{}", "\n{}", "something stands behind the JSON object", "{}\n");
    struct draft draft;
    struct draft_problem problem;
    begin(&draft, BLANK_OLD);
    assert_int_equal(draft_flush(&draft, true, &problem), -EINVAL);
    assert_string_equal(problem.reason, "no JSON object was written");
    assert_bytes(problem.before, B(""));
    draft_finish(&draft);
    begin(&draft, BLANK_FAILED);
    assert_int_equal(draft_sync(&draft, &problem), -EINVAL);
    assert_string_equal(problem.reason, "a write failed before, and no JSON object was written");
    draft_finish(&draft);
    begin(&draft, PART);
    assert_int_equal(draft_flush(&draft, true, &problem), -EINVAL);
    assert_string_equal(problem.reason, "the text ends before its JSON object does");
    assert_bytes(problem.before, B("{\"a\":"));
    draft_finish(&draft);
}

static void no_text_exceeds_the_maximum(void **state)
{
    (void)state;
    struct draft draft;
    struct draft_problem problem;
    size_t room = DRAFT_MAX_BYTES - 7;
    char *blanks = malloc(DRAFT_MAX_BYTES + 1);
    memset(blanks, ' ', DRAFT_MAX_BYTES + 1);
    struct bytes most = {blanks, DRAFT_MAX_BYTES};
    assert_int_equal(draft_init(&draft, false, false, 0, (struct bytes){blanks, most.size + 1}),
                     -EFBIG);
    draft_finish(&draft);
    init(&draft, true, false, "");
    assert_int_equal(draft_write(&draft, (struct bytes){blanks, most.size + 1}, 0, &problem),
                     -EFBIG);
    assert_int_equal(draft_release(&draft), DRAFT_GIVE_UP);
    assert_int_equal(draft_write(&draft, (struct bytes){blanks, room}, 0, &problem), DRAFT_NOTHING);
    assert_int_equal(write_text(&draft, "{\"a\":11}"), -EFBIG);
    assert_int_equal(draft_size(&draft), room);
    store_text(&draft, "{\"a\":1}");
    assert_int_equal(write_text(&draft, " "), -EFBIG);
    assert_int_equal(write_at(&draft, " ", DRAFT_MAX_BYTES + 1), -EFBIG);
    assert_int_equal(write_at(&draft, " ", UINT64_MAX), -EFBIG);
    assert_int_equal(resize(&draft, UINT64_MAX), -EFBIG);
    assert_int_equal(resize(&draft, DRAFT_MAX_BYTES + 1), -EFBIG);
    assert_int_equal(draft.state, DRAFT_STORED);
    draft_finish(&draft);
    init(&draft, false, false, "");
    assert_int_equal(resize(&draft, DRAFT_MAX_BYTES), DRAFT_NOTHING);
    assert_int_equal(write_at(&draft, "{}", DRAFT_MAX_BYTES - 2), DRAFT_NOTHING);
    assert_int_equal(write_at(&draft, "{}", DRAFT_MAX_BYTES - 1), -EFBIG);
    draft_finish(&draft);
    free(blanks);
}

static void without_memory_nothing_changes(void **state)
{
    (void)state;
    struct draft draft;
    allocations_until_failure = 1;
    assert_int_equal(draft_init(&draft, true, false, 0, B("")), -ENOMEM);
    draft_finish(&draft);
    init(&draft, true, false, "");
    allocations_until_failure = 1;
    assert_int_equal(write_text(&draft, "{}"), -ENOMEM);
    assert_int_equal(allocations_until_failure, 0);
    assert_int_equal(draft.state, DRAFT_BLANK);
    assert_int_equal(draft_size(&draft), 0);
    assert_int_equal(draft_release(&draft), DRAFT_GIVE_UP);
    allocations_until_failure = 1;
    assert_int_equal(resize(&draft, 1000), -ENOMEM);
    assert_int_equal(draft.state, DRAFT_BLANK);
    store_text(&draft, "{}");
    draft_finish(&draft);
}

/* Reading again from the start at each write would take a day. */
static void a_large_text_may_come_byte_by_byte(void **state)
{
    (void)state;
    struct draft draft;
    init(&draft, true, false, "");
    assert_int_equal(write_text(&draft, "{\"a\": \""), DRAFT_NOTHING);
    while (draft.text.size < (1 << 20))
        assert_int_equal(write_bytes(&draft, B("x"), draft.text.size), DRAFT_NOTHING);
    while (draft.text.size < (2 << 20)) /* as does a write that is refused */
        assert_int_equal(write_bytes(&draft, B("\\\""), draft.text.size), DRAFT_NOTHING);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(write_text(&draft, "\n"), -EINVAL);
    store_text(&draft, "\"}");
    draft_finish(&draft);
}

static void an_empty_write_is_no_event(void **state)
{
    (void)state;
    for (enum begin from = 0; from < BEGINS; from++) {
        struct draft draft;
        begin(&draft, from);
        struct draft before = draft;
        assert_int_equal(write_bytes(&draft, (struct bytes){0}, OTHER), DRAFT_NOTHING);
        assert_memory_equal(&draft, &before, sizeof(draft));
        draft_finish(&draft);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell_of_the_table_is_so),
        cmocka_unit_test(an_appended_write_goes_to_the_end_whatever_its_offset),
        cmocka_unit_test(what_is_not_stored_changes_nothing),
        cmocka_unit_test(texts_in_pieces_of_every_size_come_to_the_same),
        cmocka_unit_test(after_a_refused_write_the_good_rest_completes_the_object),
        cmocka_unit_test(many_blanks_are_no_text),
        cmocka_unit_test(several_objects_of_one_write_are_stored_at_once),
        cmocka_unit_test(a_write_is_taken_whole_or_not_at_all),
        cmocka_unit_test(size_0_ends_appending),
        cmocka_unit_test(size_0_forgives_a_failed_write),
        cmocka_unit_test(the_same_size_changes_nothing),
        cmocka_unit_test(a_loose_text_is_judged_as_a_whole),
        cmocka_unit_test(a_problem_tells_why_and_where),
        cmocka_unit_test(no_text_exceeds_the_maximum),
        cmocka_unit_test(without_memory_nothing_changes),
        cmocka_unit_test(a_large_text_may_come_byte_by_byte),
        cmocka_unit_test(an_empty_write_is_no_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
