/* SPDX-License-Identifier: MIT */
/* The table of fs/text/draft.h: what each event makes of a draft. */
#include "tests/unit/fs/text/draft_fixture.h"

#define OTHER 100 /* an offset that is never the end, and a size that is another one */

/* How a draft of the table came about. */
enum begin {
    STORED_APPENDED, /* opened for appending */
    STORED_EMPTY,    /* new, and stored as {} */
    STORED_ANEW,     /* began empty; an object was stored */
    STORED_WHOLE,    /* opened whole */
    BLANK_NEW,
    BLANK_FAILED,  /* new, and a write failed */
    BLANK_REFUSED, /* new, and it refuses {} */
    BLANK_OLD,     /* truncated */
    BLANK_CHILD,   /* truncated, and another process has flushed it */
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

static void begin(struct draft *draft, enum begin begin)
{
    struct draft_problem problem;
    bool is_new = begin == STORED_EMPTY || begin == BLANK_NEW || begin == BLANK_FAILED ||
                  begin == BLANK_REFUSED;
    bool is_appended = begin == STORED_APPENDED || begin == PART_APPENDED;
    bool is_whole = begin == STORED_WHOLE || begin == LOOSE_WHOLE || begin == LOOSE_PART;
    init_draft(draft, is_new, is_appended, is_whole ? "{\"old\": 1}\n" : "");
    if (begin == STORED_EMPTY) {
        assert_int_equal(draft_sync(draft, &problem), DRAFT_STORE);
        draft_was_stored(draft);
    } else if (begin == STORED_ANEW) {
        store_text(draft, "{}");
    } else if (begin == BLANK_FAILED) {
        assert_int_equal(write_text(draft, "hello"), -EINVAL);
    } else if (begin == BLANK_REFUSED) {
        draft_refuse_empty(draft, "it needs a text");
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
        r = draft_touch(draft, &problem);
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
    [BLANK_REFUSED] = {"sS", "P", "B", "!B", "L", "B", "L", "!B", "B", "!B", "!B", "gB"},
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
        init_draft(&draft, false, true, "");
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

static void size_0_ends_appending(void **state)
{
    (void)state;
    struct draft draft;
    init_draft(&draft, false, true, "");
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

static void assert_problem(const char *first, const char *second, const char *reason,
                           const char *before)
{
    struct draft draft;
    struct draft_problem problem;
    init_draft(&draft, false, false, "");
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
    assert_problem("{}", "\n{}", "there is text after the JSON object", "{}\n");
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

static void a_draft_that_refuses_an_empty_text_tells_why(void **state)
{
    (void)state;
    struct draft draft;
    struct draft_problem problem = {0};
    begin(&draft, BLANK_REFUSED);
    assert_int_equal(draft_sync(&draft, &problem), -EINVAL);
    assert_string_equal(problem.reason, "it needs a text");
    assert_int_equal(draft_flush(&draft, false, &problem), DRAFT_NOTHING);
    assert_int_equal(draft_flush(&draft, true, &problem), DRAFT_NOTHING); /* a child goes on */
    draft_refuse_empty(&draft, NULL);
    assert_int_equal(draft_sync(&draft, &problem), DRAFT_STORE);
    draft_was_stored(&draft);
    draft_finish(&draft);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell_of_the_table_is_so),
        cmocka_unit_test(an_appended_write_goes_to_the_end_whatever_its_offset),
        cmocka_unit_test(what_is_not_stored_changes_nothing),
        cmocka_unit_test(size_0_ends_appending),
        cmocka_unit_test(size_0_forgives_a_failed_write),
        cmocka_unit_test(the_same_size_changes_nothing),
        cmocka_unit_test(a_problem_tells_why_and_where),
        cmocka_unit_test(an_empty_write_is_no_event),
        cmocka_unit_test(a_draft_that_refuses_an_empty_text_tells_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
