/* SPDX-License-Identifier: MIT */
/* Two streams of entities, compared; random ones against a model in plain arrays. */
#include "cache/bulk/compare.h"
#include "tests/unit/unit.h"

#define KEYS   40
#define WORLDS 20000

enum form { NONE, ONE, ONE_AGAIN, TWO, MORE, NO_TEXT, OTHER_NO_TEXT, BAD, FORMS };

static const char *const texts[FORMS] = {
    [NONE] = "",
    [ONE] = "{\n  \"A@odata.type\": \"Edm.Double\",\n  \"A\": 1.0\n}\n",
    [ONE_AGAIN] = "{\n  \"A@odata.type\": \"Edm.Double\",\n  \"A\": 1E+0\n}\n",
    [TWO] = "{\n  \"A\": 2\n}\n",
    [MORE] = "{\n  \"A\": 2,\n  \"B\": \"x\"\n}\n",
    [NO_TEXT] = "{\"A\": 2}",
    [OTHER_NO_TEXT] = "{\"A\": 3}",
    [BAD] = "{}",
};

static enum pair_kind model(enum form from, enum form to)
{
    bool is_one = from == ONE || from == ONE_AGAIN;
    if (from == BAD || to == BAD)
        return PAIR_UNREADABLE;
    if (from == to || (is_one && (to == ONE || to == ONE_AGAIN)))
        return PAIR_EQUAL;
    if (from == NO_TEXT || to == NO_TEXT || from == OTHER_NO_TEXT || to == OTHER_NO_TEXT)
        return PAIR_UNREADABLE;
    return to == NONE ? PAIR_ONLY_FROM : from == NONE ? PAIR_ONLY_TO : PAIR_DIFFERENT;
}

struct world {
    unsigned random;
    enum form forms[COMPARE_SIDES][KEYS];
    int given[COMPARE_SIDES];
    struct compare compare;
};

static int chance(struct world *world, int n)
{
    world->random = world->random * 1664525 + 1013904223;
    return (int)((world->random >> 8) % (unsigned)n);
}

static struct bytes position_of(int key, char ret[4])
{
    ret[0] = (char)('a' + key / 7);
    ret[1] = '\0';
    ret[2] = (char)('a' + key % 7);
    return (struct bytes){ret, 3};
}

/* The next rows of the side, a few; or its end. */
static void give(struct world *world, enum compare_side side)
{
    _cleanup_(page_builder_destroyp) struct page_builder *builder = NULL;
    struct run run = {0};
    char position[4];
    int most = 1 + chance(world, 9), rows = 0;
    assert_int_equal(page_builder_create(1 << 20, &builder), 0);
    for (; world->given[side] < KEYS && rows < most; world->given[side]++) {
        enum form form = world->forms[side][world->given[side]];
        if (form == NONE)
            continue;
        (void)buffer_append_string(page_builder_text(builder), texts[form]);
        assert_int_equal(
            page_builder_end_row(builder, position_of(world->given[side], position), B("e"), 1), 0);
        if (form == BAD)
            page_builder_set_bad(builder);
        rows++;
    }
    if (rows == 0) {
        compare_give_end(&world->compare, side);
        return;
    }
    assert_int_equal(page_builder_finish(builder, RANGE_ALL, false, &run.page), 0);
    run.end = page_rows(run.page);
    compare_give(&world->compare, side, &run);
    assert_null(run.page);
}

static void assert_row(struct pair_row row, enum form form, struct bytes position)
{
    assert_int_equal(row.page != NULL, form != NONE);
    if (!row.page)
        return;
    assert_bytes(page_position(row.page, row.row), position);
    assert_bytes(page_text(row.page, row.row), bytes_of(texts[form]));
}

static void compare_all(struct world *world)
{
    struct pair pair;
    char position[4];
    enum compare_step step;
    int key = 0;
    while ((step = compare_next(&world->compare, &pair)) != COMPARE_END) {
        if (step != COMPARE_PAIR) {
            give(world, step == COMPARE_NEEDS_FROM ? COMPARE_FROM : COMPARE_TO);
            continue;
        }
        while (world->forms[COMPARE_FROM][key] == NONE && world->forms[COMPARE_TO][key] == NONE)
            assert_true(++key < KEYS);
        enum form from = world->forms[COMPARE_FROM][key], to = world->forms[COMPARE_TO][key];
        assert_bytes(pair.position, position_of(key, position));
        assert_int_equal(pair.kind, model(from, to));
        assert_row(pair.sides[COMPARE_FROM], from, pair.position);
        assert_row(pair.sides[COMPARE_TO], to, pair.position);
        key++;
    }
    for (; key < KEYS; key++)
        assert_true(world->forms[COMPARE_FROM][key] == NONE &&
                    world->forms[COMPARE_TO][key] == NONE);
    assert_int_equal(compare_next(&world->compare, &pair), COMPARE_END);
}

static void random_tables_are_compared(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < WORLDS; seed++) {
        struct world world = {.random = seed};
        int forms = 1 + chance(&world, FORMS); /* sometimes an empty side, sometimes no bad row */
        for (int key = 0; key < KEYS; key++) {
            world.forms[COMPARE_FROM][key] = (enum form)chance(&world, forms);
            bool is_alike = chance(&world, 2);
            world.forms[COMPARE_TO][key] =
                is_alike ? world.forms[COMPARE_FROM][key] : (enum form)chance(&world, forms);
        }
        if (chance(&world, 8) == 0)
            memset(world.forms[chance(&world, COMPARE_SIDES)], 0, sizeof(world.forms[0]));
        compare_all(&world);
        compare_finish(&world.compare);
    }
}

/* What is left when a comparison is given up. */
static void an_end_in_the_middle(void **state)
{
    (void)state;
    struct world world = {.random = 1};
    struct pair pair;
    for (int key = 0; key < KEYS; key++)
        world.forms[COMPARE_FROM][key] = world.forms[COMPARE_TO][key] = ONE;
    assert_int_equal(compare_next(&world.compare, &pair), COMPARE_NEEDS_FROM);
    give(&world, COMPARE_FROM);
    assert_int_equal(compare_next(&world.compare, &pair), COMPARE_NEEDS_TO);
    give(&world, COMPARE_TO);
    assert_int_equal(compare_next(&world.compare, &pair), COMPARE_PAIR);
    compare_finish(&world.compare);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_tables_are_compared),
        cmocka_unit_test(an_end_in_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
