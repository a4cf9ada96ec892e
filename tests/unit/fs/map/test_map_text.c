/* SPDX-License-Identifier: MIT */
/* The tree with bars, to the letter. */
#include "fs/map/text.h"
#include "fs/map/warnings.h"
#include "tests/unit/fs/map/mapping.h"

static void assert_drawn(struct map_drawing drawing, const char *expected)
{
    struct bytes rest = bytes_of(expected);
    assert_drawn_by(map_text_append, drawing, expected);
    while (rest.size > 0 && drawing.columns > 0)
        assert_true(map_columns(bytes_take_until(&rest, '\n')) <= MAX(drawing.columns, 60));
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
    {"Newtonsoft.Json", 500, 1000},
    {"Nexus", 200, 900000},
    {"NuGet", 100, 10},
    {"a", 1, 1},
    {"abc", 3, 2},
    {"zlib", 1196, 3},
    {0},
};

static void test_a_tree(void **state)
{
    (void)state;
    assert_drawn_of(packages, (struct map_drawing){0},
                    "entities  partitions   share\n"
                    "   2,000           6  100.0%  ████████████  T/\n"
                    "   1,196           1   59.8%  ███████▏      ├─ zlib/\n"
                    "     800           3   40.0%  ████▊         ├─ N+/\n"
                    "     700           2   35.0%  ████▎         │  ├─ Ne+/\n"
                    "     500           1   25.0%  ███           │  │  ├─ Newtonsoft.Json/\n"
                    "     200           1   10.0%  █▎            │  │  └─ Nexus/\n"
                    "     100           1    5.0%  ▋             │  └─ NuGet/\n"
                    "       4           2    0.2%                └─ (the rest)\n");
}

static void test_less_depth(void **state)
{
    (void)state;
    assert_drawn_of(packages, (struct map_drawing){.depth = 1},
                    "entities  partitions   share\n"
                    "   2,000           6  100.0%  ████████████  T/\n"
                    "   1,196           1   59.8%  ███████▏      ├─ zlib/\n"
                    "     800           3   40.0%  ████▊         ├─ N+/\n"
                    "       4           2    0.2%                └─ (the rest)\n");
}

/* What has nearly all gives way to what is in it. */
static void test_bytes(void **state)
{
    (void)state;
    assert_drawn_of(packages, (struct map_drawing){.by_bytes = true},
                    "   bytes  entities  partitions   share\n"
                    "901.0 kB     2,000           6  100.0%  ████████████  T/\n"
                    "900.0 kB       200           1   99.9%  ████████████  ├─ Nexus/\n"
                    "  1.0 kB     1,800           5    0.1%                └─ (the rest)\n");
}

static void test_nothing(void **state)
{
    (void)state;
    assert_drawn_of((const struct mapped[]){{0}}, (struct map_drawing){0},
                    "entities  partitions   share\n"
                    "       0           0    0.0%                T/\n"
                    "\n"
                    "The table is empty.\n");
}

static void test_hostile_keys(void **state)
{
    (void)state;
    assert_drawn_of((const struct mapped[]){HOSTILE_KEYS, {0}}, (struct map_drawing){0},
                    "entities  partitions   share\n"
                    "     120           9  100.0%  ████████████  T/\n"
                    "      30           1   25.0%  ███           ├─ #01#1B[31m/\n"
                    "      20           1   16.7%  ██            ├─ <&\"'>/\n"
                    "      20           2   16.7%  ██            ├─ a+/\n"
                    "      10           1    8.3%  █             │  ├─ a#2B/\n"
                    "      10           1    8.3%  █             │  └─ a+b/\n"
                    "      20           1   16.7%  ██            ├─ \xef\xbf\xbe/\n"
                    "      10           1    8.3%  █             ├─ x?\?/\n"
                    "      10           1    8.3%  █             ├─ 日本/\n"
                    "      10           2    8.3%  █             └─ (the rest)\n");
}

static void test_names_that_are_too_long(void **state)
{
    (void)state;
    char narrow[300], wide[2 * 3 * 60 + 1] = "";
    memset(narrow, 'n', sizeof(narrow));
    narrow[100] = '\0';
    for (size_t i = 0; i < 180; i++)
        wide[i] = "\xe6\x97\xa5"[i % 3];
    memcpy(wide + 180, "xyz", 4);
    const struct mapped list[] = {{narrow, 2, 0}, {wide, 1, 0}, {0}};
    char whole[1000];
    (void)snprintf(whole, sizeof(whole),
                   "entities  partitions   share\n"
                   "       3           2  100.0%%  ████████████  T/\n"
                   "       2           1   66.7%%  ████████      ├─ %s/\n"
                   "       1           1   33.3%%  ████          └─ %s/\n",
                   narrow, wide);
    assert_drawn_of(list, (struct map_drawing){0}, whole);
    assert_drawn_of(list, (struct map_drawing){.columns = 1000}, whole);
    assert_drawn_of(list, (struct map_drawing){.columns = 1},
                    "entities  partitions   share\n"
                    "       3           2  100.0%  ████████████  T/\n"
                    "       2           1   66.7%  ████████      ├─ nnn…nnn/\n"
                    "       1           1   33.3%  ████          └─ 日…xyz/\n");
    assert_drawn_of(
        list, (struct map_drawing){.columns = 80},
        "entities  partitions   share\n"
        "       3           2  100.0%  ████████████  T/\n"
        "       2           1   66.7%  ████████      ├─ "
        "nnnnnnnnnnnnnnn…nnnnnnnnnnnnnnn/\n"
        "       1           1   33.3%  ████          └─ 日日日日日日日…日日日日日日xyz/\n");
}

static void test_warnings(void **state)
{
    (void)state;
    struct table_facts facts;
    struct survey *survey =
        mapped_facts((const struct mapped[]){{"2024-01-01", 9000, 0}, {"2024-01-02", 1000, 0}, {0}},
                     false, &facts);
    facts.largest_key = B("2024-01-01\x1b");
    facts.largest_entities = 9000;
    facts.growth =
        (struct key_growth_finding){KEY_GROWTH_TIMES, 2, B("2024-01-01"), B("2024-01-02")};
    facts.long_partition_keys = 1234;
    assert_drawn((struct map_drawing){.facts = &facts, .depth = 1, .columns = 80},
                 "entities  partitions   share\n"
                 "  10,000           2  100.0%  ████████████  T/\n"
                 "   9,000           1   90.0%  ██████████▊   ├─ 2024-01-01/\n"
                 "   1,000           1   10.0%  █▎            └─ 2024-01-02/\n"
                 "\n"
                 "2024-01-01#1B has 9,000 of 10,000 entities. A partition is on one server, which\n"
                 "takes about 2,000 of its entities a second.\n"
                 "\n"
                 "All 2 partition keys are times, from 2024-01-01 to 2024-01-02. If new entities\n"
                 "get the latest key, all of them go to one server.\n"
                 "\n"
                 "Longer than 255 bytes: 1,234 partition keys. A mount cuts their names, which\n"
                 "end in #~ and a checksum. The file has the key: see tree.md.\n");
    survey_destroy(survey);
}

static void test_a_partition(void **state)
{
    (void)state;
    struct table_facts facts;
    struct survey *survey =
        mapped_facts((const struct mapped[]){{"zlib", 3000, 0}, {0}}, false, &facts);
    facts.largest_key = B("zlib");
    facts.largest_entities = 3000;
    assert_drawn(
        (struct map_drawing){.directory = "zlib\x1b", .facts = &facts, .root = facts.all->children},
        "entities  partitions   share\n"
        "   3,000           1  100.0%  ████████████  T/zlib?/\n");
    assert_drawn((struct map_drawing){.facts = &facts},
                 "entities  partitions   share\n"
                 "   3,000           1  100.0%  ████████████  T/\n"
                 "   3,000           1  100.0%  ████████████  └─ zlib/\n"
                 "\n"
                 "zlib has all 3,000 entities. A partition is on one server, which takes about\n"
                 "2,000 of its entities a second.\n");
    survey_destroy(survey);
}

static void assert_warning(struct map_drawing drawing, enum map_warning warning,
                           struct bytes expected)
{
    _cleanup_(buffer_finish) struct buffer text = {.max = MAP_TEXT_MAX_BYTES};
    drawing.root = drawing.facts->all;
    assert_true(map_warning_is_given(&drawing, warning));
    assert_int_equal(map_warning_append(&drawing, warning, &text), 0);
    assert_bytes(buffer_bytes(&text), expected);
}

static void test_warnings_of_all_or_of_a_part(void **state)
{
    (void)state;
    const struct survey_node all = {.counts = {.entities = 4000, .partitions = 2000}};
    struct table_facts facts = {.all = &all, .single_partitions = 1000, .long_row_keys = 1};
    const struct map_drawing drawing = {.facts = &facts};
    assert_warning(drawing, MAP_WARNING_SINGLE,
                   B("1,000 of 2,000 partitions have one entity. A transaction is within one "
                     "partition, so each change is a request of its own."));
    facts.single_partitions = 2000;
    assert_warning(drawing, MAP_WARNING_SINGLE,
                   B("All 2,000 partitions have one entity. A transaction is within one "
                     "partition, so each change is a request of its own."));
    facts.growth = (struct key_growth_finding){KEY_GROWTH_REVERSED_TIMES, 1999, B("251"), B("252")};
    assert_warning(drawing, MAP_WARNING_GROWING_KEYS,
                   B("1,999 of 2,000 partition keys are times, newest first, from 251 to 252. If "
                     "new entities get the first key, all of them go to one server."));
    assert_warning(drawing, MAP_WARNING_LONG_KEYS,
                   B("Longer than 255 bytes: 1 row key (with .json). A mount cuts their names, "
                     "which end in #~ "
                     "and a checksum. The file has the key: see tree.md."));
}

static void test_a_long_key_in_a_sentence(void **state)
{
    (void)state;
    const struct survey_node all = {.counts = {.entities = 2000, .partitions = 2}};
    const struct table_facts facts = {
        .all = &all,
        .largest_key = B("01234567890123456789012345678901234567890123456789"),
        .largest_entities = 2000,
    };
    assert_warning((struct map_drawing){.facts = &facts}, MAP_WARNING_ONE_PARTITION,
                   B("01234567890123456789012345678901234567890123456789 has all 2,000 entities. A "
                     "partition is on one server, which takes about 2,000 of its entities a "
                     "second."));
    assert_warning((struct map_drawing){.facts = &facts, .columns = 80}, MAP_WARNING_ONE_PARTITION,
                   B("0123456789012345678…01234567890123456789 has all 2,000 entities. A "
                     "partition is on one server, which takes about 2,000 of its entities a "
                     "second."));
}

static void test_what_is_worth_a_warning(void **state)
{
    (void)state;
    struct survey_node all = {.counts = {.entities = 4000, .partitions = 2000}};
    struct table_facts facts = {.all = &all, .largest_entities = 2000, .single_partitions = 1000};
    const struct map_drawing drawing = {.facts = &facts, .root = &all};
    assert_true(map_warning_is_given(&drawing, MAP_WARNING_ONE_PARTITION));
    assert_true(map_warning_is_given(&drawing, MAP_WARNING_SINGLE));
    all.counts = (struct survey_counts){.entities = 4001, .partitions = 2001};
    assert_false(map_warning_is_given(&drawing, MAP_WARNING_ONE_PARTITION));
    assert_false(map_warning_is_given(&drawing, MAP_WARNING_SINGLE));
    all.counts = (struct survey_counts){.entities = 1999, .partitions = 999};
    facts.largest_entities = 1999;
    facts.single_partitions = 999;
    assert_false(map_warning_is_given(&drawing, MAP_WARNING_ONE_PARTITION));
    assert_false(map_warning_is_given(&drawing, MAP_WARNING_SINGLE));
    assert_false(map_warning_is_given(&drawing, MAP_WARNING_GROWING_KEYS));
    assert_false(map_warning_is_given(&drawing, MAP_WARNING_LONG_KEYS));
    facts.long_row_keys = 1;
    assert_true(map_warning_is_given(&drawing, MAP_WARNING_LONG_KEYS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_tree),
        cmocka_unit_test(test_less_depth),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_hostile_keys),
        cmocka_unit_test(test_names_that_are_too_long),
        cmocka_unit_test(test_warnings),
        cmocka_unit_test(test_a_partition),
        cmocka_unit_test(test_warnings_of_all_or_of_a_part),
        cmocka_unit_test(test_a_long_key_in_a_sentence),
        cmocka_unit_test(test_what_is_worth_a_warning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
