/* SPDX-License-Identifier: MIT */
#include "cache/list/level.h"
#include "tests/unit/parts_fixture.h"

#define FANOUT 4

static const struct directory table = {
    .kind = DIRECTORY_AUTO, .table = "t", .range = {B(""), B(POSITION_END)}};

struct setup {
    struct parts parts;
    struct level *level;
};

static void begin(struct setup *setup)
{
    level_begin_anew(setup->level, parts_since(&setup->parts));
}

/* Of the table; begun. */
static void set_up_with(struct setup *setup, int parallelism, const struct directory *directory)
{
    parts_set_up(&setup->parts,
                 (struct parts_options){.parallelism = parallelism, .fanout = FANOUT});
    assert_int_equal(level_create(&setup->parts.listings, directory, &setup->level), 0);
    begin(setup);
}

static void set_up(struct setup *setup)
{
    set_up_with(setup, 4, &table);
}

static void tear_down(struct setup *setup)
{
    level_destroy(setup->level);
    parts_tear_down(&setup->parts);
}

/* Appends "key " or "prefix+ ". */
static int append_name(struct setup *setup, uint64_t index, struct buffer *ret)
{
    struct level_name name;
    struct caller *caller = parts_caller(&setup->parts);
    int r = level_name(setup->level, caller, index, true, &name);
    assert_int_equal(caller->call.failure.error, MIN(r, 0));
    if (r == 1) {
        (void)buffer_append(ret, name.key);
        (void)buffer_append_string(ret, name.is_prefix ? "+ " : " ");
    }
    return r;
}

/* All from this index on. */
static void assert_names_from(struct setup *setup, uint64_t index, const char *expected)
{
    _cleanup_(buffer_finish) struct buffer names = {.max = ANSWER_MAX};
    int r;
    while ((r = append_name(setup, index, &names)) == 1)
        index++;
    assert_int_equal(r, 0);
    assert_string_equal(buffer_string(&names), expected);
}

static void assert_names(struct setup *setup, const char *expected)
{
    assert_names_from(setup, 0, expected);
}

/* The one of this index. */
static void assert_name(struct setup *setup, uint64_t index, const char *expected)
{
    _cleanup_(buffer_finish) struct buffer name = {.max = ANSWER_MAX};
    assert_int_equal(append_name(setup, index, &name), 1);
    assert_string_equal(buffer_string(&name), expected);
}

/* The names of a directory of the table with these partitions. */
static void assert_level(const char *keys, struct bytes prefix, struct bytes end,
                         const char *expected)
{
    for (int parallelism = 1; parallelism <= 8; parallelism *= 2) {
        struct setup setup;
        struct directory directory = {.kind = DIRECTORY_AUTO, .table = "t", .range = {prefix, end}};
        set_up_with(&setup, parallelism, &directory);
        parts_add(&setup.parts, keys, 3);
        assert_names(&setup, expected);
        assert_names(&setup, expected);
        tear_down(&setup);
    }
}

static void assert_table(const char *keys, const char *expected)
{
    assert_level(keys, B(""), B(POSITION_END), expected);
}

static void few_partitions_are_listed_themselves(void **state)
{
    (void)state;
    assert_table("", "");
    assert_table("a", "a ");
    assert_table("a1 a2 a3 b1", "a1 a2 a3 b1 ");
}

static void many_are_listed_by_what_they_share(void **state)
{
    (void)state;
    assert_table("a1 a2 a3 b1 b2", "a+ b+ ");
    assert_table("a b c d e", "a b c d e ");
    assert_table("a1 a2 a3 b1 c", "a+ b1 c ");
    assert_table("xa1 xa2 xb1 xb2 xc", "xa+ xb+ xc "); /* a chain is skipped */
    assert_table("x xa1 xa2 xb1 xb2", "x xa+ xb+ ");
}

DEFINE_FIXTURE(level, struct setup, set_up(test), tear_down(test))

static void a_name_that_has_not_arrived_is_not_waited_for(void **state)
{
    struct setup *setup = *state;
    struct level_name name;
    struct caller *caller = parts_caller(&setup->parts);
    parts_add(&setup->parts, "a b", 3);
    assert_int_equal(level_name(setup->level, caller, 0, false, &name), -EAGAIN);
    assert_int_equal(setup->parts.memory->asked, 0);
    assert_int_equal(level_requested_ms(setup->level), INT64_MAX); /* no answer */
    assert_names(setup, "a b ");
    assert_int_equal(level_requested_ms(setup->level), setup->parts.now_ms);
    assert_int_equal(level_name(setup->level, caller, 1, false, &name), 1);
}

static void it_tells_what_its_names_show(void **state)
{
    struct setup *setup = *state;
    parts_add(&setup->parts, "a1 a2 a3 b1 c", 3);
    assert_names(setup, "a+ b1 c ");
    assert_int_equal(level_shows(setup->level, B("b1"), false), LEVEL_SHOWS_NAME);
    assert_int_equal(level_shows(setup->level, B("b"), false), LEVEL_SHOWS_NOTHING);
    assert_int_equal(level_shows(setup->level, B("b2"), false), LEVEL_SHOWS_NOTHING);
    assert_int_equal(level_shows(setup->level, B(""), false), LEVEL_SHOWS_NOTHING);
    assert_int_equal(level_shows(setup->level, B("d"), false), LEVEL_SHOWS_NOTHING);
    assert_int_equal(level_shows(setup->level, B("a1"), false), LEVEL_SHOWS_PREFIX);
    assert_int_equal(level_shows(setup->level, B("a"), false), LEVEL_SHOWS_PREFIX);
    assert_int_equal(level_shows(setup->level, B("a"), true), LEVEL_SHOWS_NAME);
    assert_int_equal(level_shows(setup->level, B("b"), true), LEVEL_SHOWS_NAME);
    assert_int_equal(level_shows(setup->level, B("b1"), true), LEVEL_SHOWS_NAME);
    assert_int_equal(level_shows(setup->level, B("b10"), true), LEVEL_SHOWS_NOTHING);
    assert_int_equal(level_shows(setup->level, B("a11"), true), LEVEL_SHOWS_PREFIX);
    assert_int_equal(level_shows(setup->level, B("d"), true), LEVEL_SHOWS_NOTHING);
}

static void a_prefix_lists_what_starts_so(void **state)
{
    (void)state;
    static const char keys[] = "a1 a2 b1 b21 b22 b31 b32 c1";
    assert_level(keys, B("a"), B("b"), "a1 a2 ");
    assert_level(keys, B("b"), B("c"), "b1 b2+ b3+ ");
    assert_level(keys, B("b2"), B("b3"), "b21 b22 ");
    assert_level(keys, B("d"), B("e"), "");
}

/* A page holds three partitions, and four are few enough: the second page tells that there are
 * more. It was on its way with the first, and so may be two after it, of 24. */
static void rows_are_read_until_there_are_many(void **state)
{
    (void)state;
    for (int parallelism = 1; parallelism <= 8; parallelism *= 2) {
        struct setup setup;
        size_t rows = 0;
        set_up_with(&setup, parallelism, &table);
        parts_add_many(&setup.parts, 60, 400);
        assert_names(&setup, "p000+ p001+ p002+ p003+ p004+ p005+ ");
        size_t asked = parts_asked(&setup.parts);
        for (size_t i = 0; i < asked; i++)
            rows += !setup.parts.memory->diary[i].keys_only;
        assert_in_range(rows, 2, 4);
        tear_down(&setup);
    }
}

static void names_are_kept(void **state)
{
    struct setup *setup = *state;
    parts_add(&setup->parts, "a1 a2 a3 b1 c", 3);
    assert_name(setup, 2, "c ");
    assert_name(setup, 1, "b1 ");
    assert_names_from(setup, 3, "");
    size_t asked = parts_asked(&setup->parts);
    setup->parts.now_ms += 100 * (int64_t)TTL_MS;
    assert_names(setup, "a+ b1 c ");
    assert_name(setup, 0, "a+ ");
    assert_int_equal(parts_asked(&setup->parts), asked);
    assert_int_equal(level_requested_ms(setup->level), 100000);
}

static void the_same_level_again_costs_nothing_within_ttl(void **state)
{
    struct setup *setup = *state;
    struct level *other;
    parts_add_many(&setup->parts, 35, 3);
    static const char expected[] = "p000+ p001+ p002+ p003+ ";
    assert_names(setup, expected);
    size_t asked = parts_asked(&setup->parts);
    assert_int_equal(level_create(&setup->parts.listings, &table, &other), 0);
    level_destroy(TAKE_PTR(setup->level));
    setup->level = other;
    setup->parts.now_ms += TTL_MS;
    begin(setup);
    assert_names(setup, expected);
    assert_int_equal(parts_asked(&setup->parts), asked);
    setup->parts.now_ms += 1;
    begin(setup);
    assert_names(setup, expected);
    assert_true(parts_asked(&setup->parts) > asked);
}

static void begun_anew_it_sees_what_changed(void **state)
{
    struct setup *setup = *state;
    parts_add(&setup->parts, "a b c d", 1);
    assert_names(setup, "a b c d ");
    struct write write = {.kind = WRITE_INSERT, .position = B("b2\0x"), .text = B("{}")};
    (void)parts_asked(&setup->parts);
    memory_store_write(setup->parts.memory, &write);
    assert_names(setup, "a b c d ");
    setup->parts.now_ms += TTL_MS + 1;
    begin(setup);
    assert_names(setup, "a b+ c d ");
}

/* Names cannot be sought; rows can be read. */
static int fail_keys(struct memory_store *self, size_t number, struct call *call)
{
    return self->diary[number - 1].keys_only ? call_fail(call, -EIO, "no keys") : 0;
}

static void a_failure_is_told_and_the_rest_comes(void **state)
{
    (void)state;
    struct setup setup;
    _cleanup_(buffer_finish) struct buffer names = {.max = ANSWER_MAX};
    int failures = 0, r;
    uint64_t index = 0;
    set_up_with(&setup, 1, &table);
    parts_add_many(&setup.parts, 35, 300);
    setup.parts.memory->fault = fail_keys;
    while ((r = append_name(&setup, index, &names)) != 0) {
        assert_true(r == 1 || r == -EIO);
        index += r == 1;
        failures += r < 0;
        if (r < 0)
            setup.parts.memory->fault = NULL;
    }
    assert_int_equal(failures, 1);
    assert_string_equal(buffer_string(&names), "p000+ p001+ p002+ p003+ ");
    tear_down(&setup);
}

static void a_reader_may_take_long(void **state)
{
    (void)state;
    struct setup setup;
    _cleanup_(buffer_finish) struct buffer names = {.max = ANSWER_MAX};
    set_up_with(&setup, 1, &table);
    parts_add(&setup.parts, "a1 a2 b c1 c2 d e1 e2", 3);
    for (uint64_t i = 0; i < 5; i++) {
        assert_int_equal(append_name(&setup, i, &names), 1);
        setup.parts.now_ms += FRESHNESS_KEPT_MS + 1;
    }
    assert_string_equal(buffer_string(&names), "a+ b c+ d e+ ");
    assert_int_equal(append_name(&setup, 5, &names), 0);
    tear_down(&setup);
}

/* The reader has taken `taken` names and pauses; another client adds the partition. */
static void grow_behind_reader(struct setup *setup, const char *keys, uint64_t taken,
                               const char *partition)
{
    char position[8];
    int size = snprintf(position, sizeof(position), "%s%cx", partition, '\0');
    struct write write = {
        .kind = WRITE_INSERT, .position = {position, (size_t)size}, .text = B("{}")};
    struct level_name name;
    set_up_with(setup, 1, &table);
    parts_add(&setup->parts, keys, 3);
    assert_int_equal(level_name(setup->level, parts_caller(&setup->parts), taken - 1, true, &name),
                     1);
    (void)parts_asked(&setup->parts);
    memory_store_write(setup->parts.memory, &write);
    setup->parts.now_ms += FRESHNESS_KEPT_MS + 1;
}

static void a_name_added_behind_the_reader_is_not_shown(void **state)
{
    (void)state;
    struct setup setup;
    grow_behind_reader(&setup, "a c d", 2, "b");
    assert_names(&setup, "a c d ");
    tear_down(&setup);
    grow_behind_reader(&setup, "a b c d", 2, "aa"); /* now they are too many */
    assert_names(&setup, "a b c d ");
    tear_down(&setup);
}

static void a_name_added_before_the_reader_is_shown(void **state)
{
    (void)state;
    struct setup setup;
    grow_behind_reader(&setup, "a c d", 1, "b");
    assert_names(&setup, "a b c d ");
    tear_down(&setup);
}

/* "b" was shown as a partition. Then the directory grows, and "b", "b1" and "b2" become the prefix
 * b+. */
static void a_prefix_that_was_shown_in_part_is_an_error(void **state)
{
    (void)state;
    struct setup setup;
    _cleanup_(buffer_finish) struct buffer name = {.max = ANSWER_MAX};
    grow_behind_reader(&setup, "a b b1 b2", 2, "c");
    assert_int_equal(append_name(&setup, 2, &name), -ESTALE);
    assert_int_equal(append_name(&setup, 2, &name), -ESTALE);
    begin(&setup);
    assert_names(&setup, "a b+ c ");
    tear_down(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_partitions_are_listed_themselves),
        cmocka_unit_test(many_are_listed_by_what_they_share),
        TEST_WITH(level, a_name_that_has_not_arrived_is_not_waited_for),
        TEST_WITH(level, it_tells_what_its_names_show),
        cmocka_unit_test(a_prefix_lists_what_starts_so),
        cmocka_unit_test(rows_are_read_until_there_are_many),
        TEST_WITH(level, names_are_kept),
        TEST_WITH(level, the_same_level_again_costs_nothing_within_ttl),
        TEST_WITH(level, begun_anew_it_sees_what_changed),
        cmocka_unit_test(a_failure_is_told_and_the_rest_comes),
        cmocka_unit_test(a_reader_may_take_long),
        cmocka_unit_test(a_name_added_behind_the_reader_is_not_shown),
        cmocka_unit_test(a_name_added_before_the_reader_is_shown),
        cmocka_unit_test(a_prefix_that_was_shown_in_part_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
