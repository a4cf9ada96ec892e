/* SPDX-License-Identifier: MIT */
#include "client/entity/entity_check.h"
#include "client/store/call.h"
#include "fs/tree/new_place.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/fs/tree/place_fixture.h"

enum made { FILE_MADE, DIRECTORY_MADE };

struct expected {
    const char *parent, *name;
    enum made made;
    struct bytes lo;
};

static void assert_made(enum directory_kind layout, const struct expected *expected, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct place parent, child, looked_up;
        const char *reason = NULL;
        bool is_directory = expected[i].made == DIRECTORY_MADE;
        follow_to(layout, expected[i].parent, &parent);
        struct bytes name = bytes_of(expected[i].name);
        enum new_kind kind = is_directory ? NEW_DIRECTORY : NEW_FILE;
        int r = new_place_child(&parent, name, kind, NULL, &child, &reason);
        if (r < 0)
            fail_msg("%s/%s: %d: %s", expected[i].parent, expected[i].name, r, reason);
        assert_int_equal(child.kind, is_directory ? PLACE_DIRECTORY : PLACE_ENTITY);
        assert_bytes(place_address(&child).position, expected[i].lo);
        /* what is created is what a lookup finds */
        assert_int_equal(place_child(&parent, name, &looked_up), 0);
        assert_true(place_number(&child) == place_number(&looked_up));
        place_finish(&looked_up);
        place_finish(&child);
        place_finish(&parent);
    }
}

static void tables_partitions_prefixes_and_entities_can_be_created(void **state)
{
    (void)state;
    static const struct expected both[] = {
        {"", "abc", DIRECTORY_MADE, B("")},
        {"", "A23456789012345678901234567890123456789012345678901234567890123", DIRECTORY_MADE,
         B("")},
        {"table", "p", DIRECTORY_MADE, B("p\0")},
        {"table", "#00", DIRECTORY_MADE, B("\0")},
        {"table", "#2Egit", DIRECTORY_MADE, B(".git\0")},
        {"table", "a#2B", DIRECTORY_MADE, B("a+\0")},
        {"table", "x.json", DIRECTORY_MADE, B("x.json\0")},
        {"table/.flat", "Newton", DIRECTORY_MADE, B("Newton\0")},
        {"table/p", "r.json", FILE_MADE, B("p\0r")},
        {"table/p", "#00.json", FILE_MADE, B("p\0")},
        {"table/p", "#2E.json", FILE_MADE, B("p\0.")},
        {"table/p", "a+.json", FILE_MADE, B("p\0a+")},
        {"table/p", "a.tmp.json", FILE_MADE, B("p\0a.tmp")},
        {"table/p/2024+", "2024-05.json", FILE_MADE, ROW_AT("p", "2024-05")},
        {"table/#00", "r.json", FILE_MADE, B("\0r")},
    };
    static const struct expected with_prefixes[] = {
        {"table", "N+", DIRECTORY_MADE, B("N")},
        {"table/N+", "Ne+", DIRECTORY_MADE, B("Ne")},
        {"table/N+", "Newton", DIRECTORY_MADE, B("Newton\0")},
        {"table/N+/.flat", "Newton", DIRECTORY_MADE, B("Newton\0")},
        {"table/N+/Newton", "r.json", FILE_MADE, B("Newton\0r")},
    };
    assert_made(DIRECTORY_AUTO, both, ARRAY_SIZE(both));
    assert_made(DIRECTORY_FLAT, both, ARRAY_SIZE(both));
    assert_made(DIRECTORY_AUTO, with_prefixes, ARRAY_SIZE(with_prefixes));
}

static void a_temporary_file_with_an_entitys_name_is_an_entity(void **state)
{
    (void)state;
    struct place parent, child;
    const char *reason = NULL;
    follow_to(DIRECTORY_AUTO, "table/p", &parent);
    struct bytes name = bytes_of("r.json");
    assert_int_equal(new_place_child(&parent, name, NEW_TEMPORARY_FILE, NULL, &child, &reason), 0);
    assert_int_equal(child.kind, PLACE_ENTITY);
    place_finish(&child);
    name = bytes_of("r+");
    assert_int_equal(new_place_child(&parent, name, NEW_TEMPORARY_FILE, NULL, &child, &reason),
                     -EINVAL);
    place_finish(&parent);
}

/* Of the partition of `parent`, where a scratch file is made. */
static void assert_scratch(const char *parent_path, const char *name, enum new_kind kind,
                           const char *globs, struct bytes position)
{
    struct place parent, child, looked_up;
    const char *reason = NULL;
    follow_to(DIRECTORY_AUTO, parent_path, &parent);
    assert_true(place_lies_in_partition(&parent));
    int r = new_place_child(&parent, bytes_of(name), kind, globs, &child, &reason);
    if (r < 0)
        fail_msg("%s/%s: %d: %s", parent_path, name, r, reason);
    assert_int_equal(child.kind, PLACE_SCRATCH);
    struct address directory = place_scratch_directory(&child);
    assert_string_equal(directory.table, "table");
    assert_bytes(directory.position, position);
    assert_int_equal(place_child(&parent, bytes_of(name), &looked_up), -ENOENT);
    place_finish(&child);
    place_finish(&parent);
}

static void in_partitions_scratch_files_can_be_created(void **state)
{
    (void)state;
    static const char *const parents[] = {"table/p", "table/p/2024+", "table/p+/p"};
    static const char *const names[] = {".r.json.swp", "r.json~", "4913", ".json", "r.tmp"};
    for (size_t i = 0; i < ARRAY_SIZE(parents); i++)
        for (size_t k = 0; k < ARRAY_SIZE(names); k++)
            assert_scratch(parents[i], names[k], NEW_FILE, NULL, B("p\0"));
    assert_scratch("table/#00", "r.part", NEW_FILE, "*.part", B("\0"));
    assert_scratch("table/p", "r.part", NEW_TEMPORARY_FILE, NULL, B("p\0"));
    assert_scratch("table/p/2024+", "r", NEW_TEMPORARY_FILE, NULL, B("p\0"));
}

struct refused {
    const char *parent, *name;
    enum made made;
    int error;
    const char *reason; /* a part of it */
};

static void assert_refused(enum directory_kind layout, const struct refused *refused, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct place parent, child = {0};
        const char *reason = "";
        follow_to(layout, refused[i].parent, &parent);
        int r = new_place_child(&parent, bytes_of(refused[i].name),
                                refused[i].made == DIRECTORY_MADE ? NEW_DIRECTORY : NEW_FILE, NULL,
                                &child, &reason);
        if (r != refused[i].error || !strstr(reason, refused[i].reason))
            fail_msg("%s/%s: %d: %s", refused[i].parent, refused[i].name, r, reason);
        assert_null(child.text);
        struct call call = {0}; /* the whole sentence fits */
        (void)call_fail(&call, r, "%s", reason);
        assert_string_equal(call.failure.message, reason);
        place_finish(&parent);
    }
}

static void directories_are_refused_with_the_rule(void **state)
{
    (void)state;
    static const struct refused both[] = {
        {"", "f.json", FILE_MADE, -EINVAL, "TABLE/PARTITION/ROWKEY.json"},
        {"table", "f.json", FILE_MADE, -EINVAL, "TABLE/PARTITION/ROWKEY.json"},
        {"table", ".f.swp", FILE_MADE, -EINVAL, "TABLE/PARTITION/ROWKEY.json"},
        {"table/.flat", "f.json", FILE_MADE, -EINVAL, "TABLE/PARTITION/ROWKEY.json"},
        {"", "ab", DIRECTORY_MADE, -EINVAL, "a letter and then 2 to 62 letters and digits"},
        {"", "1ab", DIRECTORY_MADE, -EINVAL, "a letter and then"},
        {"", "tables", DIRECTORY_MADE, -EINVAL, "the service reserves the name tables"},
        {"", "Tables", DIRECTORY_MADE, -EINVAL, "the service reserves the name tables"},
        {"", "a-b", DIRECTORY_MADE, -EINVAL, "a letter and then"},
        {"", "table.d", DIRECTORY_MADE, -EINVAL, "a letter and then"},
        {"", ".git", DIRECTORY_MADE, -EINVAL, "a letter and then"},
        {"", "t+", DIRECTORY_MADE, -EINVAL, "a letter and then"},
        {"", "$MetricsHourPrimaryTransactionsTable", DIRECTORY_MADE, -EINVAL, "a letter and"},
        {"", "tab\xC3\xA9lle", DIRECTORY_MADE, -EINVAL, "a letter and then"},
        {"", "a234567890123456789012345678901234567890123456789012345678901234", DIRECTORY_MADE,
         -EINVAL, "a letter and then"},
        {"", ".tablefuse", DIRECTORY_MADE, -EEXIST, "part of the mount"},
        {"table", ".flat", DIRECTORY_MADE, -EEXIST, "part of the mount"},
        {"table", ".git", DIRECTORY_MADE, -EINVAL, "#2E"},
        {"table/.flat", ".flat", DIRECTORY_MADE, -EINVAL, "#2E"},
        {"table", ".filter", DIRECTORY_MADE, -EEXIST, "part of the mount"},
        {"table/.filter", "A eq 1", DIRECTORY_MADE, -EPERM, "as soon as it is named"},
        {"table/.filter", "A eq 1", FILE_MADE, -EPERM, "as soon as it is named"},
        {"table/.filter/A", "p", DIRECTORY_MADE, -EPERM, "matches no filter"},
        {"table/.filter/A", "f.json", FILE_MADE, -EINVAL, "TABLE/PARTITION/ROWKEY.json"},
        {"table", "a?", DIRECTORY_MADE, -EINVAL, "/ \\ # ?"},
        {"table", "a\\b", DIRECTORY_MADE, -EINVAL, "/ \\ # ?"},
        {"table", "a#2Fb", DIRECTORY_MADE, -EINVAL, "/ \\ # ?"},
        {"table", "a#23b", DIRECTORY_MADE, -EINVAL, "/ \\ # ?"},
        {"table", "a#0Ab", DIRECTORY_MADE, -EINVAL, "control characters"},
        {"table", "a\nb", DIRECTORY_MADE, -EINVAL, "control characters"},
        {"table", "a#b", DIRECTORY_MADE, -EINVAL, "hex digits"},
        {"table", "#41", DIRECTORY_MADE, -EINVAL, "hex digits"},
        {"table", "a#2b", DIRECTORY_MADE, -EINVAL, "hex digits"},
        {"table", "a\xFF", DIRECTORY_MADE, -EINVAL, "UTF-8"},
        {"table", "\xED\xA0\xBD", DIRECTORY_MADE, -EINVAL, "UTF-8"},
    };
    assert_refused(DIRECTORY_AUTO, both, ARRAY_SIZE(both));
    assert_refused(DIRECTORY_FLAT, both, ARRAY_SIZE(both));
}

static void in_a_partition_names_are_refused_with_the_rule(void **state)
{
    (void)state;
    static const struct refused both[] = {
        {"table/p", "d", DIRECTORY_MADE, -EINVAL, "no directory can be made in it"},
        {"table/p", "x+", DIRECTORY_MADE, -EINVAL, "no directory can be made in it"},
        {"table/p", "r.json", DIRECTORY_MADE, -EINVAL, "no directory can be made in it"},
        {"table/p/2024+", "2024-05", DIRECTORY_MADE, -EINVAL, "no directory can be made in it"},
        {"table/p", "r", FILE_MADE, -EINVAL, "ends in .json"},
        {"table/p", "r.JSON", FILE_MADE, -EINVAL, "ends in .json"},
        {"table/p", "r.txt", FILE_MADE, -EINVAL, "-o scratch=GLOB"},
        {"table/p", "x+", FILE_MADE, -EINVAL, "ends in .json"},
        {"table/p", "r.json+", FILE_MADE, -EINVAL, "ends in .json"},
        {"table/p", "a?.json", FILE_MADE, -EINVAL, "/ \\ # ?"},
        {"table/p", "a#2Fb.json", FILE_MADE, -EINVAL, "/ \\ # ?"},
        {"table/p", "#41.json", FILE_MADE, -EINVAL, "hex digits"},
        {"table/p", "a\xC0\x80.json", FILE_MADE, -EINVAL, "UTF-8"},
        {"table/p/2024+", "2023.json", FILE_MADE, -EINVAL, "begins with its prefix"},
        {"table/p/2024+", "#00.json", FILE_MADE, -EINVAL, "begins with its prefix"},
        {"table/p/r.json", "x", FILE_MADE, -ENOTDIR, "holds no names"},
        {".tablefuse", "x", FILE_MADE, -EINVAL, ".tablefuse"},
        {".tablefuse", "x", DIRECTORY_MADE, -EINVAL, ".tablefuse"},
    };
    assert_refused(DIRECTORY_AUTO, both, ARRAY_SIZE(both));
    assert_refused(DIRECTORY_FLAT, both, ARRAY_SIZE(both));
}

static void around_prefixes_names_are_refused_with_the_rule(void **state)
{
    (void)state;
    static const struct refused with_prefixes[] = {
        {"table/N+", "Xyz", DIRECTORY_MADE, -EINVAL, "begins with its prefix"},
        {"table/N+", "#00", DIRECTORY_MADE, -EINVAL, "begins with its prefix"},
        {"table/N+/.flat", "Xyz", DIRECTORY_MADE, -EINVAL, "begins with its prefix"},
        {"table/N+", "N+", DIRECTORY_MADE, -EINVAL, "longer prefixes"},
        {"table/N+", "M+", DIRECTORY_MADE, -EINVAL, "longer prefixes"},
        {"table/N+", "f.json", FILE_MADE, -EINVAL, "TABLE/PARTITION/ROWKEY.json"},
        {"table", "+", DIRECTORY_MADE, -EINVAL, "1 to 240 bytes"},
        {"table", "a?+", DIRECTORY_MADE, -EINVAL, "/ \\ # ?"},
        {"table", "a#2F+", DIRECTORY_MADE, -EINVAL, "hex digits"},
        {"table/.flat", "N+", DIRECTORY_MADE, -EINVAL, "#2B"},
    };
    static const struct refused flat[] = {
        {"table", "N+", DIRECTORY_MADE, -EINVAL, "#2B"},
    };
    assert_refused(DIRECTORY_AUTO, with_prefixes, ARRAY_SIZE(with_prefixes));
    assert_refused(DIRECTORY_FLAT, flat, ARRAY_SIZE(flat));
}

/* n times k, and what stands after. */
static const char *long_name(char ret[300], int n, const char *behind)
{
    memset(ret, 'k', (size_t)n);
    memcpy(ret + n, behind, strlen(behind) + 1);
    return ret;
}

static void a_cut_name_makes_what_has_an_unsettled_key(void **state)
{
    (void)state;
    char name[300], key[300];
    long_name(name, 237, "#~17b16d8ef494060f");
    long_name(key, 237, KEY_UNSETTLED "17b16d8ef494060f");
    struct place parent, child;
    const char *reason = NULL;
    follow_to(DIRECTORY_AUTO, "table", &parent);
    assert_int_equal(new_place_child(&parent, bytes_of(name), NEW_DIRECTORY, NULL, &child, &reason),
                     0);
    assert_true(place_is_unsettled(&child) && !child.is_cut);
    assert_bytes(place_address(&child).position, (struct bytes){key, strlen(key) + 1});
    assert_int_equal(child.kind, PLACE_DIRECTORY);
    assert_int_equal(child.directory_kind, DIRECTORY_ENTITIES);
    place_finish(&parent);
    parent = child;
    long_name(name, 232, "#~17b16d8ef494060f.json");
    assert_int_equal(new_place_child(&parent, bytes_of(name), NEW_FILE, NULL, &child, &reason), 0);
    assert_int_equal(child.kind, PLACE_ENTITY);
    assert_bytes(position_partition_key(place_address(&child).position), bytes_of(key));
    long_name(key, 232, KEY_UNSETTLED "17b16d8ef494060f");
    assert_bytes(position_row_key(place_address(&child).position), bytes_of(key));
    place_finish(&child);
    place_finish(&parent);
}

static void long_names_are_refused(void **state)
{
    (void)state;
    char name[300], upper[300], other[300], slash[300];
    const struct refused cut[] = {
        {"table/p", long_name(upper, 232, "#~17B16D8EF494060F.json"), FILE_MADE, -EINVAL, "hex"},
        {"table/p", long_name(other, 229, "#41#~17b16d8ef494060f.json"), FILE_MADE, -EINVAL, "hex"},
        {"table/p", long_name(slash, 229, "#2F#~17b16d8ef494060f.json"), FILE_MADE, -EINVAL,
         "/ \\ # ?"},
        {"table/p/l+", long_name(name, 232, "#~17b16d8ef494060f.json"), FILE_MADE, -EINVAL,
         "begins with its prefix"}};
    assert_refused(DIRECTORY_AUTO, cut, ARRAY_SIZE(cut));
    assert_refused(DIRECTORY_FLAT, cut, ARRAY_SIZE(cut));
    memset(name, 'k', sizeof(name));
    name[256] = '\0';
    const struct refused too_long[] = {{"table", name, DIRECTORY_MADE, -ENAMETOOLONG, "255 bytes"},
                                       {"table/p", name, FILE_MADE, -ENAMETOOLONG, "255 bytes"}};
    assert_refused(DIRECTORY_AUTO, too_long, ARRAY_SIZE(too_long));
    name[255] = '\0'; /* the longest name that can be created */
    const struct expected longest[] = {
        {"table", name, DIRECTORY_MADE, {name, 256}}}; /* the NUL ends the PartitionKey */
    assert_made(DIRECTORY_AUTO, longest, 1);
    memcpy(name + 241, "+", 2);
    const struct refused prefix[] = {{"table", name, DIRECTORY_MADE, -EINVAL, "1 to 240 bytes"}};
    assert_refused(DIRECTORY_AUTO, prefix, 1);
}

/* What can be created, the service takes as a key. Random bytes are mostly refused, so they are
 * made of the characters that the rules are about. */
static void no_name_becomes_a_key_that_a_service_refuses(void **state)
{
    (void)state;
    static const char *const parts[] = {"a", "#",  "2F", "#2E",   "#00",      "?", "\\",   "+",
                                        ".", "\n", "~",  ".json", "\xC3\xA9", "%", "\xFF", "'"};
    const char *const parents[] = {"table", "table/a+", "table/p", "table/p/a+"};
    uint64_t random = 1;
    size_t made = 0;
    for (int i = 0; i < 200000; i++) {
        char name[64] = "";
        size_t size = 0;
        for (uint64_t n = random >> 40 & 7; n > 0; n--) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            const char *part = parts[random >> 60];
            memcpy(name + size, part, strlen(part));
            size += strlen(part);
        }
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        bool is_file = random >> 62 >= 2;
        struct place parent, child;
        const char *reason = NULL;
        follow_to(DIRECTORY_AUTO, parents[random >> 62], &parent);
        enum new_kind kind = is_file ? NEW_FILE : NEW_DIRECTORY;
        if (new_place_child(&parent, (struct bytes){name, size}, kind, NULL, &child, &reason) ==
            0) {
            struct entity_refusal refusal;
            struct bytes position = place_address(&child).position;
            assert_int_equal(entity_check_key(position_partition_key(position), &refusal), 0);
            assert_int_equal(entity_check_key(position_row_key(position), &refusal), 0);
            place_finish(&child);
            made++;
        } else {
            assert_true(reason && strlen(reason) > 10);
        }
        place_finish(&parent);
    }
    assert_true(made > 1000);
}

static void without_memory_no_name_is_refused_for_good(void **state)
{
    (void)state;
    char cut[300];
    long_name(cut, 237, "#~17b16d8ef494060f");
    const struct {
        const char *parent, *name;
        enum new_kind kind;
        int error;
    } cases[] = {{"table", cut, NEW_DIRECTORY, 0},
                 {"table", "p", NEW_DIRECTORY, 0},
                 {"table", "N+", NEW_DIRECTORY, 0},
                 {"table/p", "r.json", NEW_FILE, 0},
                 {"table/p/a+", "r~", NEW_FILE, 0},
                 {"table/p/a+", "r", NEW_TEMPORARY_FILE, 0},
                 {"table/p/a+", "b.json", NEW_FILE, -EINVAL},
                 {"table", "#41", NEW_DIRECTORY, -EINVAL}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct place parent, child = {0};
        follow_to(DIRECTORY_AUTO, cases[i].parent, &parent);
        bool is_reached = true;
        for (long n = 1; is_reached; n++) {
            const char *reason = NULL;
            allocations_until_failure = n;
            int r = new_place_child(&parent, bytes_of(cases[i].name), cases[i].kind, NULL, &child,
                                    &reason);
            is_reached = allocations_until_failure == 0;
            allocations_until_failure = 0;
            assert_int_equal(r, is_reached ? -ENOMEM : cases[i].error);
            if (r == -ENOMEM)
                assert_string_equal(reason, "out of memory");
        }
        place_finish(&child);
        place_finish(&parent);
    }
}

static void in_partitions_directories_of_scratch_files_can_be_created(void **state)
{
    (void)state;
    static const char *const names[] = {"r.json", ".x", "r+", "a?b", "2024", "r"};
    struct place parent, made, child;
    const char *reason = NULL;
    follow_to(DIRECTORY_AUTO, "table/p/2024+", &parent);
    struct bytes name = B(".~tmp~");
    assert_int_equal(new_place_child(&parent, name, NEW_DIRECTORY, NULL, &made, &reason), 0);
    assert_int_equal(made.kind, PLACE_SCRATCH_DIRECTORY);
    assert_true(place_holds_scratch(&made) && !place_lies_in_partition(&made));
    assert_bytes(place_scratch_directory(&made).position, B("p\0.~tmp~"));
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        name = bytes_of(names[i]);
        assert_int_equal(place_child(&made, name, &child), -ENOENT);
        assert_int_equal(new_place_child(&made, name, NEW_FILE, NULL, &child, &reason), 0);
        assert_int_equal(child.kind, PLACE_SCRATCH);
        assert_bytes(place_scratch_directory(&child).position, B("p\0.~tmp~"));
        place_finish(&child);
        assert_int_equal(new_place_child(&made, name, NEW_DIRECTORY, NULL, &child, &reason),
                         -EINVAL);
    }
    char longest[NAME_MAX_BYTES + 2];
    memset(longest, '.', NAME_MAX_BYTES + 1);
    name = (struct bytes){longest, NAME_MAX_BYTES + 1};
    assert_int_equal(new_place_child(&made, name, NEW_FILE, NULL, &child, &reason), -ENAMETOOLONG);
    assert_int_equal(new_place_child(&parent, name, NEW_DIRECTORY, NULL, &child, &reason),
                     -ENAMETOOLONG);
    place_finish(&made);
    place_finish(&parent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_partitions_prefixes_and_entities_can_be_created),
        cmocka_unit_test(in_partitions_scratch_files_can_be_created),
        cmocka_unit_test(in_partitions_directories_of_scratch_files_can_be_created),
        cmocka_unit_test(a_temporary_file_with_an_entitys_name_is_an_entity),
        cmocka_unit_test(directories_are_refused_with_the_rule),
        cmocka_unit_test(in_a_partition_names_are_refused_with_the_rule),
        cmocka_unit_test(around_prefixes_names_are_refused_with_the_rule),
        cmocka_unit_test(a_cut_name_makes_what_has_an_unsettled_key),
        cmocka_unit_test(long_names_are_refused),
        cmocka_unit_test(no_name_becomes_a_key_that_a_service_refuses),
        cmocka_unit_test(without_memory_no_name_is_refused_for_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
