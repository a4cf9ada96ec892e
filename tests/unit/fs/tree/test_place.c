/* SPDX-License-Identifier: MIT */
#include "client/base/unicode.h"
#include "tests/unit/fs/tree/place_fixture.h"

#include <pthread.h>

static void a_path_becomes_the_keys_of_an_entity(void **state)
{
    (void)state;
    struct place entity, none;
    follow_to(DIRECTORY_FLAT, "packages/a#2B/13.0.1.json", &entity);
    assert_int_equal(entity.kind, PLACE_ENTITY);
    assert_string_equal(place_address(&entity).table, "packages");
    assert_bytes(place_address(&entity).position, ROW_AT("a+", "13.0.1"));
    assert_int_equal(place_child(&entity, B("below"), &none), -ENOTDIR);
    place_finish(&entity);
}

static void names_that_are_never_there(void **state)
{
    (void)state;
    static const char *const absent[] = {
        "$batch",
        "a-b-c",
        "a.b",
        ".git",
        "tab\xC3\xA9lle",
        "a234567890123456789012345678901234567890123456789012345678901234",
        "table/.tablefuse", /* at the root alone */
        "table/part/x.txt",
        ".tablefuse/nothing"};
    char too_long[sizeof("table/part/") + NAME_MAX_BYTES + 1] = "table/part/";
    const char *const long_path = too_long;
    struct place table;
    assert_no_place(DIRECTORY_FLAT, -ENOENT, absent, ARRAY_SIZE(absent));
    memset(too_long + strlen(too_long), 'x', NAME_MAX_BYTES + 1);
    assert_no_place(DIRECTORY_FLAT, -ENAMETOOLONG, &long_path, 1);
    follow_to(DIRECTORY_FLAT, "a23456789012345678901234567890123456789012345678901234567890123",
              &table);
    place_finish(&table);
}

static void the_control_directory_is_at_the_root_even_of_a_table(void **state)
{
    (void)state;
    struct place root, control, file;
    assert_int_equal(place_root("packages", DIRECTORY_FLAT, &root), 0);
    assert_int_equal(place_directory(&root).kind, DIRECTORY_FLAT);
    assert_int_equal(place_child(&root, B(".tablefuse"), &control), 0);
    assert_int_equal(control.kind, PLACE_CONTROL_DIRECTORY);
    assert_int_equal(place_child(&control, B("errors"), &file), 0);
    assert_int_equal(file.control_file, CONTROL_ERRORS);
    place_finish(&root);
}

struct expected_directory {
    const char *path;
    enum directory_kind kind;
    struct bytes lo, hi;
};

static void assert_directories(enum directory_kind layout,
                               const struct expected_directory *expected, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct place place;
        follow_to(layout, expected[i].path, &place);
        struct directory directory = place_directory(&place);
        assert_int_equal(directory.kind, expected[i].kind);
        assert_string_equal(directory.table, "table");
        assert_bytes(directory.range.lo, expected[i].lo);
        assert_bytes(directory.range.hi, expected[i].hi);
        assert_true(range_is_expressible(directory.range));
        assert_false(place.is_cut);
        place_finish(&place);
    }
}

#define KEY_FFFF  "\xEF\xBF\xBF"             /* U+FFFF, the last character */
#define KEY_1F600 "\xED\xA0\xBD\xED\xB8\x80" /* a pair */
#define KEY_1F3FF "\xED\xA0\xBC\xED\xBF\xBF" /* the last pair that begins with D83C */

static void a_level_has_prefixes_and_keys(void **state)
{
    (void)state;
    static const struct expected_directory expected[] = {
        {"table", DIRECTORY_AUTO, B(""), B("\xff")},
        {"table/N+", DIRECTORY_AUTO, B("N"), B("O")},
        {"table/N+/Ne+", DIRECTORY_AUTO, B("Ne"), B("Nf")},
        {"table/Newt+", DIRECTORY_AUTO, B("Newt"), B("Newu")},
        {"table/Newton", DIRECTORY_ENTITIES, B("Newton\0"), B("Newton\x01")},
        {"table/N+/Newton", DIRECTORY_ENTITIES, B("Newton\0"), B("Newton\x01")},
        {"table/N+/Ne+/Newton", DIRECTORY_ENTITIES, B("Newton\0"), B("Newton\x01")},
        {"table/Newton+/Newton", DIRECTORY_ENTITIES, B("Newton\0"), B("Newton\x01")},
        {"table/#00", DIRECTORY_ENTITIES, B("\0"), B("\x01")},
        {"table/a#2B", DIRECTORY_ENTITIES, B("a+\0"), B("a+\x01")},
        {"table/a#2B+", DIRECTORY_AUTO, B("a+"), B("a,")},
        {"table/a+/a#2B+/a#2B", DIRECTORY_ENTITIES, B("a+\0"), B("a+\x01")},
        {"table/#2B+/#2B", DIRECTORY_ENTITIES, B("+\0"), B("+\x01")},
        {"table/#2E+", DIRECTORY_AUTO, B("."), B("0")}, /* no key holds a slash */
        {"table/#2E+/#2Enet+/#2Enet", DIRECTORY_ENTITIES, B(".net\0"), B(".net\x01")},
        {"table/x.json+", DIRECTORY_AUTO, B("x.json"), B("x.jsoo")},
    };
    static const char *const absent[] = {
        "table/N+/N+", /* not longer */
        "table/Ne+/N+",
        "table/N+/M+",
        "table/N+/O+",
        "table/N+/M",
        "table/N+/O",
        "table/N+/zlib",
        "table/Ne+/N",
        "table/N+/#00",
        "table/a#2B+/a",
        "table/a#2B+/a+",
        "table/a.+/a0",
        "table/#00+",
        "table/+",
        "table/a++",
        "table/#41+",
        "table/a#2F+",
        "table/.a+",
        "table/.flat+",
        "table/.hidden",
        "table/N+/.hidden",
        "table/N+/#4Eewton",
        "N+",
        "table/N+/.tablefuse",
    };
    assert_directories(DIRECTORY_AUTO, expected, ARRAY_SIZE(expected));
    assert_no_place(DIRECTORY_AUTO, -ENOENT, absent, ARRAY_SIZE(absent));
}

static void a_prefix_ends_behind_all_that_starts_so(void **state)
{
    (void)state;
    static const struct expected_directory expected[] = {
        {"table/b" KEY_FFFF "+", DIRECTORY_AUTO, B("b" KEY_FFFF), B("c")},
        {"table/b+/b" KEY_FFFF "+/b" KEY_FFFF, DIRECTORY_ENTITIES, B("b" KEY_FFFF "\0"),
         B("b" KEY_FFFF "\x01")},
        /* nothing comes after it: the parent's end */
        {"table/" KEY_FFFF "+", DIRECTORY_AUTO, B(KEY_FFFF), B("\xff")},
        {"table/" KEY_FFFF "+/" KEY_FFFF KEY_FFFF "+", DIRECTORY_AUTO, B(KEY_FFFF KEY_FFFF),
         B("\xff")},
        {"table/p/" KEY_FFFF "+", DIRECTORY_ENTITIES, B("p\0" KEY_FFFF), B("p\x01")},
        {"table/p/" KEY_FFFF "+/" KEY_FFFF KEY_FFFF "+", DIRECTORY_ENTITIES,
         B("p\0" KEY_FFFF KEY_FFFF), B("p\x01")},
        {"table/\xF0\x9F\x98\x80+", DIRECTORY_AUTO, B(KEY_1F600), B("\xED\xA0\xBD\xED\xB8\x81")},
        {"table/#ED#A0#BD+", DIRECTORY_AUTO, B("\xED\xA0\xBD"), B("\xED\xA0\xBE")},
        {"table/#ED#A0#BD+/\xF0\x9F\x98\x80+", DIRECTORY_AUTO, B(KEY_1F600),
         B("\xED\xA0\xBD\xED\xB8\x81")},
        {"table/#ED#A0#BD+/\xF0\x9F\x98\x80", DIRECTORY_ENTITIES, B(KEY_1F600 "\0"),
         B(KEY_1F600 "\x01")},
        /* the next pair begins with the next half, where the parent ends */
        {"table/\xF0\x9F\x8F\xBF+", DIRECTORY_AUTO, B(KEY_1F3FF), B("\xED\xA0\xBD\xED\xB0\x80")},
        {"table/#ED#A0#BC+/\xF0\x9F\x8F\xBF+", DIRECTORY_AUTO, B(KEY_1F3FF), B("\xED\xA0\xBD")},
        /* a service that takes what no key may hold: the range is the directory */
        {"table/a.+/a#2Fb", DIRECTORY_ENTITIES, B("a/b\0"), B("a/b\x01")},
    };
    static const char *const absent[] = {
        "table/b" KEY_FFFF "+/b",
        "table/b" KEY_FFFF "+/c",
        "table/" KEY_FFFF "+/\xF0\x9F\x98\x80",
        "table/\xF0\x9F\x98\x80+/#ED#A0#BD+",
        "table/\xF0\x9F\x98\x80+/#ED#A0#BD",
        "table/\xF0\x9F\x98\x80+/\xF0\x9F\x98\x81",
        "table/\xF0\x9F\x8F\xBF+/#ED#A0#BC\xEE\x80\x80z+", /* in its range, but not below it */
    };
    assert_directories(DIRECTORY_AUTO, expected, ARRAY_SIZE(expected));
    assert_no_place(DIRECTORY_AUTO, -ENOENT, absent, ARRAY_SIZE(absent));
}

static void flat_lists_all_partitions(void **state)
{
    (void)state;
    static const struct expected_directory below_a_level[] = {
        {"table/.flat", DIRECTORY_FLAT, B(""), B("\xff")},
        {"table/N+/.flat", DIRECTORY_FLAT, B("N"), B("O")},
        {"table/N+/Ne+/.flat", DIRECTORY_FLAT, B("Ne"), B("Nf")},
        {"table/.flat/zlib", DIRECTORY_ENTITIES, B("zlib\0"), B("zlib\x01")},
        {"table/N+/.flat/Newton", DIRECTORY_ENTITIES, B("Newton\0"), B("Newton\x01")},
        {"table/.flat/p/2024+", DIRECTORY_ENTITIES, ROW_AT("p", "2024"), ROW_AT("p", "2025")},
    };
    static const char *const absent_below_a_level[] = {".flat",
                                                       "table/.flat/.flat",
                                                       "table/N+/.flat/.flat",
                                                       "table/.flat/N+",
                                                       "table/p/.flat",
                                                       "table/N+/.flat/Ne+",
                                                       "table/N+/.flat/zlib",
                                                       "table/p/2024+/.flat",
                                                       "table/.flat/p/.flat"};
    static const struct expected_directory in_flat_layout[] = {
        {"table", DIRECTORY_FLAT, B(""), B("\xff")},
        {"table/p", DIRECTORY_ENTITIES, B("p\0"), B("p\x01")},
        {"table/p/2024+", DIRECTORY_ENTITIES, ROW_AT("p", "2024"), ROW_AT("p", "2025")},
        {"table/.flat", DIRECTORY_FLAT, B(""), B("\xff")},
    };
    static const char *const absent_in_flat_layout[] = {"table/N+", "table/N+/Newton",
                                                        "table/.flat/.flat", "table/.flat/N+"};
    assert_directories(DIRECTORY_AUTO, below_a_level, ARRAY_SIZE(below_a_level));
    assert_no_place(DIRECTORY_AUTO, -ENOENT, absent_below_a_level,
                    ARRAY_SIZE(absent_below_a_level));
    assert_directories(DIRECTORY_FLAT, in_flat_layout, ARRAY_SIZE(in_flat_layout));
    assert_no_place(DIRECTORY_FLAT, -ENOENT, absent_in_flat_layout,
                    ARRAY_SIZE(absent_in_flat_layout));
}

static void row_keys_have_prefixes_too(void **state)
{
    (void)state;
    static const struct expected_directory expected[] = {
        {"table/p/2024-05+", DIRECTORY_ENTITIES, ROW_AT("p", "2024-05"), ROW_AT("p", "2024-06")},
        {"table/p/2024-05+/2024-05-1+", DIRECTORY_ENTITIES, ROW_AT("p", "2024-05-1"),
         ROW_AT("p", "2024-05-2")},
        {"table/p/a.json+", DIRECTORY_ENTITIES, B("p\0a.json"), B("p\0a.jsoo")},
        {"table/p/#2Ejson+", DIRECTORY_ENTITIES, B("p\0.json"), B("p\0.jsoo")},
        {"table/p/a#2B+", DIRECTORY_ENTITIES, B("p\0a+"), B("p\0a,")},
        {"table/#00/a+", DIRECTORY_ENTITIES, B("\0a"), B("\0b")},
        {"table/p+/p#2B/a+", DIRECTORY_ENTITIES, B("p+\0a"), B("p+\0b")},
    };
    assert_directories(DIRECTORY_AUTO, expected, ARRAY_SIZE(expected));
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
        assert_true(range_is_in_partition((struct range){expected[i].lo, expected[i].hi}));
}

static void entities_lie_below_prefixes_of_their_row_key(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        struct bytes position;
    } entities[] = {
        {"table/p/2024-05+/2024-05-07.json", ROW_AT("p", "2024-05-07")},
        {"table/p/2024-05+/2024-05.json", ROW_AT("p", "2024-05")},
        {"table/p/2024-05+/2024-05-1+/2024-05-10.json", ROW_AT("p", "2024-05-10")},
        {"table/p/a+.json", B("p\0a+")},
        {"table/p/#00.json", B("p\0")},
        {"table/p/a.json+/a.json.json", B("p\0a.json")},
        {"table/p/a#2B+/a++.json", B("p\0a++")},
    };
    static const char *const absent[] = {
        "table/p/2024-05+/2024-06.json",
        "table/p/2024-05+/2024-0.json",
        "table/p/2024-05+/2024+",
        "table/p/2024-05+/2024-05+",
        "table/p/2024-05+/2024-06+",
        "table/p/2024-05+/2024-05-07",
        "table/p/2024-05+/#00.json",
        "table/p/+",
        "table/p/#00+",
        "table/p/a++",
        "table/p/.json+",
        "table/p/a.json+/a.json",
        "table/p/2024-05+/2024-05-07.json+/x.json",
    };
    for (int layout = DIRECTORY_AUTO; layout <= DIRECTORY_FLAT; layout++) {
        struct place place;
        assert_no_place((enum directory_kind)layout, -ENOENT, absent, ARRAY_SIZE(absent));
        for (size_t i = 0; i < ARRAY_SIZE(entities); i++) {
            follow_to((enum directory_kind)layout, entities[i].path, &place);
            assert_int_equal(place.kind, PLACE_ENTITY);
            assert_bytes(place_address(&place).position, entities[i].position);
            place_finish(&place);
        }
    }
}

/* Looks up the cut name of the key. */
static int cut_in(const char *directory, struct bytes key, struct place *ret_parent,
                  struct place *ret_cut)
{
    _cleanup_(buffer_finish) struct buffer name = {.max = NAME_MAX_BYTES};
    follow_to(DIRECTORY_AUTO, directory, ret_parent);
    bool is_row = place_lies_in_partition(ret_parent);
    assert_int_equal(names_encode(key, is_row ? NAME_ENTITY : NAME_PARTITION, &name), 0);
    int r = place_child(ret_parent, buffer_bytes(&name), ret_cut);
    return r;
}

/* The directory whose listing has the key. */
static void assert_cut_in(const char *directory, struct bytes key, struct range expected)
{
    struct place parent, cut, found;
    assert_int_equal(cut_in(directory, key, &parent, &cut), 0);
    bool is_row = place_lies_in_partition(&parent);
    assert_true(cut.is_cut);
    assert_int_equal(place_directory(&cut).kind, is_row ? DIRECTORY_ENTITIES : DIRECTORY_FLAT);
    assert_bytes(place_directory(&cut).range.lo, expected.lo);
    assert_bytes(place_directory(&cut).range.hi, expected.hi);
    assert_int_equal(place_of_key(&parent, key, &found), 0);
    struct bytes position = place_address(&found).position;
    assert_true(range_holds(expected, position));
    assert_bytes(is_row ? position_row_key(position) : position_partition_key(position), key);
    place_finish(&found);
    place_finish(&cut);
    place_finish(&parent);
}

/* Nothing in the directory can have the name. */
static void assert_no_cut_in(const char *directory, struct bytes key)
{
    struct place parent, none;
    assert_int_equal(cut_in(directory, key, &parent, &none), -ENOENT);
    place_finish(&parent);
}

static void a_cut_name_lies_in_both_ranges(void **state)
{
    (void)state;
    enum { SHOWN = 237, ROW_SHOWN = 2 + 232 }; /* what the names have of a key */
    char key[512], hi[512], row_lo[2 + 512] = "p", row_hi[2 + 512] = "p", deep[512];
    memset(key, 'k', sizeof(key));
    memset(hi, 'k', sizeof(hi));
    memset(row_lo + 2, 'k', 512);
    memset(row_hi + 2, 'k', 512);
    hi[SHOWN - 1] = row_hi[ROW_SHOWN - 1] = 'l';
    const struct bytes long_key = {key, sizeof(key)};
    const struct range shown = {{key, SHOWN}, {hi, SHOWN}},
                       row_shown = {{row_lo, ROW_SHOWN}, {row_hi, ROW_SHOWN}};
    assert_cut_in("table", long_key, shown);
    assert_cut_in("table/k+", long_key, shown);
    assert_cut_in("table/.flat", long_key, shown);
    assert_cut_in("table/k+/.flat", long_key, shown);
    assert_no_cut_in("table/j+", long_key);
    assert_no_cut_in("table/l+/.flat", long_key);
    assert_no_cut_in("table/kkl+", long_key);
    assert_cut_in("table/p", long_key, row_shown);
    assert_cut_in("table/p/kk+", long_key, row_shown);
    assert_no_cut_in("table/p/kkl+", long_key);
    /* a directory whose prefix is longer than what the cut name shows of the key */
    (void)snprintf(deep, sizeof(deep), "table/%.240s+", key);
    hi[SHOWN - 1] = 'k';
    hi[239] = 'l';
    assert_cut_in(deep, long_key, (struct range){{key, 240}, {hi, 240}});
}

static void what_is_there_without_a_question(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        bool is_given, is_table;
    } cases[] = {
        {"", false, false},
        {".tablefuse", true, false},
        {".tablefuse/stats", true, false},
        {".tablefuse/drop", true, false},
        {".tablefuse/drop/table!", false, true},
        {"table", false, true},
        {"table/.flat", true, true},
        {"table/N+", false, false},
        {"table/N+/.flat", true, false},
        {"table/p", false, false},
        {"table/.flat/p", false, false},
        {"table/#00", false, false},
        {"table/p/a+", false, false},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct place place;
        follow_to(DIRECTORY_AUTO, cases[i].path, &place);
        struct directory directory = place_directory(&place);
        assert_int_equal(place.is_given, cases[i].is_given);
        assert_int_equal(directory_is_table(&directory), cases[i].is_table);
        place_finish(&place);
    }
}

static void a_table_in_the_directory_drop(void **state)
{
    (void)state;
    static const char *const absent[] = {".tablefuse/drop/packages!/p", ".tablefuse/drop/packages",
                                         ".tablefuse/drop/packages!!",  ".tablefuse/drop/!",
                                         ".tablefuse/drop/a b!",        ".tablefuse/drop/.flat"};
    struct place drop, table;
    follow_to(DIRECTORY_AUTO, ".tablefuse/drop", &drop);
    assert_int_equal(drop.kind, PLACE_DROP_DIRECTORY);
    follow_to(DIRECTORY_AUTO, ".tablefuse/drop/packages!", &table);
    assert_int_equal(table.kind, PLACE_DROPPED_TABLE);
    assert_string_equal(place_directory(&table).table, "packages");
    assert_no_place(DIRECTORY_AUTO, -ENOENT, absent, ARRAY_SIZE(absent));
    place_finish(&table);
    place_finish(&drop);
}

static void assert_listed_prefix(const char *directory, struct bytes prefix, int expected)
{
    struct place parent, child;
    follow_to(DIRECTORY_AUTO, directory, &parent);
    assert_int_equal(place_of_prefix(&parent, prefix, &child), expected);
    if (expected == 0) {
        assert_int_equal(place_directory(&child).kind, place_directory(&parent).kind);
        place_finish(&child);
    }
    place_finish(&parent);
}

static void a_listed_prefix_is_longer_than_its_directory(void **state)
{
    (void)state;
    assert_listed_prefix("table", B("N"), 0);
    assert_listed_prefix("table/N+", B("Ne"), 0);
    assert_listed_prefix("table/N+", B("N"), -ENOENT);
    assert_listed_prefix("table/N+", B("O"), -ENOENT);
    assert_listed_prefix("table", B(""), -ENOENT);
    assert_listed_prefix("table/.flat", B("N"), -ENOENT);
    assert_listed_prefix("table/p", B("N"), 0);
    assert_listed_prefix("", B("N"), -ENOENT);
}

static uint32_t random_state = 7;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 1664525 + 1013904223;
    return (random_state >> 16) % n;
}

static void random_key(struct buffer *key)
{
    static const uint32_t characters[] = {'+',    '.',    'a',    'b',     0xE9,    0xD7FF,
                                          0xD83C, 0xD83D, 0xDC00, 0xDFFF,  0xE000,  0xFFFF,
                                          '/',    '#',    0x85,   0x1F600, 0x1F3FF, 0x10FFFF};
    buffer_clear(key);
    for (uint32_t left = random_below(5); left > 0; left--)
        (void)cesu8_append(key, characters[random_below(ARRAY_SIZE(characters))]);
}

static void append_component(struct buffer *path, struct bytes key, enum name_kind kind)
{
    (void)buffer_append_char(path, '/');
    assert_int_equal(names_encode(key, kind, path), 0);
}

static void assert_leads_to(const struct buffer *directory, struct bytes key, struct bytes lo)
{
    struct place place;
    _cleanup_(buffer_finish) struct buffer path = {.max = 4096};
    (void)buffer_append(&path, buffer_bytes(directory));
    append_component(&path, key, NAME_PARTITION);
    follow_to(DIRECTORY_AUTO, buffer_string(&path), &place);
    assert_bytes(place_directory(&place).range.lo, lo);
    place_finish(&place);
}

/* Each beginning of the key that has a name leads to it, alone or below a shorter one. */
static void assert_every_path(struct bytes key, struct bytes lo)
{
    _cleanup_(buffer_finish) struct buffer deep = {.max = 4096}, one = {.max = 4096};
    (void)buffer_append_string(&deep, "table");
    assert_leads_to(&deep, key, lo);
    for (size_t n = 0; n <= key.size; n++) {
        if (!prefix_is_showable(bytes_first(key, n)))
            continue;
        append_component(&deep, bytes_first(key, n), NAME_PREFIX);
        buffer_clear(&one);
        (void)buffer_append_string(&one, "table");
        append_component(&one, bytes_first(key, n), NAME_PREFIX);
        assert_leads_to(&one, key, lo);
    }
    assert_leads_to(&deep, key, lo);
}

static void every_form_of_a_path_leads_to_the_key(void **state)
{
    (void)state;
    _cleanup_(buffer_finish) struct buffer key = {.max = 64}, lo = {.max = 64};
    for (int round = 0; round < 20000; round++) {
        random_key(&key);
        buffer_clear(&lo);
        assert_int_equal(position_append(&lo, buffer_bytes(&key), B("")), 0);
        assert_every_path(buffer_bytes(&key), buffer_bytes(&lo));
    }
}

/* Of the unsettled places of a directory and of a file in it, each with views that stay valid. */
static void a_place_is_settled(void **state)
{
    (void)state;
    char name[NAME_MAX_BYTES + 1];
    memset(name, 'k', sizeof(name));
    memcpy(name + 237, "#~17b16d8ef494060f", sizeof("#~17b16d8ef494060f"));
    struct place table, cut, directory, file;
    assert_int_equal(place_root("table", DIRECTORY_AUTO, &table), 0);
    assert_int_equal(place_child(&table, bytes_of(name), &cut), 0);
    assert_int_equal(place_of_unsettled(&table, bytes_of(name), &cut, &directory), 0);
    assert_int_equal(place_child(&directory, B("r.json"), &file), 0);
    assert_true(place_is_unsettled(&directory) && place_is_unsettled(&file));
    struct range before = place_directory(&directory).range;
    struct bytes key = position_partition_key(before.lo);
    const struct settlement other = {"other", key, B("x")}, none = {"table", B("l"), B("x")},
                            settlement = {"table", key, B("key")};
    assert_int_equal(place_settle(&directory, &other), 0);
    assert_int_equal(place_settle(&directory, &none), 0);
    assert_true(place_is_unsettled(&directory));
    assert_int_equal(place_settle(&directory, &settlement), 0);
    assert_int_equal(place_settle(&file, &settlement), 0);
    assert_false(place_is_unsettled(&directory) || place_is_unsettled(&file));
    assert_bytes(place_directory(&directory).range.lo, B("key\0"));
    assert_bytes(place_directory(&directory).range.hi, B("key\1"));
    assert_string_equal(place_directory(&directory).table, "table");
    assert_bytes(place_address(&file).position, B("key\0r"));
    assert_true(position_is_unsettled(key) && range_holds(before, before.lo));
    place_finish(&file);
    place_finish(&directory);
    place_finish(&cut);
    place_finish(&table);
}

enum { RACED_PLACES = 20000 };

struct race {
    struct place *directories;
    const struct settlement *settlement;
    _Atomic int next; /* the place that both threads are at */
};

static void *settle_each(void *context)
{
    struct race *race = context;
    for (int i = 0; i < RACED_PLACES; i++) {
        while (race->next < i)
            continue;
        assert_int_equal(place_settle(&race->directories[i], race->settlement), 0);
    }
    return NULL;
}

/* The child has the key of before or that of after. */
static void a_child_is_of_one_state_of_its_parent(void **state)
{
    (void)state;
    static const struct settlement settlement = {"table",
                                                 B("u\xfe"
                                                   "0"),
                                                 B("key")};
    struct place table, file;
    struct race race = {.directories = calloc(RACED_PLACES, sizeof(struct place)),
                        .settlement = &settlement};
    pthread_t thread;
    assert_non_null(race.directories);
    assert_int_equal(place_root("table", DIRECTORY_AUTO, &table), 0);
    for (int i = 0; i < RACED_PLACES; i++)
        assert_int_equal(place_of_key(&table, settlement.from, &race.directories[i]), 0);
    assert_int_equal(pthread_create(&thread, NULL, settle_each, &race), 0);
    for (int i = 0; i < RACED_PLACES; i++) {
        race.next = i;
        assert_int_equal(place_child(&race.directories[i], B("r.json"), &file), 0);
        struct bytes key = position_partition_key(place_address(&file).position);
        assert_true(bytes_equal(key, settlement.from) || bytes_equal(key, settlement.to));
        place_finish(&file);
        struct range range = place_directory(&race.directories[i]).range;
        assert_true(bytes_equal(position_partition_key(range.lo), settlement.to) ==
                    bytes_equal(range.hi, B("key\1")));
    }
    (void)pthread_join(thread, NULL);
    for (int i = 0; i < RACED_PLACES; i++)
        place_finish(&race.directories[i]);
    free(race.directories);
    place_finish(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_becomes_the_keys_of_an_entity),
        cmocka_unit_test(names_that_are_never_there),
        cmocka_unit_test(the_control_directory_is_at_the_root_even_of_a_table),
        cmocka_unit_test(a_table_in_the_directory_drop),
        cmocka_unit_test(a_level_has_prefixes_and_keys),
        cmocka_unit_test(a_prefix_ends_behind_all_that_starts_so),
        cmocka_unit_test(flat_lists_all_partitions),
        cmocka_unit_test(row_keys_have_prefixes_too),
        cmocka_unit_test(entities_lie_below_prefixes_of_their_row_key),
        cmocka_unit_test(a_cut_name_lies_in_both_ranges),
        cmocka_unit_test(what_is_there_without_a_question),
        cmocka_unit_test(a_listed_prefix_is_longer_than_its_directory),
        cmocka_unit_test(every_form_of_a_path_leads_to_the_key),
        cmocka_unit_test(a_place_is_settled),
        cmocka_unit_test(a_child_is_of_one_state_of_its_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
