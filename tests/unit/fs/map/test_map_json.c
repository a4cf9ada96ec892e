/* SPDX-License-Identifier: MIT */
/* The map as JSON, to the letter. */
#include "fs/map/json.h"
#include "tests/unit/fs/map/mapping.h"

static void assert_drawn(struct map_drawing drawing, const char *expected)
{
    assert_drawn_by(map_json_append, drawing, expected);
}

static void assert_drawn_of(const struct mapped *list, struct map_drawing drawing,
                            const char *expected)
{
    struct table_facts facts;
    struct survey *survey = mapped_facts(list, drawing.by_bytes, &facts);
    drawing.facts = &facts;
    assert_drawn(drawing, expected);
    survey_destroy(survey);
}

static const struct mapped packages[] = {
    {"Nexus", 200, 7}, {"NuGet", 100, 10}, {"a", 1, 0}, {"zlib", 119900, 3}, {0},
};

static void test_parts(void **state)
{
    (void)state;
    assert_drawn_of(
        packages, (struct map_drawing){0},
        "{\"table\":\"T\",\"directory\":\"\",\"entities\":120201,\"partitions\":4,\"rest\":{"
        "\"entities\":1,"
        "\"partitions\":1},\"parts\":[\n"
        "{\"path\":\"N+\",\"prefix\":\"N\",\"level\":1,\"entities\":300,\"partitions\":2},\n"
        "{\"path\":\"Nexus\",\"partition\":\"Nexus\",\"level\":2,\"entities\":200,\"partitions\":1}"
        ",\n"
        "{\"path\":\"NuGet\",\"partition\":\"NuGet\",\"level\":2,\"entities\":100,\"partitions\":1}"
        ",\n"
        "{\"path\":\"zlib\",\"partition\":\"zlib\",\"level\":1,\"entities\":119900,"
        "\"partitions\":1}],\n\"warnings\":[]}\n");
}

static void test_less_depth_and_bytes(void **state)
{
    (void)state;
    assert_drawn_of(packages, (struct map_drawing){.depth = 1, .by_bytes = true},
                    "{\"table\":\"T\",\"directory\":\"\",\"entities\":120201,\"partitions\":4,"
                    "\"bytes\":20,\"rest\":{"
                    "\"entities\":1,"
                    "\"partitions\":1,\"bytes\":0},\"parts\":[\n"
                    "{\"path\":\"N+\",\"prefix\":\"N\",\"level\":1,\"entities\":300,\"partitions\":"
                    "2,\"bytes\":17},\n"
                    "{\"path\":\"zlib\",\"partition\":\"zlib\",\"level\":1,\"entities\":119900,"
                    "\"partitions\":1,\"bytes\":3}],\n\"warnings\":[]}\n");
}

static void test_nothing(void **state)
{
    (void)state;
    assert_drawn_of(
        (const struct mapped[]){{0}}, (struct map_drawing){0},
        "{\"table\":\"T\",\"directory\":\"\",\"entities\":0,\"partitions\":0,\"parts\":[],\n"
        "\"warnings\":[]}\n");
}

static void test_hostile_keys(void **state)
{
    (void)state;
    assert_drawn_of(
        (const struct mapped[]){{"\x01\"\\", 3, 0},
                                {"x\xe2\x80\xae", 1, 0},
                                {"\xed\xa0\xbd", 1, 0},
                                {"\xed\xa0\xbd\xed\xb8\x80", 1, 0},
                                {0}},
        (struct map_drawing){0},
        "{\"table\":\"T\",\"directory\":\"\",\"entities\":6,\"partitions\":4,\"parts\":[\n"
        "{\"path\":\"#01\\\"\\\\\",\"partition\":\"\\u0001\\\"\\\\\",\"level\":1,\"entities\":3,"
        "\"partitions\":1},\n"
        "{\"path\":\"x\xe2\x80\xae\",\"partition\":\"x\xe2\x80\xae\",\"level\":1,\"entities\":1,"
        "\"partitions\":1},\n"
        "{\"path\":\"#ED#A0#BD\",\"partition\":\"\\ud83d\",\"level\":1,\"entities\":1,"
        "\"partitions\":1},\n"
        "{\"path\":\"\xf0\x9f\x98\x80\",\"partition\":\"\xf0\x9f\x98\x80\",\"level\":1,"
        "\"entities\":1,"
        "\"partitions\":1}],\n\"warnings\":[]}\n");
}

static void test_warnings(void **state)
{
    (void)state;
    const struct survey_node all = {.counts = {.entities = 9000, .partitions = 2000}};
    const struct table_facts facts = {
        .all = &all,
        .largest_key = B("a\"b"),
        .largest_entities = 8000,
        .single_partitions = 1900,
        .long_partition_keys = 1,
        .long_row_keys = 2,
        .growth = {KEY_GROWTH_COUNTER, 1999, B("k0001"), B("k1999")},
    };
    assert_drawn(
        (struct map_drawing){.facts = &facts},
        "{\"table\":\"T\",\"directory\":\"\",\"entities\":9000,\"partitions\":2000,\"parts\":[],"
        "\n\"warnings\":[\n"
        "{\"warning\":\"one_partition\",\"partition\":\"a\\\"b\",\"entities\":8000,\"text\":"
        "\"a\\\"b "
        "has 8,000 of 9,000 entities. A partition is on one server, which takes about 2,000 of its "
        "entities a second.\"},\n"
        "{\"warning\":\"growing_keys\",\"kind\":\"counter\",\"partitions\":1999,\"first\":"
        "\"k0001\","
        "\"last\":\"k1999\",\"text\":\"1,999 of 2,000 partition keys are a counter, from k0001 to "
        "k1999. If new entities get the next key, all of them go to one server.\"},\n"
        "{\"warning\":\"single_entities\",\"partitions\":1900,\"text\":\"1,900 of 2,000 partitions "
        "have one entity. A transaction is within one partition, so each change is a request of "
        "its "
        "own.\"},\n"
        "{\"warning\":\"long_keys\",\"partition_keys\":1,\"row_keys\":2,\"text\":\"Longer than 255 "
        "bytes: 1 partition key, 2 row keys (with .json). A mount cuts their names, which end in "
        "#~ and a "
        "checksum. The file has the key: see tree.md.\"}]}\n");
}

static void test_reversed_times(void **state)
{
    (void)state;
    const struct survey_node all = {.counts = {.entities = 20, .partitions = 20}};
    const struct table_facts facts = {
        .all = &all,
        .growth = {KEY_GROWTH_REVERSED_TIMES, 20, B("2519999999999999980"),
                   B("2519999999999999999")},
    };
    assert_drawn(
        (struct map_drawing){.facts = &facts},
        "{\"table\":\"T\",\"directory\":\"\",\"entities\":20,\"partitions\":20,\"parts\":[],\n"
        "\"warnings\":[\n"
        "{\"warning\":\"growing_keys\",\"kind\":\"reversed_times\",\"partitions\":20,\"first\":"
        "\"2519999999999999980\",\"last\":\"2519999999999999999\",\"text\":\"All 20 partition keys "
        "are "
        "times, newest first, from 2519999999999999980 to 2519999999999999999. If new entities get "
        "the first key, all of them go to one server.\"}]}\n");
}

static void test_a_directory(void **state)
{
    (void)state;
    struct table_facts facts;
    struct survey *survey =
        mapped_facts((const struct mapped[]){{"a\x01\"", 5000, 0}, {0}}, false, &facts);
    facts.largest_key = B("a\x01\"");
    facts.largest_entities = 5000;
    assert_drawn(
        (struct map_drawing){.directory = "a#01\"", .facts = &facts},
        "{\"table\":\"T\",\"directory\":\"a#01\\\"\",\"entities\":5000,\"partitions\":1,"
        "\"parts\":[\n{\"path\":\"a#01\\\"\",\"partition\":\"a\\u0001\\\"\",\"level\":1,"
        "\"entities\":5000,\"partitions\":1}],\n\"warnings\":[\n"
        "{\"warning\":\"one_partition\",\"partition\":\"a\\u0001\\\"\",\"entities\":5000,"
        "\"text\":\"a#01\\\" has all 5,000 entities. A partition is on one server, which takes "
        "about 2,000 of its entities a second.\"}]}\n");
    assert_drawn(
        (struct map_drawing){.directory = "a#01\"", .facts = &facts, .root = facts.all->children},
        "{\"table\":\"T\",\"directory\":\"a#01\\\"\",\"entities\":5000,\"partitions\":1,"
        "\"parts\":[],\n\"warnings\":[]}\n");
    survey_destroy(survey);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),       cmocka_unit_test(test_less_depth_and_bytes),
        cmocka_unit_test(test_nothing),     cmocka_unit_test(test_hostile_keys),
        cmocka_unit_test(test_warnings),    cmocka_unit_test(test_reversed_times),
        cmocka_unit_test(test_a_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
