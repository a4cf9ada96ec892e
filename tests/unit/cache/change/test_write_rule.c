/* SPDX-License-Identifier: MIT */
#include "cache/change/write_rule.h"
#include "tests/unit/unit.h"

/* A set of facts is a number of these bits. Each ETag is named by its letter. */
enum { READ = 1, SNAPSHOT = 2, MASKED = 4, LAST_STORED = 8, ALL_FACTS = 16 };

static struct write_facts facts_of(enum edit_begin begin, unsigned known)
{
    return (struct write_facts){.begin = begin,
                                .read = bytes_of(known & READ ? "R" : ""),
                                .snapshot = bytes_of(known & SNAPSHOT ? "S" : ""),
                                .masked = bytes_of(known & MASKED ? "B" : ""),
                                .last_stored = bytes_of(known & LAST_STORED ? "L" : "")};
}

/* As the table: "insert", "upsert", "replace X". */
static void assert_rule(const struct write_facts *facts, const char *expected)
{
    static const char *const names[] = {
        [WRITE_INSERT] = "insert",
        [WRITE_REPLACE] = "replace ",
        [WRITE_MERGE] = "merge",
        [WRITE_UPSERT_REPLACE] = "upsert",
        [WRITE_UPSERT_MERGE] = "upsert merge",
        [WRITE_DELETE] = "delete",
    };
    struct write_rule rule = write_rule_choose(facts);
    char shown[40];
    (void)snprintf(shown, sizeof(shown), "%s%.*s", names[rule.kind], (int)rule.if_match.size,
                   rule.if_match.size > 0 ? rule.if_match.data : "");
    assert_string_equal(shown, expected);
}

/* In the order of the bits: nothing, R, S, RS, B, RB, SB, RSB; then the same with L. */
static const char *const rules[][8] = {
    [EDIT_NEW] = {"upsert", "upsert", "upsert", "upsert", "replace B", "replace B", "replace B",
                  "replace B"},
    [EDIT_EXCLUSIVE] = {"insert", "insert", "insert", "insert", "replace B", "replace B",
                        "replace B", "replace B"},
    [EDIT_OVER] = {"upsert", "replace R", "upsert", "replace R", "replace B", "replace B",
                   "replace B", "replace B"},
    [EDIT_CHANGED] = {"replace *", "replace *", "replace S", "replace S", "replace *", "replace *",
                      "replace S", "replace S"},
    [EDIT_APPENDED] = {"insert", "insert", "insert", "insert", "replace B", "replace B",
                       "replace B", "replace B"},
};

static void every_cell_of_the_table_is_so(void **state)
{
    (void)state;
    for (enum edit_begin begin = EDIT_NEW; begin <= EDIT_APPENDED; begin++) {
        for (unsigned known = 0; known < ALL_FACTS; known++) {
            struct write_facts facts = facts_of(begin, known);
            assert_rule(&facts, known & LAST_STORED ? "replace L" : rules[begin][known]);
        }
    }
}

/* A Replace alone has a version to lose. */
static void with_conflict_overwrite_every_replace_is_an_upsert(void **state)
{
    (void)state;
    for (enum edit_begin begin = EDIT_NEW; begin <= EDIT_APPENDED; begin++) {
        for (unsigned known = 0; known < ALL_FACTS; known++) {
            struct write_facts facts = facts_of(begin, known);
            struct write_rule careful = write_rule_choose(&facts);
            facts.overwrites_conflicts = true;
            struct write_rule rule = write_rule_choose(&facts);
            bool is_replace = careful.kind == WRITE_REPLACE;
            assert_int_equal(rule.kind, is_replace ? WRITE_UPSERT_REPLACE : careful.kind);
            assert_bytes(rule.if_match, is_replace ? B("") : careful.if_match);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell_of_the_table_is_so),
        cmocka_unit_test(with_conflict_overwrite_every_replace_is_an_upsert),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
