/* SPDX-License-Identifier: MIT */
#include "client/base/position.h"
#include "client/base/unicode.h"
#include "fs/tree/names.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/unit.h"

static void assert_name(struct bytes key, enum name_kind kind, struct bytes expected)
{
    _cleanup_(buffer_finish) struct buffer name = {.max = NAME_MAX_BYTES}, again = {.max = 4096};
    enum name_meaning meaning;
    assert_int_equal(names_encode(key, kind, &name), 0);
    assert_bytes(buffer_bytes(&name), expected);
    assert_int_equal(names_decode(expected, kind, &again, &meaning), 0);
    assert_int_equal(meaning, NAME_MEANS_KEY);
    assert_bytes(buffer_bytes(&again), key);
}

static void keys_are_written_as_the_design_says(void **state)
{
    (void)state;
    assert_name(B("Newtonsoft.Json"), NAME_PARTITION, B("Newtonsoft.Json"));
    assert_name(B("13.0.1"), NAME_ENTITY, B("13.0.1.json"));
    assert_name(B(""), NAME_PARTITION, B("#00"));
    assert_name(B(""), NAME_ENTITY, B("#00.json"));
    assert_name(B("."), NAME_PARTITION, B("#2E"));
    assert_name(B(".."), NAME_ENTITY, B("#2E..json"));
    assert_name(B("a.b"), NAME_PARTITION, B("a.b"));
    assert_name(B("a+"), NAME_PARTITION, B("a#2B"));
    assert_name(B("+a+b"), NAME_PARTITION, B("+a+b"));
    assert_name(B("+"), NAME_PARTITION, B("#2B"));
    assert_name(B("a+"), NAME_ENTITY, B("a+.json"));
    assert_name(B("a/b#c"), NAME_ENTITY, B("a#2Fb#23c.json"));
    assert_name(B("100%2F ~'\""), NAME_ENTITY, B("100%2F ~'\".json"));
    assert_name(B("x.json"), NAME_ENTITY, B("x.json.json"));
    assert_name(B("x.json"), NAME_PARTITION, B("x.json"));
    assert_name(B("\t\x7F\n"), NAME_PARTITION, B("#09#7F#0A"));
    assert_name(B("\xC2\x85"), NAME_PARTITION, B("#C2#85")); /* U+0085 */
    assert_name(B("\xED\xA0\xBD\xED\xB8\x80"), NAME_PARTITION, B("\xF0\x9F\x98\x80"));
    assert_name(B("a\xED\xA0\xBD"), NAME_ENTITY, B("a#ED#A0#BD.json")); /* a lone surrogate */
    assert_name(B("#00"), NAME_PARTITION, B("#2300"));
}

static void assert_nothing(struct bytes name, enum name_kind kind)
{
    _cleanup_(buffer_finish) struct buffer key = {.max = 4096};
    enum name_meaning meaning;
    assert_int_equal(names_decode(name, kind, &key, &meaning), 0);
    if (meaning != NAME_MEANS_NOTHING)
        fail_msg("%.*s means something", (int)name.size, name.data);
}

/* n times k, and what stands after */
static void assert_long_nothing(int n, const char *behind, enum name_kind kind)
{
    _cleanup_(buffer_finish) struct buffer name = {.max = NAME_MAX_BYTES};
    for (int i = 0; i < n; i++)
        (void)buffer_append_char(&name, 'k');
    assert_int_equal(buffer_append_string(&name, behind), 0);
    assert_nothing(buffer_bytes(&name), kind);
}

static void other_names_mean_nothing(void **state)
{
    (void)state;
    static const char *const partitions[] = {
        "#41",          "#2e",          "#",      "a#",      "a#2",
        "#GG",          ".hidden",      ".",      "..",      "",
        "a+",           "a#00",         "#00#00", "#2Ea#2E", "\xFF",
        "\xED\xA0\xBD", "#F0#9F#98#80", "a\tb",   "#C3#A9",  "#ED#A0#BD#ED#B8#80",
        "a#7E"};
    static const char *const entities[] = {"a",        "a.JSON",  ".json", "#00",    "a.json.",
                                           "#41.json", ".a.json", "a+",    "a.json+"};
    for (size_t i = 0; i < ARRAY_SIZE(partitions); i++)
        assert_nothing(bytes_of(partitions[i]), NAME_PARTITION);
    for (size_t i = 0; i < ARRAY_SIZE(entities); i++)
        assert_nothing(bytes_of(entities[i]), NAME_ENTITY);
}

static void assert_there_and_back(struct bytes key, enum name_kind kind)
{
    _cleanup_(buffer_finish) struct buffer name = {.max = NAME_MAX_BYTES}, again = {.max = 4096};
    enum name_meaning meaning;
    assert_int_equal(names_encode(key, kind, &name), 0);
    assert_true(name.data[0] != '.' && !memchr(name.data, '/', name.size));
    assert_int_equal(names_decode(buffer_bytes(&name), kind, &again, &meaning), 0);
    assert_int_equal(meaning, NAME_MEANS_KEY);
    assert_int_equal(bytes_compare(buffer_bytes(&again), key), 0);
}

static void assert_no_prefix(struct bytes prefix)
{
    _cleanup_(buffer_finish) struct buffer name = {.max = NAME_MAX_BYTES};
    assert_int_equal(names_encode(prefix, NAME_PREFIX, &name), -EILSEQ);
    assert_int_equal(name.size, 0);
}

/* The character alone, first, in the middle, last. */
static void assert_character(uint32_t character)
{
    static const char *const around[][2] = {{"", ""}, {"", "y"}, {"x", "y"}, {"x", ""}};
    _cleanup_(buffer_finish) struct buffer key = {.max = 64};
    for (size_t i = 0; i < ARRAY_SIZE(around); i++) {
        buffer_clear(&key);
        (void)buffer_append_string(&key, around[i][0]);
        (void)cesu8_append(&key, character);
        (void)buffer_append_string(&key, around[i][1]);
        assert_there_and_back(buffer_bytes(&key), NAME_PARTITION);
        assert_there_and_back(buffer_bytes(&key), NAME_ENTITY);
        if (position_is_legal_in_key(character))
            assert_there_and_back(buffer_bytes(&key), NAME_PREFIX);
        else
            assert_no_prefix(buffer_bytes(&key));
    }
}

static void every_key_character_goes_there_and_back(void **state)
{
    (void)state;
    for (uint32_t c = 1; c <= 0x10FFFF; c += c < 0x3000 || (c >= 0xD000 && c < 0x10100) ? 1 : 97)
        assert_character(c);
}

static void prefixes_are_written_as_the_design_says(void **state)
{
    (void)state;
    assert_name(B("N"), NAME_PREFIX, B("N+"));
    assert_name(B("2024-05"), NAME_PREFIX, B("2024-05+"));
    assert_name(B("."), NAME_PREFIX, B("#2E+"));
    assert_name(B(".a."), NAME_PREFIX, B("#2Ea.+"));
    assert_name(B("+"), NAME_PREFIX, B("#2B+"));
    assert_name(B("a+"), NAME_PREFIX, B("a#2B+"));
    assert_name(B("a++"), NAME_PREFIX, B("a+#2B+"));
    assert_name(B("+a"), NAME_PREFIX, B("+a+"));
    assert_name(B("x.json"), NAME_PREFIX, B("x.json+"));
    assert_name(B("\xED\xA0\xBD\xED\xB8\x80"), NAME_PREFIX, B("\xF0\x9F\x98\x80+"));
    assert_name(B("\xED\xA0\xBD"), NAME_PREFIX, B("#ED#A0#BD+"));    /* half of such a pair */
    assert_name(B("\xEF\xBF\xBF"), NAME_PREFIX, B("\xEF\xBF\xBF+")); /* U+FFFF */
}

/* n times the character, between two strings */
static void assert_long_prefix(const char *before, uint32_t character, int n, const char *behind,
                               size_t name_size)
{
    _cleanup_(buffer_finish) struct buffer prefix = {.max = 4096}, name = {.max = NAME_MAX_BYTES};
    (void)buffer_append_string(&prefix, before);
    for (int i = 0; i < n; i++)
        (void)cesu8_append(&prefix, character);
    (void)buffer_append_string(&prefix, behind);
    if (name_size == 0) {
        assert_no_prefix(buffer_bytes(&prefix));
    } else {
        assert_there_and_back(buffer_bytes(&prefix), NAME_PREFIX);
        assert_int_equal(names_encode(buffer_bytes(&prefix), NAME_PREFIX, &name), 0);
        assert_int_equal(name.size, name_size);
    }
}

static void a_prefix_has_a_name_up_to_240_bytes(void **state)
{
    (void)state;
    assert_long_prefix("", 'k', 240, "", 241);
    assert_long_prefix("", 'k', 241, "", 0);
    assert_long_prefix(".", 'k', 238, "+", 245); /* escapes come on top */
    assert_long_prefix(".", 'k', 239, "+", 0);
    assert_long_prefix("", 0x65E5, 80, "", 241);
    assert_long_prefix("", 0x65E5, 80, "k", 0);
    assert_long_prefix("", 0x1F600, 60, "", 241); /* six bytes each inside the program */
    assert_long_prefix("", 0x1F600, 60, "k", 0);
    assert_long_prefix("", 0xD83D, 26, "kkkkkk", 241); /* nine bytes each in the name */
    assert_long_prefix("", 0xD83D, 26, "kkkkkkk", 0);
    assert_no_prefix(B(""));
    assert_no_prefix(B("a/b"));
    assert_no_prefix(B("a\\"));
    assert_no_prefix(B("#"));
    assert_no_prefix(B("?a"));
    assert_no_prefix(B("a\0"));
    assert_no_prefix(B("\xFF"));
    assert_no_prefix(B("a\xED\xA0"));
}

static void other_names_are_no_prefix(void **state)
{
    (void)state;
    static const char *const names[] = {"",
                                        "+",
                                        "a",
                                        "a#2B",
                                        "a++",
                                        "++",
                                        "#00+",
                                        "#41+",
                                        "#2b+",
                                        ".a+",
                                        ".+",
                                        "a.json",
                                        "a+.json",
                                        "a#2F+",
                                        "a#09+",
                                        "a#5C+",
                                        "a\\+",
                                        "a?+",
                                        "a#3F+",
                                        "a#23+",
                                        "a#+",
                                        "a#2+",
                                        "a\t+",
                                        "\xFF+",
                                        "+ ",
                                        "a#00+",
                                        "#C3#A9+",
                                        "#2B",
                                        "#ED#A0#BD#ED#B8#80+"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        assert_nothing(bytes_of(names[i]), NAME_PREFIX);
    assert_long_nothing(241, "+", NAME_PREFIX);
    /* a cut key's name has the digest last */
    assert_long_nothing(236, "#~0123456789abcdef+", NAME_PREFIX);
    assert_long_nothing(236, "#~0123456789abcdef+", NAME_PARTITION);
}

static uint32_t random_state = 5;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 1664525 + 1013904223;
    return (random_state >> 16) % n;
}

static void random_key(struct buffer *key)
{
    static const uint32_t characters[] = {
        '+',  '.',    '#',    '/',    '~',    'a', '0',    '2',    'B',    'j',     0x9F,
        0xE9, 0xD7FF, 0xD800, 0xDBFF, 0xDC00, '?', 0xDFFF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF};
    buffer_clear(key);
    uint32_t left = random_below(50) == 0 ? random_below(513) : random_below(6);
    for (; left > 0; left--)
        (void)cesu8_append(key, characters[random_below(ARRAY_SIZE(characters))]);
    static const char *const ends[] = {"", "", "", "+", ".json", "#00", "+.json"};
    (void)buffer_append_string(key, ends[random_below(ARRAY_SIZE(ends))]);
}

/* What the key is called as one kind, no key or prefix is called as another that lies beside it. */
static void assert_disjoint(struct bytes key, enum name_kind kind, enum name_kind other)
{
    _cleanup_(buffer_finish) struct buffer name = {.max = NAME_MAX_BYTES}, again = {.max = 4096};
    enum name_meaning meaning;
    if (names_encode(key, kind, &name) == 0) {
        assert_int_equal(names_is_prefix(buffer_bytes(&name)), kind == NAME_PREFIX);
        assert_nothing(buffer_bytes(&name), other);
        assert_int_equal(names_decode(buffer_bytes(&name), kind, &again, &meaning), 0);
        assert_int_not_equal(meaning, NAME_MEANS_NOTHING);
        assert_true(meaning == NAME_MEANS_CUT ? bytes_start_with(key, buffer_bytes(&again))
                                              : bytes_equal(key, buffer_bytes(&again)));
    } else {
        assert_int_equal(kind, NAME_PREFIX);
        assert_false(prefix_is_showable(key));
    }
}

static void no_name_means_a_key_and_a_prefix(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer key = {.max = 8192};
    for (int round = 0; round < 50000; round++) {
        random_key(&key);
        assert_disjoint(buffer_bytes(&key), NAME_PARTITION, NAME_PREFIX);
        assert_disjoint(buffer_bytes(&key), NAME_ENTITY, NAME_PREFIX);
        assert_disjoint(buffer_bytes(&key), NAME_PREFIX, NAME_PARTITION);
        assert_disjoint(buffer_bytes(&key), NAME_PREFIX, NAME_ENTITY);
    }
}

static void assert_cut(struct bytes key, enum name_kind kind, size_t fit)
{
    _cleanup_(buffer_finish) struct buffer name = {.max = NAME_MAX_BYTES}, begin = {.max = 4096};
    enum name_meaning meaning;
    assert_int_equal(names_encode(key, kind, &name), 0);
    assert_int_equal(name.size, fit + 18 + (kind == NAME_ENTITY ? 5 : 0));
    assert_memory_equal(name.data + fit, "#~", 2);
    assert_int_equal(names_decode(buffer_bytes(&name), kind, &begin, &meaning), 0);
    assert_int_equal(meaning, NAME_MEANS_CUT);
    assert_true(bytes_start_with(key, buffer_bytes(&begin)));
    assert_int_equal(names_is_of(buffer_bytes(&name), kind, key), 1);
    assert_int_equal(names_is_of(buffer_bytes(&name), kind, buffer_bytes(&begin)), 0);
}

static void long_keys_are_cut_between_characters(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer key = {.max = 8192};
    for (int i = 0; i < 300; i++)
        (void)buffer_append_char(&key, 'k');
    assert_name(bytes_first(buffer_bytes(&key), 255), NAME_PARTITION,
                bytes_first(buffer_bytes(&key), 255));
    assert_cut(bytes_first(buffer_bytes(&key), 256), NAME_PARTITION, 237);
    assert_cut(bytes_first(buffer_bytes(&key), 251), NAME_ENTITY, 232);
    buffer_clear(&key);
    for (int i = 0; i < 1024; i++)
        (void)cesu8_append(&key, 0x65E5); /* three bytes: 232 = 77 * 3 + 1, 237 = 79 * 3 */
    assert_cut(buffer_bytes(&key), NAME_ENTITY, 231);
    assert_cut(buffer_bytes(&key), NAME_PARTITION, 237);
    buffer_clear(&key);
    for (int i = 0; i < 512; i++)
        (void)cesu8_append(&key, 0x1F600); /* six bytes in the key, four in the name */
    assert_cut(buffer_bytes(&key), NAME_ENTITY, 232);
    assert_cut(buffer_bytes(&key), NAME_PARTITION, 236);
    buffer_clear(&key);
    for (int i = 0; i < 512; i++)
        (void)cesu8_append(&key, 0xD83D); /* lone: nine bytes in the name */
    assert_cut(buffer_bytes(&key), NAME_ENTITY, 225);
    buffer_clear(&key);
    for (int i = 0; i < 229; i++)
        (void)buffer_append_char(&key, 'k');
    for (int i = 0; i < 3; i++)
        (void)cesu8_append(&key, 0xD83D);
    assert_cut(buffer_bytes(&key), NAME_PARTITION, 229); /* 238 had been one too many */
}

static void a_short_name_is_not_cut(void **state)
{
    (void)state;
    assert_nothing(B("#~0123456789abcdef"), NAME_PARTITION);
    assert_nothing(B("k#~0123456789abcdef.json"), NAME_ENTITY);
    /* nine bytes more had room */
    assert_long_nothing(228, "#~0123456789abcdef", NAME_PARTITION);
    assert_long_nothing(223, "#~0123456789abcdef.json", NAME_ENTITY);
}

static void the_digest_is_of_the_whole_key(void **state)
{
    (void)state;
    char long_key[300];
    memset(long_key, 'k', sizeof(long_key));
    _cleanup_(buffer_finish) struct buffer name = {.max = NAME_MAX_BYTES};
    assert_int_equal(names_encode((struct bytes){long_key, 300}, NAME_PARTITION, &name), 0);
    /* printf 'k%.0s' {1..300} | sha256sum */
    assert_memory_equal(name.data + 237, "#~17b16d8ef494060f", 18);
}

/* With the n-th allocation failing; true if it was reached. */
static bool decode_short_of_memory(struct bytes name, enum name_kind kind, long n)
{
    _cleanup_(buffer_finish) struct buffer key = {.max = 4096};
    enum name_meaning meaning;
    allocations_until_failure = n;
    int r = names_decode(name, kind, &key, &meaning);
    bool is_reached = allocations_until_failure == 0;
    allocations_until_failure = 0;
    assert_int_equal(r, is_reached ? -ENOMEM : 0);
    assert_int_equal(meaning, is_reached ? NAME_MEANS_NOTHING : NAME_MEANS_KEY);
    return is_reached;
}

static bool compare_short_of_memory(struct bytes name, struct bytes key, int expected, long n)
{
    allocations_until_failure = n;
    int r = names_is_of(name, NAME_PARTITION, key);
    bool is_reached = allocations_until_failure == 0;
    allocations_until_failure = 0;
    assert_int_equal(r, is_reached ? -ENOMEM : expected);
    return is_reached;
}

static void without_memory_a_name_is_not_judged(void **state)
{
    (void)state;
    long n = 1;
    while (decode_short_of_memory(B("zlib#2F1.2.json"), NAME_ENTITY, n))
        n++;
    assert_true(n > 3); /* the key, and the name that it would get */
    n = 1;
    while (decode_short_of_memory(B("N+"), NAME_PREFIX, n))
        n++;
    assert_true(n > 3);

    char long_key[300];
    memset(long_key, 'k', sizeof(long_key));
    struct bytes key = {long_key, sizeof(long_key)};
    _cleanup_(buffer_finish) struct buffer name = {.max = NAME_MAX_BYTES};
    assert_int_equal(names_encode(key, NAME_PARTITION, &name), 0);
    for (n = 1; compare_short_of_memory(buffer_bytes(&name), key, 1, n); n++)
        ;
    assert_true(n > 3);
    for (n = 1; compare_short_of_memory(buffer_bytes(&name), bytes_skip(key, 1), 0, n); n++)
        ;
    assert_true(n > 3);
}

static void what_has_no_name_is_not_of_one(void **state)
{
    (void)state;
    assert_int_equal(names_is_of(B("k"), NAME_PARTITION, B("\xFF")), 0);
    size_t size = (size_t)128 << 10; /* longer than any service takes */
    char *long_key = malloc(size);
    assert_non_null(long_key);
    memset(long_key, 'k', size);
    assert_int_equal(names_is_of(B("k"), NAME_PARTITION, (struct bytes){long_key, size}), 0);
    free(long_key);
}

/* expected NULL: the key is none, and nothing is appended. */
static void assert_appended(int (*append)(struct bytes, size_t, struct buffer *), struct bytes key,
                            size_t max, const char *expected)
{
    _cleanup_(buffer_finish) struct buffer name = {.max = NAME_MAX_BYTES};
    assert_int_equal(append(key, max, &name), expected ? 0 : -EILSEQ);
    assert_bytes(buffer_bytes(&name), bytes_of(expected ? expected : ""));
    assert_int_equal(name.error, 0);
}

static void the_beginning_of_a_name_is_made_of_whole_characters(void **state)
{
    (void)state;
    assert_appended(names_append_beginning, B("key"), 3, "key");
    assert_appended(names_append_beginning, B("key"), 2, "ke");
    assert_appended(names_append_beginning, B("key"), 0, "");
    assert_appended(names_append_beginning, B(""), 3, "#00");
    assert_appended(names_append_beginning, B("a\xC3\xA9"), 2, "a");
    assert_appended(names_append_beginning, B("a/b"), 3, "a");
    assert_appended(names_append_beginning, B("a/b"), 4, "a#2F");
    assert_appended(names_append_beginning, B("../x"), 9, "#2E.#2Fx");
    assert_appended(names_append_beginning, B("\xED\xA0\xBD\xED\xB8\x80"), 3, "");
    assert_appended(names_append_beginning, B("\xFF"), 9, NULL);
}

static void a_short_name_is_cut_at_whole_characters(void **state)
{
    (void)state;
    assert_appended(names_append_short, B("key"), 18, "key");
    assert_appended(names_append_short, B(""), 18, "#00");
    assert_appended(names_append_short, B("../x"), 18, "#2E.#2Fx");
    assert_appended(names_append_short, B("0123456789abcdef12"), 18, "0123456789abcdef12");
    /* digits: of sha256sum */
    assert_appended(names_append_short, B("0123456789abcdef123"), 18, "#~1c3066e437672b4e");
    assert_appended(names_append_short, B("0123456789abcdef123"), 20, "0123456789abcdef123");
    assert_appended(names_append_short, B("a/\xC3\xA9/0123456789abcdef"), 24,
                    "a#2F\xC3\xA9#~a5a8e711b76d5cfc");
    assert_appended(names_append_short, B("a/\xC3\xA9/0123456789abcdef"), 23,
                    "a#2F#~a5a8e711b76d5cfc");
    assert_appended(names_append_short, B("\xFF"), 18, NULL);
}

/* The unsettled key of a cut name: it has that name, and the key that it stands for has it, too. */
static void assert_unsettled(struct bytes key, enum name_kind kind)
{
    _cleanup_(buffer_finish) struct buffer name = {.max = NAME_MAX_BYTES}, begin = {.max = 4096},
                                           unsettled = {.max = 4096},
                                           again = {.max = NAME_MAX_BYTES};
    enum name_meaning meaning;
    struct bytes digits;
    assert_int_equal(names_encode(key, kind, &name), 0);
    assert_int_equal(names_decode(buffer_bytes(&name), kind, &begin, &meaning), 0);
    assert_int_equal(meaning, NAME_MEANS_CUT);
    assert_true(names_digits(buffer_bytes(&name), kind, &digits));
    assert_int_equal(names_append_unsettled(buffer_bytes(&begin), digits, &unsettled), 0);
    assert_true(position_is_unsettled(buffer_bytes(&unsettled)) && !position_is_unsettled(key));
    assert_int_equal(names_encode(buffer_bytes(&unsettled), kind, &again), 0);
    assert_bytes(buffer_bytes(&again), buffer_bytes(&name));
    assert_int_equal(names_is_of(buffer_bytes(&name), kind, buffer_bytes(&unsettled)), 1);
}

static void an_unsettled_key_has_the_name_of_its_key(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer key = {.max = 8192};
    for (int i = 0; i < 300; i++)
        (void)buffer_append_char(&key, '+'); /* which is escaped at a key's end alone */
    assert_unsettled(buffer_bytes(&key), NAME_PARTITION);
    assert_unsettled(buffer_bytes(&key), NAME_ENTITY);
    buffer_clear(&key);
    for (int i = 0; i < 300; i++)
        (void)cesu8_append(&key, i % 3 == 0 ? 0xD83D : i % 3 == 1 ? 0x1F600 : '#');
    assert_unsettled(buffer_bytes(&key), NAME_PARTITION);
    assert_unsettled(buffer_bytes(&key), NAME_ENTITY);
}

static void the_digits_of_a_cut_name_are_in_lower_case(void **state)
{
    (void)state;
    struct bytes digits;
    assert_false(names_digits(B("short.json"), NAME_ENTITY, &digits));
    assert_false(names_digits(B("a#~0123456789abcdef"), NAME_PARTITION, &digits));
    assert_long_nothing(237, "#~0123456789ABCDEF", NAME_PARTITION);
    assert_long_nothing(237, "#~0123456789abcdeg", NAME_PARTITION);
    assert_long_nothing(236, "\xC3#~0123456789abcdef", NAME_PARTITION);
    assert_long_nothing(235, "#2#~0123456789abcdef", NAME_PARTITION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_written_as_the_design_says),
        cmocka_unit_test(other_names_mean_nothing),
        cmocka_unit_test(every_key_character_goes_there_and_back),
        cmocka_unit_test(prefixes_are_written_as_the_design_says),
        cmocka_unit_test(a_prefix_has_a_name_up_to_240_bytes),
        cmocka_unit_test(other_names_are_no_prefix),
        cmocka_unit_test(no_name_means_a_key_and_a_prefix),
        cmocka_unit_test(long_keys_are_cut_between_characters),
        cmocka_unit_test(a_short_name_is_not_cut),
        cmocka_unit_test(the_digest_is_of_the_whole_key),
        cmocka_unit_test(without_memory_a_name_is_not_judged),
        cmocka_unit_test(what_has_no_name_is_not_of_one),
        cmocka_unit_test(the_beginning_of_a_name_is_made_of_whole_characters),
        cmocka_unit_test(a_short_name_is_cut_at_whole_characters),
        cmocka_unit_test(an_unsettled_key_has_the_name_of_its_key),
        cmocka_unit_test(the_digits_of_a_cut_name_are_in_lower_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
