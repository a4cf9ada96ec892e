/* SPDX-License-Identifier: MIT */
#include "fs/tree/scratch_name.h"
#include "tests/unit/unit.h"

struct row {
    const char *name;
    bool is_scratch, is_passing;
};

static const struct row table[] = {
    /* editors */
    {".f.json.swp", true, true},
    {".f.json.swo", true, true},
    {".f.json.swx", true, true},
    {".f.json.swpx", true, true},
    {".f.swp", true, true},
    {"f.json~", true, false},
    {"f.json.~1~", true, false},
    {"4913", true, true},
    {"5036", true, false},
    {".DS_Store", true, true},
    {"._f.json", true, true},
    {".nfs0001", true, true},
    {".fuse_hidden0001", true, true},
    {".#f.json", true, true},
    {".~lock.f.csv#", true, true},
    {".nf", true, false},
    {"0", true, false},
    {"#f.json#", true, false},
    {"f.json___jb_tmp___", true, false},
    {"f.json___jb_old___", true, false},
    {".goutputstream-AB12CD", true, false},
    /* rsync, sed, perl, patch, python, mktemp */
    {".f.json.AbC123", true, true},
    {".f.json.AbC12", true, false},
    {".f.json.AbC-23", true, false},
    {".notes.backup", true, false},
    {"sedAbC123", true, false},
    {"sedAbC12", false, false},
    {"sedAbC1234", false, false},
    {"XXAbC123", true, false},
    {"f.json.oAbC123", true, false},
    {"f.oAbC12", false, false},
    {"f.json.rAbC123", true, false},
    {"f.rAbC12", false, false},
    {"tmpAbC123", true, false}, /* of emacs with file-precious-flag */
    {"tmpabcd1234", true, false},
    {"tmpabcd123", false, false},
    {"tmp.AbC", true, false},
    {"tmp.", true, false},
    /* backups and scripts */
    {"f.json.bak", true, false},
    {"f.json.orig", true, false},
    {"f.json.rej", true, false},
    {"f.json.tmp", true, false},
    {"f.json.tmp2", true, false},
    {"f.json.tmp-a-1", true, false},
    {"f.json.new", true, false},
    {"f.json.lock", true, false},
    {"f.new", false, false},
    {"f.lock", false, false},
    {"f.json.1", true, false},
    {"f.json.2026-11-22", true, false},
    {"f.json.x1", false, false},
    {"f.json.AbC123", true, false}, /* of mktemp f.json.XXXXXX */
    {"f.json.AbC12", false, false},
    {"f.json.AbC1234", false, false},
    {"f.json.AbC123+", false, false},
    {"f.txt.AbC123", false, false},
    {"f.json.a.json", false, false},
    {".", true, false},
    {".json", true, false},
    {".f.json", true, false},
    {".git", true, false},
    {".a+", true, false},
    {"\xC3\xA9\xFF.tmp", true, false},
    /* always an entity's, or a prefix's */
    {"f.json", false, false},
    {"4913.json", false, false},
    {"f~.json", false, false},
    {"tmp.f.json", false, false},
    {"#f#.json", false, false},
    {"f.json+", false, false},
    {"tmp.a+", false, false},
    {"tmpabcd123+", false, false},
    /* nothing's */
    {"", false, false},
    {"f", false, false},
    {"f.txt", false, false},
    {"f.JSON", false, false},
    {"4913x", false, false},
    {"f.tmp2", false, false},
    {"#f", false, false},
    {"f.json-journal", false, false},
};

static void each_pattern(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        struct bytes name = bytes_of(table[i].name);
        if (scratch_name_is(name, NULL) != table[i].is_scratch ||
            scratch_name_is_passing(name) != table[i].is_passing)
            fail_msg("%s", table[i].name);
    }
}

static void what_is_no_entitys_and_no_prefixs_can_be(void **state)
{
    (void)state;
    static const char *const possible[] = {"f", "f.txt", "f.JSON", "#f", ".json", ".a+"};
    static const char *const impossible[] = {"", "f.json", "4913.json", "f+", "tmp.a+"};
    for (size_t i = 0; i < ARRAY_SIZE(possible); i++)
        assert_true(scratch_name_is_possible(bytes_of(possible[i])));
    for (size_t i = 0; i < ARRAY_SIZE(impossible); i++)
        assert_false(scratch_name_is_possible(bytes_of(impossible[i])));
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        if (table[i].is_scratch)
            assert_true(scratch_name_is_possible(bytes_of(table[i].name)));
    }
}

static void names_that_no_file_has(void **state)
{
    (void)state;
    char name[257];
    memset(name, '7', sizeof(name));
    assert_true(scratch_name_is((struct bytes){name, 255}, NULL));
    assert_false(scratch_name_is((struct bytes){name, 256}, "*"));
    assert_false(scratch_name_is(B("7\0007"), "*"));
    assert_false(scratch_name_is_passing(B(".a.sw\0")));
}

static void globs_add_names(void **state)
{
    (void)state;
    assert_false(scratch_name_is(B("f.part"), NULL));
    assert_true(scratch_name_is(B("f.part"), "*.part"));
    assert_true(scratch_name_is(B("f.part"), "lock:*.part:x"));
    assert_true(scratch_name_is(B("lock"), "lock:*.part"));
    assert_true(scratch_name_is(B("x7"), "*.part:x[0-9]"));
    assert_false(scratch_name_is(B("xa"), "*.part:x[0-9]"));
    assert_true(scratch_name_is(B("a*"), "?\\*"));
    assert_false(scratch_name_is(B("ab"), "?\\*"));
    assert_true(scratch_name_is(B("f~"), "x")); /* the others stay */
    assert_true(scratch_name_is(B("any"), "*"));
    assert_false(scratch_name_is(B("f.json"), "*"));
    assert_false(scratch_name_is(B("f+"), "*"));
}

static void globs_are_checked(void **state)
{
    (void)state;
    char glob[300];
    static const char *const valid[] = {"*",     "a",     "*.part:lock", "[ab]:?", "a:b:c", "[]a]",
                                        "[!]a]", "[^a]x", "a]",          "\\[",    "[\\]]", "\\\\"};
    static const char *const invalid[] = {"",           ":",     "a:",  ":a",    "a::b", "a/b",
                                          "*.part:a/b", "[",     "a[b", "[]",    "[!]",  "[^]",
                                          "a:[b:c",     "[a:b]", "a\\", "[a\\]", "[\\"};
    for (size_t i = 0; i < ARRAY_SIZE(valid); i++)
        if (!scratch_name_globs_are_valid(valid[i]))
            fail_msg("%s", valid[i]);
    for (size_t i = 0; i < ARRAY_SIZE(invalid); i++)
        if (scratch_name_globs_are_valid(invalid[i]))
            fail_msg("%s", invalid[i]);
    memset(glob, 'a', sizeof(glob));
    glob[256] = '\0';
    assert_false(scratch_name_globs_are_valid(glob));
    glob[255] = '\0';
    assert_true(scratch_name_globs_are_valid(glob));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pattern),
        cmocka_unit_test(what_is_no_entitys_and_no_prefixs_can_be),
        cmocka_unit_test(names_that_no_file_has),
        cmocka_unit_test(globs_add_names),
        cmocka_unit_test(globs_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
