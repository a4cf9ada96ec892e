/* SPDX-License-Identifier: MIT */
#include "client/base/unicode.h"
#include "fs/tree/filter_name.h"
#include "fs/tree/place.h"
#include "tests/unit/unit.h"

#include <pthread.h>

static void child(const struct place *parent, const char *name, int expected, struct place *ret)
{
    int r = place_child(parent, bytes_of(name), ret);
    if (r != expected)
        fail_msg("%s: %d, not %d", name, r, expected);
}

static void paths_become_keys(void **state)
{
    (void)state;
    struct place root, table, partition, entity, none;
    assert_int_equal(place_root(NULL, DIRECTORY_FLAT, &root), 0);
    assert_int_equal(place_directory(&root).kind, DIRECTORY_TABLES);
    child(&root, "packages", 0, &table);
    struct directory directory = place_directory(&table);
    assert_int_equal(directory.kind, DIRECTORY_FLAT);
    assert_string_equal(directory.table, "packages");
    assert_bytes(directory.range.lo, B(""));
    assert_bytes(directory.range.hi, B("\xff"));
    child(&table, "a#2B", 0, &partition);
    directory = place_directory(&partition);
    assert_int_equal(directory.kind, DIRECTORY_ENTITIES);
    assert_bytes(directory.range.lo, B("a+\0"));
    assert_bytes(directory.range.hi, B("a+\x01"));
    child(&partition, "13.0.1.json", 0, &entity);
    assert_int_equal(entity.kind, PLACE_ENTITY);
    assert_string_equal(place_address(&entity).table, "packages");
    assert_bytes(place_address(&entity).position, B("a+\0"
                                                    "13.0.1"));
    child(&entity, "below", -ENOTDIR, &none);
    place_finish(&entity);
    place_finish(&partition);
    place_finish(&table);
    place_finish(&root);
}

static void names_that_are_never_there(void **state)
{
    (void)state;
    struct place root, table, partition, none;
    assert_int_equal(place_root(NULL, DIRECTORY_FLAT, &root), 0);
    static const char *const no_tables[] = {
        "a.b",
        "$batch",
        "a-b-c",
        "a.b",
        ".git",
        "tab\xC3\xA9lle",
        "a234567890123456789012345678901234567890123456789012345678901234"};
    for (size_t i = 0; i < ARRAY_SIZE(no_tables); i++)
        child(&root, no_tables[i], -ENOENT, &none);
    child(&root, "a23456789012345678901234567890123456789012345678901234567890123", 0, &table);
    place_finish(&table);
    child(&root, "table", 0, &table);
    child(&table, ".tablefuse", -ENOENT, &none); /* at the root alone */
    child(&table, "part", 0, &partition);
    child(&partition, "x.txt", -ENOENT, &none);
    char long_name[300];
    memset(long_name, 'x', sizeof(long_name));
    long_name[256] = '\0';
    child(&partition, long_name, -ENAMETOOLONG, &none);
    place_finish(&partition);
    place_finish(&table);
    place_finish(&root);
}

static void the_control_directory_is_at_the_root_even_of_a_table(void **state)
{
    (void)state;
    struct place root, control, file;
    assert_int_equal(place_root("packages", DIRECTORY_FLAT, &root), 0);
    assert_int_equal(place_directory(&root).kind, DIRECTORY_FLAT);
    child(&root, ".tablefuse", 0, &control);
    assert_int_equal(control.kind, PLACE_CONTROL_DIRECTORY);
    child(&control, "errors", 0, &file);
    assert_int_equal(file.control_file, CONTROL_ERRORS);
    child(&control, "nothing", -ENOENT, &file);
    place_finish(&root);
}

/* Follows a path below the root, as the kernel does; what it meets on the way is finished. */
static int follow(enum directory_kind layout, const char *path, struct place *ret)
{
    int r = place_root(NULL, layout, ret);
    while (r == 0 && *path) {
        struct place next;
        size_t size = strcspn(path, "/");
        r = place_child(ret, (struct bytes){path, size}, &next);
        place_finish(ret);
        if (r == 0)
            *ret = next;
        path += size + (path[size] == '/');
    }
    return r;
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
        int r = follow(layout, expected[i].path, &place);
        if (r < 0)
            fail_msg("%s: %d", expected[i].path, r);
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

static void assert_absent(enum directory_kind layout, const char *const *paths, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct place place;
        int r = follow(layout, paths[i], &place);
        if (r != -ENOENT)
            fail_msg("%s: %d", paths[i], r);
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
    assert_absent(DIRECTORY_AUTO, absent, ARRAY_SIZE(absent));
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
    assert_absent(DIRECTORY_AUTO, absent, ARRAY_SIZE(absent));
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
        {"table/.flat/p/2024+", DIRECTORY_ENTITIES,
         B("p\0"
           "2024"),
         B("p\0"
           "2025")},
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
        {"table/p/2024+", DIRECTORY_ENTITIES,
         B("p\0"
           "2024"),
         B("p\0"
           "2025")},
        {"table/.flat", DIRECTORY_FLAT, B(""), B("\xff")},
    };
    static const char *const absent_in_flat_layout[] = {"table/N+", "table/N+/Newton",
                                                        "table/.flat/.flat", "table/.flat/N+"};
    assert_directories(DIRECTORY_AUTO, below_a_level, ARRAY_SIZE(below_a_level));
    assert_absent(DIRECTORY_AUTO, absent_below_a_level, ARRAY_SIZE(absent_below_a_level));
    assert_directories(DIRECTORY_FLAT, in_flat_layout, ARRAY_SIZE(in_flat_layout));
    assert_absent(DIRECTORY_FLAT, absent_in_flat_layout, ARRAY_SIZE(absent_in_flat_layout));
}

/* The directory of the path: with the filter; or the errno. */
static void assert_filtered(const char *path, enum directory_kind kind, struct bytes lo,
                            struct bytes hi, const char *filter)
{
    struct place place;
    int r = follow(DIRECTORY_AUTO, path, &place);
    if (r < 0)
        fail_msg("%s: %d", path, r);
    struct directory directory = place_directory(&place);
    assert_int_equal(place.kind, PLACE_DIRECTORY);
    assert_int_equal(directory.kind, kind);
    assert_string_equal(directory.table, "table");
    assert_bytes(directory.range.lo, lo);
    assert_bytes(directory.range.hi, hi);
    assert_string_equal(directory.filter ? directory.filter : "none", filter);
    place_finish(&place);
}

static void a_filter_is_a_directory_with_another_listing(void **state)
{
    (void)state;
    struct bytes newton = B("Newton\0"), newton_end = B("Newton\x01");
    assert_filtered("table", DIRECTORY_AUTO, B(""), B("\xff"), "none");
    assert_filtered("table/.filter/A eq 1", DIRECTORY_FLAT, B(""), B("\xff"), "A eq 1");
    assert_filtered("table/.flat/.filter/A", DIRECTORY_FLAT, B(""), B("\xff"), "A");
    assert_filtered("table/N+/.filter/A", DIRECTORY_FLAT, B("N"), B("O"), "A");
    assert_filtered("table/.filter/A/Newton", DIRECTORY_ENTITIES, newton, newton_end, "A");
    assert_filtered("table/Newton/.filter/A", DIRECTORY_ENTITIES, newton, newton_end, "A");
    assert_filtered("table/.filter/A/Newton/.filter/B", DIRECTORY_ENTITIES, newton, newton_end,
                    "(A) and (B)");
    assert_filtered("table/.filter/A/.filter/B/.filter/C or D", DIRECTORY_FLAT, B(""), B("\xff"),
                    "((A) and (B)) and (C or D)");
    assert_filtered("table/.filter/A/p/1+", DIRECTORY_ENTITIES,
                    B("p\0"
                      "1"),
                    B("p\0"
                      "2"),
                    "A");
    assert_filtered("table/.filter/A eq 'a#2Fb#23#2F'", DIRECTORY_FLAT, B(""), B("\xff"),
                    "A eq 'a/b#/'");
    static const char *const absent[] = {".filter", "table/.filter/A/N+", "table/.filter/A/.flat",
                                         "table/N+/.filter/A/zlib"};
    assert_absent(DIRECTORY_AUTO, absent, ARRAY_SIZE(absent));
}

/* All directories below have a copy of the joined text. */
static void nested_filters_have_an_end(void **state)
{
    (void)state;
    char path[8192] = "table";
    struct place place;
    for (int i = 0; i < 9; i++) {
        size_t size = strlen(path);
        (void)snprintf(path + size, sizeof(path) - size, "/.filter/A eq '%0200d'", i);
        assert_int_equal(follow(DIRECTORY_AUTO, path, &place), 0);
        assert_true(strlen(place_directory(&place).filter) < FILTER_NAME_MAX_BYTES);
        place_finish(&place);
    }
    size_t size = strlen(path);
    (void)snprintf(path + size, sizeof(path) - size, "/.filter/A eq '%0200d'", 9);
    assert_int_equal(follow(DIRECTORY_AUTO, path, &place), -ENAMETOOLONG);
}

static void what_is_below_a_filter_is_what_its_key_says(void **state)
{
    (void)state;
    struct place filtered, plain, filters;
    assert_int_equal(follow(DIRECTORY_AUTO, "table/.filter/A/p/r.json", &filtered), 0);
    assert_int_equal(follow(DIRECTORY_AUTO, "table/p/r.json", &plain), 0);
    assert_int_equal(address_compare(place_address(&filtered), place_address(&plain)), 0);
    assert_int_equal(place_number(&filtered), place_number(&plain));
    place_finish(&filtered);
    place_finish(&plain);
    assert_int_equal(follow(DIRECTORY_AUTO, "table/p/.filter", &filters), 0);
    assert_int_equal(filters.kind, PLACE_FILTERS);
    assert_true(filters.is_given);
    place_finish(&filters);
}

/* Programs take two directories with one number for a loop. */
static void directories_of_filters_have_their_own_numbers(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "table/p",           "table/p/.filter", "table/p/.filter/A",          "table/p/.filter/B",
        "table/.filter/A/p", "table/.filter/A", "table/.filter/A/.filter/B/p"};
    uint64_t numbers[ARRAY_SIZE(paths)];
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        struct place place;
        assert_int_equal(follow(DIRECTORY_AUTO, paths[i], &place), 0);
        numbers[i] = place_number(&place);
        place_finish(&place);
        for (size_t k = 0; k < i; k++)
            assert_true(numbers[k] != numbers[i]);
    }
}

static void a_name_that_is_no_filter_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "table/.filter/A eq",     "table/.filter/(A",         "table/.filter/.x",
        "table/.filter/A eq '#'", "table/.filter/A eq '#2f'", "table/.filter/A/.filter/B)or(C"};
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        struct place place;
        int r = follow(DIRECTORY_AUTO, wrong[i], &place);
        if (r != -EINVAL)
            fail_msg("%s: %d", wrong[i], r);
    }
}

static void a_settled_directory_keeps_its_filter(void **state)
{
    (void)state;
    struct place place;
    struct settlement settlement = {"table", B("p"), B("q")};
    assert_int_equal(follow(DIRECTORY_AUTO, "table/.filter/A/p", &place), 0);
    assert_int_equal(place_settle(&place, &settlement), 0);
    assert_bytes(place_directory(&place).range.lo, B("q\0"));
    assert_string_equal(place_directory(&place).filter, "A");
    place_finish(&place);
}

static void row_keys_have_prefixes_too(void **state)
{
    (void)state;
    static const struct expected_directory expected[] = {
        {"table/p/2024-05+", DIRECTORY_ENTITIES,
         B("p\0"
           "2024-05"),
         B("p\0"
           "2024-06")},
        {"table/p/2024-05+/2024-05-1+", DIRECTORY_ENTITIES,
         B("p\0"
           "2024-05-1"),
         B("p\0"
           "2024-05-2")},
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
        {"table/p/2024-05+/2024-05-07.json", B("p\0"
                                               "2024-05-07")},
        {"table/p/2024-05+/2024-05.json", B("p\0"
                                            "2024-05")},
        {"table/p/2024-05+/2024-05-1+/2024-05-10.json", B("p\0"
                                                          "2024-05-10")},
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
        assert_absent((enum directory_kind)layout, absent, ARRAY_SIZE(absent));
        for (size_t i = 0; i < ARRAY_SIZE(entities); i++) {
            assert_int_equal(follow((enum directory_kind)layout, entities[i].path, &place), 0);
            assert_int_equal(place.kind, PLACE_ENTITY);
            assert_bytes(place_address(&place).position, entities[i].position);
            place_finish(&place);
        }
    }
}

/* The range that is looked through for a cut name; -ENOENT: nothing in the directory can have it.
 */
static void assert_cut_in(const char *directory, enum name_kind name_kind, struct bytes key,
                          enum directory_kind kind, struct bytes lo, struct bytes hi)
{
    struct place parent, cut, found;
    struct buffer name;
    buffer_init(&name, NAME_MAX_BYTES);
    assert_int_equal(follow(DIRECTORY_AUTO, directory, &parent), 0);
    assert_int_equal(names_encode(key, name_kind, &name), 0);
    assert_int_equal(place_child(&parent, buffer_bytes(&name), &cut), 0);
    assert_true(cut.is_cut);
    assert_int_equal(place_directory(&cut).kind, kind);
    assert_bytes(place_directory(&cut).range.lo, lo);
    assert_bytes(place_directory(&cut).range.hi, hi);
    assert_int_equal(place_of_key(&parent, key, &found), 0);
    struct bytes position = place_address(&found).position;
    assert_true(range_holds(place_directory(&cut).range, position));
    assert_bytes(name_kind == NAME_ENTITY ? position_row_key(position)
                                          : position_partition_key(position),
                 key);
    place_finish(&found);
    place_finish(&cut);
    place_finish(&parent);
    buffer_finish(&name);
}

static void assert_no_cut_in(const char *directory, enum name_kind kind, struct bytes key)
{
    struct place parent, none;
    struct buffer name;
    buffer_init(&name, NAME_MAX_BYTES);
    assert_int_equal(follow(DIRECTORY_AUTO, directory, &parent), 0);
    assert_int_equal(names_encode(key, kind, &name), 0);
    assert_int_equal(place_child(&parent, buffer_bytes(&name), &none), -ENOENT);
    place_finish(&parent);
    buffer_finish(&name);
}

static void a_cut_name_lies_in_both_ranges(void **state)
{
    (void)state;
    char key[512], hi[512], row_lo[2 + 512] = "p", row_hi[2 + 512] = "p";
    struct buffer deep;
    memset(key, 'k', sizeof(key));
    memset(hi, 'k', sizeof(hi));
    memset(row_lo + 2, 'k', 512);
    memset(row_hi + 2, 'k', 512);
    hi[236] = 'l';
    row_hi[2 + 231] = 'l';
    struct bytes long_key = {key, sizeof(key)};
    struct bytes cut_lo = {key, 237}, cut_hi = {hi, 237};
    assert_cut_in("table", NAME_PARTITION, long_key, DIRECTORY_FLAT, cut_lo, cut_hi);
    assert_cut_in("table/k+", NAME_PARTITION, long_key, DIRECTORY_FLAT, cut_lo, cut_hi);
    assert_cut_in("table/.flat", NAME_PARTITION, long_key, DIRECTORY_FLAT, cut_lo, cut_hi);
    assert_cut_in("table/k+/.flat", NAME_PARTITION, long_key, DIRECTORY_FLAT, cut_lo, cut_hi);
    assert_no_cut_in("table/j+", NAME_PARTITION, long_key);
    assert_no_cut_in("table/l+/.flat", NAME_PARTITION, long_key);
    assert_no_cut_in("table/kkl+", NAME_PARTITION, long_key);
    assert_cut_in("table/p", NAME_ENTITY, long_key, DIRECTORY_ENTITIES,
                  (struct bytes){row_lo, 2 + 232}, (struct bytes){row_hi, 2 + 232});
    assert_cut_in("table/p/kk+", NAME_ENTITY, long_key, DIRECTORY_ENTITIES,
                  (struct bytes){row_lo, 2 + 232}, (struct bytes){row_hi, 2 + 232});
    assert_no_cut_in("table/p/kkl+", NAME_ENTITY, long_key);
    /* a directory whose prefix is longer than what the cut name shows of the key */
    buffer_init(&deep, 512);
    (void)buffer_append_string(&deep, "table/");
    (void)buffer_append(&deep, bytes_first(long_key, 240));
    (void)buffer_append_string(&deep, "+");
    hi[236] = 'k';
    hi[239] = 'l';
    assert_cut_in(buffer_string(&deep), NAME_PARTITION, long_key, DIRECTORY_FLAT,
                  bytes_first(long_key, 240), (struct bytes){hi, 240});
    buffer_finish(&deep);
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
        assert_int_equal(follow(DIRECTORY_AUTO, cases[i].path, &place), 0);
        struct directory directory = place_directory(&place);
        assert_int_equal(place.is_given, cases[i].is_given);
        assert_int_equal(directory_is_table(&directory), cases[i].is_table);
        place_finish(&place);
    }
}

static void a_table_in_the_directory_drop(void **state)
{
    (void)state;
    struct place drop, table, none;
    assert_int_equal(follow(DIRECTORY_AUTO, ".tablefuse/drop", &drop), 0);
    assert_int_equal(drop.kind, PLACE_DROP_DIRECTORY);
    child(&drop, "packages!", 0, &table);
    assert_int_equal(table.kind, PLACE_DROPPED_TABLE);
    assert_string_equal(place_directory(&table).table, "packages");
    child(&table, "p", -ENOENT, &none);
    child(&drop, "packages", -ENOENT, &none);
    child(&drop, "packages!!", -ENOENT, &none);
    child(&drop, "!", -ENOENT, &none);
    child(&drop, "a b!", -ENOENT, &none);
    child(&drop, ".flat", -ENOENT, &none);
    place_finish(&table);
    place_finish(&drop);
}

static void assert_listed_prefix(const char *directory, struct bytes prefix, int expected)
{
    struct place parent, child;
    assert_int_equal(follow(DIRECTORY_AUTO, directory, &parent), 0);
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

/* Each beginning of the key that has a name leads to it, alone or below a shorter one. */
static void assert_every_path(struct bytes key, struct bytes lo)
{
    struct buffer deep, path;
    buffer_init(&deep, 4096);
    buffer_init(&path, 4096);
    (void)buffer_append_string(&deep, "table");
    for (size_t n = 0; n <= key.size; n++) {
        struct place place;
        if (prefix_is_showable(bytes_first(key, n))) {
            append_component(&deep, bytes_first(key, n), NAME_PREFIX);
            buffer_clear(&path);
            (void)buffer_append_string(&path, "table");
            append_component(&path, bytes_first(key, n), NAME_PREFIX);
        } else if (n > 0) {
            continue;
        } else {
            (void)buffer_append_string(&path, "table");
        }
        append_component(&path, key, NAME_PARTITION);
        assert_int_equal(follow(DIRECTORY_AUTO, buffer_string(&path), &place), 0);
        assert_bytes(place_directory(&place).range.lo, lo);
        place_finish(&place);
    }
    struct place place;
    append_component(&deep, key, NAME_PARTITION);
    assert_int_equal(follow(DIRECTORY_AUTO, buffer_string(&deep), &place), 0);
    assert_bytes(place_directory(&place).range.lo, lo);
    place_finish(&place);
    buffer_finish(&deep);
    buffer_finish(&path);
}

static void every_form_of_a_path_leads_to_the_key(void **state)
{
    (void)state;
    struct buffer key, lo;
    buffer_init(&key, 64);
    buffer_init(&lo, 64);
    for (int round = 0; round < 20000; round++) {
        random_key(&key);
        buffer_clear(&lo);
        assert_int_equal(position_append(&lo, buffer_bytes(&key), B("")), 0);
        assert_every_path(buffer_bytes(&key), buffer_bytes(&lo));
    }
    buffer_finish(&key);
    buffer_finish(&lo);
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
        child(&race.directories[i], "r.json", 0, &file);
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
        cmocka_unit_test(paths_become_keys),
        cmocka_unit_test(names_that_are_never_there),
        cmocka_unit_test(the_control_directory_is_at_the_root_even_of_a_table),
        cmocka_unit_test(a_table_in_the_directory_drop),
        cmocka_unit_test(a_level_has_prefixes_and_keys),
        cmocka_unit_test(a_prefix_ends_behind_all_that_starts_so),
        cmocka_unit_test(flat_lists_all_partitions),
        cmocka_unit_test(a_filter_is_a_directory_with_another_listing),
        cmocka_unit_test(nested_filters_have_an_end),
        cmocka_unit_test(what_is_below_a_filter_is_what_its_key_says),
        cmocka_unit_test(directories_of_filters_have_their_own_numbers),
        cmocka_unit_test(a_name_that_is_no_filter_is_refused),
        cmocka_unit_test(a_settled_directory_keeps_its_filter),
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
