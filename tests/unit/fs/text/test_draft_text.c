/* SPDX-License-Identifier: MIT */
/* Texts of drafts: in pieces, undone, appended, in place, too long. */
#include "tests/unit/failing_memory.h"
#include "tests/unit/fs/text/draft_fixture.h"

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
    {"\xEF\xBB\xBF{}", DRAFT_STORED, false, false},
    {" \xEF\xBB\xBF \n{\"a\": 1}\n", DRAFT_STORED, false, false},
    {"{\"a\": 1}\xEF\xBB\xBF{\"b\": 2}\n", DRAFT_STORED, true, false},
    {"\xEF\xBB\xBF", DRAFT_PART, false, false},
    {"\xEF\xBB\xBF \n", DRAFT_PART, false, false},
    {"\xEF", DRAFT_PART, false, false},
    {"\xEF\xBB\xBE{}", DRAFT_PART, true, true},
    {"\xEF{}", DRAFT_PART, true, true},
    {"\xEF\xBB\xBF\xEF\xBB\xBF{}", DRAFT_PART, true, true},
    {"\xEF\xBB\xBF[{}]", DRAFT_PART, true, true},
    {"\xEF\xBB\xBFnull", DRAFT_PART, true, true},
    {"{\"a\": 1,}", DRAFT_PART, true, true},
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
    init_draft(&draft, true, is_appended, "");
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
            init_draft(&draft, false, i % 2 == 0, "");
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

static void a_trailing_comma_is_told_with_its_place(void **state)
{
    (void)state;
    struct draft draft;
    struct draft_problem problem;
    init_draft(&draft, true, false, "");
    assert_int_equal(write_text(&draft, "{\n  \"a\": 1,"), DRAFT_NOTHING);
    assert_int_equal(draft_write(&draft, B("\n}\n"), draft_size(&draft), &problem), -EINVAL);
    assert_string_equal(problem.reason, "a trailing comma");
    assert_bytes(problem.before, B("{\n  \"a\": 1"));
    store_text(&draft, " \"b\": 2}");
    assert_bytes(buffer_bytes(&draft.text), B("{\n  \"a\": 1, \"b\": 2}"));
    draft_finish(&draft);
}

static void many_blanks_are_no_text(void **state)
{
    (void)state;
    struct draft draft;
    struct draft_problem problem;
    init_draft(&draft, true, false, "");
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
    init_draft(&draft, false, true, "");
    assert_int_equal(draft.state, DRAFT_STORED);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(write_text(&draft, "{\"a\":1} {\"b\":2}\n{\"c\":"), DRAFT_STORE);
        struct bytes objects = draft_object(&draft);
        size_t blanks = round == 2; /* the one after the objects of the round before */
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
    init_draft(&draft, false, true, "");
    assert_int_equal(write_text(&draft, "{\"a\":1}{\"b\":2} x"), -EINVAL);
    assert_int_equal(draft_size(&draft), 50);
    assert_int_equal(draft.state, DRAFT_STORED);
    draft_finish(&draft);
}

static void a_text_that_was_shortened_takes_no_more_memory(void **state)
{
    (void)state;
    struct draft draft;
    init_draft(&draft, false, false, "{\"a\": 1}\n");
    for (int size = 0; size < 20; size += 5) {
        assert_int_equal(resize(&draft, DRAFT_MAX_BYTES), DRAFT_NOTHING);
        assert_int_equal(resize(&draft, (uint64_t)size), DRAFT_NOTHING);
        assert_int_equal(draft.text.size, size);
        assert_int_equal(draft.text.capacity, size + 1);
    }
    draft_finish(&draft);
}

/* An edit in place passes through mixtures of old and new. */
static void a_loose_text_is_judged_as_a_whole(void **state)
{
    (void)state;
    struct draft draft;
    struct draft_problem problem;
    init_draft(&draft, false, false, "{\"a\": 1}\n");
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
    init_draft(&draft, true, false, "");
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
    init_draft(&draft, false, false, "");
    assert_int_equal(resize(&draft, DRAFT_MAX_BYTES), DRAFT_NOTHING);
    assert_int_equal(write_at(&draft, "{}", DRAFT_MAX_BYTES - 2), DRAFT_NOTHING);
    assert_int_equal(write_at(&draft, "{}", DRAFT_MAX_BYTES - 1), -EFBIG);
    draft_finish(&draft);
    free(blanks);
}

static void copy(char *to, struct bytes text)
{
    memcpy(to, text.data, text.size);
}

/* Two objects a write, and half of one after them: three times the maximum in all. */
static void what_is_merged_does_not_count_for_the_maximum(void **state)
{
    (void)state;
    struct draft draft;
    size_t size = (size_t)1 << 20;
    char *text = malloc(size);
    memset(text, ' ', size);
    copy(text, B("1} {\"b\":2}\n"));
    copy(text + size - 5, B("{\"a\":"));
    for (int is_new = 0; is_new < 2; is_new++) {
        init_draft(&draft, is_new, true, "");
        assert_int_equal(write_text(&draft, "{\"a\":"), DRAFT_NOTHING);
        uint64_t begin = draft_size(&draft);
        for (uint64_t i = 1; i <= 24; i++) {
            assert_int_equal(write_bytes(&draft, (struct bytes){text, size}, 0), DRAFT_STORE);
            struct bytes objects = draft_object(&draft);
            assert_bytes(bytes_skip(objects, objects.size - 7), B("{\"b\":2}"));
            draft_was_stored(&draft);
            assert_int_equal(draft_size(&draft), begin + i * size);
            assert_int_equal(draft.state, DRAFT_PART);
        }
        assert_int_equal(write_text(&draft, "?"), -EINVAL);
        store_text(&draft, "3}");
        assert_int_equal(draft_size(&draft), begin + 24 * size + 2);
        draft_finish(&draft);
    }
    free(text);
}

/* Of one object, or of blanks before any: they are all that there is of a new file. */
static void what_is_not_merged_counts_for_the_maximum(void **state)
{
    (void)state;
    struct draft draft;
    struct draft_problem problem;
    char *blanks = malloc(DRAFT_MAX_BYTES);
    memset(blanks, ' ', DRAFT_MAX_BYTES);
    struct bytes most = {blanks, DRAFT_MAX_BYTES};
    init_draft(&draft, false, true, "");
    store_text(&draft, "{}");
    assert_int_equal(draft_write(&draft, most, 0, &problem), DRAFT_NOTHING);
    assert_int_equal(write_text(&draft, "{"), DRAFT_NOTHING);
    assert_int_equal(draft_write(&draft, most, 0, &problem), -EFBIG);
    assert_int_equal(draft_size(&draft), APPENDED_TO + 2 + DRAFT_MAX_BYTES + 1);
    most.size--;
    assert_int_equal(draft_write(&draft, most, 0, &problem), DRAFT_NOTHING);
    assert_int_equal(write_text(&draft, "}"), -EFBIG);
    assert_int_equal(draft_unstored(&draft).size, DRAFT_MAX_BYTES);
    draft_finish(&draft);
    init_draft(&draft, true, true, "");
    assert_int_equal(draft_write(&draft, most, 0, &problem), DRAFT_NOTHING);
    assert_int_equal(write_text(&draft, "{}"), -EFBIG);
    assert_int_equal(draft.base_size, 0);
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
    init_draft(&draft, true, false, "");
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
    init_draft(&draft, true, false, "");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_in_pieces_of_every_size_come_to_the_same),
        cmocka_unit_test(after_a_refused_write_the_good_rest_completes_the_object),
        cmocka_unit_test(a_trailing_comma_is_told_with_its_place),
        cmocka_unit_test(many_blanks_are_no_text),
        cmocka_unit_test(several_objects_of_one_write_are_stored_at_once),
        cmocka_unit_test(a_write_is_taken_whole_or_not_at_all),
        cmocka_unit_test(a_text_that_was_shortened_takes_no_more_memory),
        cmocka_unit_test(a_loose_text_is_judged_as_a_whole),
        cmocka_unit_test(no_text_exceeds_the_maximum),
        cmocka_unit_test(what_is_merged_does_not_count_for_the_maximum),
        cmocka_unit_test(what_is_not_merged_counts_for_the_maximum),
        cmocka_unit_test(without_memory_nothing_changes),
        cmocka_unit_test(a_large_text_may_come_byte_by_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
