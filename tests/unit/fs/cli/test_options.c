/* SPDX-License-Identifier: MIT */
#define FUSE_USE_VERSION 312
#include "fs/cli/options.h"
#include "fs/cli/verb.h"
#include "tests/unit/unit.h"

#include <fuse_opt.h>

static int parse(const char *text, struct options *ret, struct buffer *ret_left)
{
    struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
    assert_int_equal(fuse_opt_add_arg(&args, "tablefuse"), 0);
    assert_int_equal(fuse_opt_add_arg(&args, "-o"), 0);
    assert_int_equal(fuse_opt_add_arg(&args, text), 0);
    int r = options_parse(&verb_mount, &args, 1, 2, 022, ret);
    for (int i = 1; r == 0 && i < args.argc; i++)
        (void)buffer_append_format(ret_left, "%s ", args.argv[i]);
    fuse_opt_free_args(&args);
    return r;
}

/* One option with this value. */
static int parse_value(const char *option, const char *value, struct options *ret)
{
    char text[64];
    struct buffer left;
    buffer_init(&left, 1000);
    (void)snprintf(text, sizeof(text), "%s=%s", option, value);
    int r = parse(text, ret, &left);
    buffer_finish(&left);
    return r;
}

static void our_options_are_taken_and_those_of_fuse_left(void **state)
{
    (void)state;
    struct options options;
    _cleanup_(buffer_finish) struct buffer left = {.max = 1000};
    assert_int_equal(parse("ro,ttl=0.25,timeout=2.5,cache_size=2M,uid=1000,gid=1001,umask=077,"
                           "table=t1x,ca_cert=/f,fsname=name",
                           &options, &left),
                     0);
    assert_int_equal(options.ttl_ms, 250);
    assert_int_equal(options.timeout_ms, 2500);
    assert_int_equal(options.cache_bytes, 2 << 20);
    assert_int_equal(options.uid, 1000);
    assert_int_equal(options.gid, 1001);
    assert_int_equal(options.umask, 077);
    assert_string_equal(options.table, "t1x");
    assert_string_equal(options.ca_cert, "/f");
    assert_false(options.allow_other);
    assert_false(options.allows_http);
    assert_null(strstr(buffer_string(&left), "ttl"));
    assert_non_null(strstr(buffer_string(&left), "fsname=name"));
    assert_true(options.is_read_only);
    assert_false(options.overwrites_conflicts);
    assert_false(options.never_drops_rows);
    assert_null(strstr(buffer_string(&left), "default_permissions"));
    options_finish(&options);
    buffer_clear(&left);
    assert_int_equal(parse("allow_other", &options, &left), 0);
    assert_non_null(strstr(buffer_string(&left), "allow_other,default_permissions"));
    assert_false(options.allows_http);
    assert_int_equal(options.ttl_ms, 1000);
    assert_int_equal(options.timeout_ms, 60000);
    assert_int_equal(options.cache_bytes, 64 << 20);
    assert_int_equal(options.uid, 1);
    assert_int_equal(options.gid, 2);
    assert_int_equal(options.umask, 022);
    options_finish(&options);
    buffer_clear(&left);
    assert_int_equal(parse("allow_http", &options, &left), 0);
    assert_true(options.allows_http);
    assert_false(options.allow_other);
    assert_null(strstr(buffer_string(&left), "allow_http")); /* libfuse does not know it */
    options_finish(&options);
}

/* Neither ours nor FUSE's: dropped, so that libfuse does not refuse it. */
static void what_fstab_writes_is_dropped(void **state)
{
    (void)state;
    static const char text[] =
        "rw,_netdev,noauto,auto,nofail,user,user=me,nouser,users,owner,group,defaults,comment=a,"
        "x-systemd.automount,X-mount.mkdir,relatime,,nodiratime,uhelper=hal";
    struct options options;
    _cleanup_(buffer_finish) struct buffer left = {.max = 1000};
    assert_int_equal(parse(text, &options, &left), 0);
    assert_string_equal(buffer_string(&left), "-osubtype=tablefuse ");
    assert_false(options.is_read_only);
    options_finish(&options);
}

static void the_last_value_holds(void **state)
{
    (void)state;
    struct options options;
    _cleanup_(buffer_finish) struct buffer left = {.max = 1000};
    assert_int_equal(
        parse("ttl=1,rw,table=abc,ttl=soon,ttl=2,table=abd,ro,"
              "conflict=overwrite,scratch=a,scratch=*.part:[xy],no_table_drop,"
              "allow_updatedb,layout=flat,layout=auto,fanout=16,credentials=/c,auth=azcli",
              &options, &left),
        0);
    assert_int_equal(options.ttl_ms, 2000);
    assert_string_equal(options.table, "abd");
    assert_true(options.is_read_only);
    assert_true(options.overwrites_conflicts);
    assert_true(options.never_drops_rows);
    assert_true(options.allows_updatedb);
    assert_string_equal(options.scratch_globs, "*.part:[xy]");
    assert_int_equal(options.layout, DIRECTORY_AUTO);
    assert_int_equal(options.fanout, 16);
    assert_string_equal(options.credentials, "/c");
    assert_string_equal(options.auth, "azcli");
    options_finish(&options);
    assert_int_equal(parse("ro,rw,layout=flat,fanout=16,fanout=auto", &options, &left), 0);
    assert_false(options.is_read_only);
    assert_int_equal(options.layout, DIRECTORY_FLAT);
    assert_int_equal(options.fanout, 0);
    options_finish(&options);
}

static void a_name_is_found_by_a_similar_word(void **state)
{
    (void)state;
    struct option_name near;
    assert_true(options_find_near(B("tiemout"), &near));
    assert_bytes(near.name, B("timeout"));
    assert_false(options_find_near(B("xyz"), &near));
    assert_true(options_is_of_commands(B("timeout")));
    assert_false(options_is_of_commands(B("ttl")));
    assert_false(options_is_of_commands(B("xyz")));
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"timeout=",
                                      "timeout=0.999",
                                      "timeout=3601",
                                      "timeout=1m",
                                      "timeout",
                                      "ttl=",
                                      "ttl=-1",
                                      "ttl=1s",
                                      "ttl=.",
                                      "ttl=1e3",
                                      "ttl=86401",
                                      "ttl=nan",
                                      "ttl=0.1234x",
                                      "uid=root",
                                      "uid=-1",
                                      "uid=4294967295",
                                      "gid=1x",
                                      "umask=8",
                                      "umask=",
                                      "umask=01777",
                                      "umask=22x",
                                      "ca_cert=",
                                      "table=",
                                      "ttl",
                                      "cache_size=",
                                      "cache_size=1T",
                                      "ro=1",
                                      "bogus",
                                      "bogus=1",
                                      "x",
                                      "user_",
                                      "conflict=",
                                      "conflict=no",
                                      "max_read=4096",
                                      "scratch",
                                      "scratch=",
                                      "scratch=a/b",
                                      "scratch=a:",
                                      "scratch=:",
                                      "scratch=[",
                                      "no_table_drop=1",
                                      "layout=",
                                      "layout=deep",
                                      "fanout=0x10",
                                      "credentials=",
                                      "max_nodes",
                                      "max_nodes=",
                                      "max_nodes=999",
                                      "max_nodes=1K",
                                      "max_nodes=1000000001"};
    struct options options;
    _cleanup_(buffer_finish) struct buffer left = {.max = 1000};
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        if (parse(bad[i], &options, &left) != -EINVAL)
            fail_msg("%s was taken", bad[i]);
}

static void seconds_have_fractions(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t expected;
    } cases[] = {{"0", 0},     {"1", 1000},      {"0.2", 200},       {".5", 500},
                 {"2.", 2000}, {"1.2349", 1234}, {"86400", 86400000}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct options options;
        assert_int_equal(parse_value("ttl", cases[i].text, &options), 0);
        assert_int_equal(options.ttl_ms, cases[i].expected);
        options_finish(&options);
    }
}

static void bytes_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t expected;
    } cases[] = {{"0", 0},
                 {"0G", 0},
                 {"1", 1},
                 {"1023", 1023},
                 {"1K", 1024},
                 {"64M", (uint64_t)64 << 20},
                 {"3G", (uint64_t)3 << 30},
                 {"64G", (uint64_t)64 << 30},
                 {"67108864K", (uint64_t)64 << 30},
                 {"68719476736", (uint64_t)64 << 30}};
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct options options;
        assert_int_equal(parse_value("cache_size", cases[i].text, &options), 0);
        assert_int_equal(options.cache_bytes, cases[i].expected);
        options_finish(&options);
    }
    static const char *const bad[] = {"",
                                      "-1",
                                      "M",
                                      "1T",
                                      "1MM",
                                      "1m",
                                      "1.5G",
                                      " 1",
                                      "1 M",
                                      "K1",
                                      "65G",
                                      "68719476737",
                                      "18446744073709551617",
                                      "18014398509481984K"};
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct options options;
        if (parse_value("cache_size", bad[i], &options) != -EINVAL)
            fail_msg("%s was taken", bad[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_options_are_taken_and_those_of_fuse_left),
        cmocka_unit_test(what_fstab_writes_is_dropped),
        cmocka_unit_test(the_last_value_holds),
        cmocka_unit_test(a_name_is_found_by_a_similar_word),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(seconds_have_fractions),
        cmocka_unit_test(bytes_have_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
