#include "cache/read/passages.h"
#include "tests/unit/unit.h"

#define MAX_BYTES ((size_t)8 << 20)

static void go(struct passages *passages, struct bytes position)
{
    passages_go(passages, WAY_ROWS, "t", position);
    passages_go(passages, WAY_PARTITIONS, "t", position);
}

static int rows(const struct passages *passages, enum way way, struct bytes position)
{
    return passages_rows(passages, way, "t", position, MAX_BYTES);
}

/* A row in each of three partitions. */
static void come_along(struct passages *passages)
{
    passages_init(passages);
    go(passages, B("a\0x"));
    go(passages, B("b\0x"));
    go(passages, B("c\0x"));
}

static void partitions_in_order_are_a_way(void **state)
{
    (void)state;
    struct passages passages;
    passages_init(&passages);
    go(&passages, B("a\0x"));
    go(&passages, B("b\0x"));
    assert_int_equal(rows(&passages, WAY_PARTITIONS, B("c\0")), 0); /* may be an accident */
    go(&passages, B("c\0x"));
    assert_int_equal(rows(&passages, WAY_PARTITIONS, B("d\0")), 64);
    assert_int_equal(rows(&passages, WAY_PARTITIONS, B("z\0")), 64);
    assert_int_equal(rows(&passages, WAY_PARTITIONS, B("c\0")), 0); /* it is there */
    assert_int_equal(rows(&passages, WAY_PARTITIONS, B("b\0")), 0);
    assert_int_equal(passages_rows(&passages, WAY_PARTITIONS, "u", B("d\0"), MAX_BYTES), 0);
    assert_int_equal(rows(&passages, WAY_ROWS, B("c\0y")), 0); /* of that one row was asked for */
    go(&passages, B("b\0x"));
    assert_int_equal(rows(&passages, WAY_PARTITIONS, B("d\0")), 0);
    passages_finish(&passages);
}

static void many_rows_of_one_are_one_step(void **state)
{
    (void)state;
    struct passages passages;
    come_along(&passages);
    go(&passages, B("c\0y"));
    go(&passages, B("c\0z"));
    assert_int_equal(rows(&passages, WAY_PARTITIONS, B("d\0")), 64);
    assert_int_equal(rows(&passages, WAY_ROWS, B("c\0z")), 4);
    assert_true(passages_are_in_order(&passages, WAY_ROWS, "t", B("c\0z")));
    assert_false(passages_are_in_order(&passages, WAY_ROWS, "t", B("d\0z")));
    passages_finish(&passages);
}

static void the_longer_the_more(void **state)
{
    (void)state;
    struct passages passages;
    come_along(&passages);
    for (char key[] = "d\0x"; key[0] <= 'z'; key[0]++) {
        assert_int_equal(rows(&passages, WAY_PARTITIONS, (struct bytes){key, 3}),
                         32 * (key[0] - 'b'));
        go(&passages, (struct bytes){key, 3});
    }
    for (char key[] = "z0\0x"; key[1] <= '9'; key[1]++)
        go(&passages, (struct bytes){key, 4});
    assert_int_equal(rows(&passages, WAY_PARTITIONS, B("z9z")), 1000);
    passages_missed(&passages, WAY_PARTITIONS, "t", B("z9z\0"), 10, (size_t)10 << 20);
    assert_int_equal(rows(&passages, WAY_PARTITIONS, B("z9z")), 8); /* of 1 MiB each */
    passages_finish(&passages);
}

static void what_was_for_nothing_ends_it(void **state)
{
    (void)state;
    struct passages passages;
    come_along(&passages);
    passages_missed(&passages, WAY_PARTITIONS, "t", B("d\0"), 64, 6400);
    go(&passages, B("d\0x"));
    go(&passages, B("e\0x")); /* it had that, too */
    passages_missed(&passages, WAY_PARTITIONS, "t", B("f\0"), 128, 12800);
    assert_int_equal(rows(&passages, WAY_PARTITIONS, B("g\0")), 128);
    go(&passages, B("f\0x"));
    passages_missed(&passages, WAY_PARTITIONS, "t", B("g\0"), 160, 16000); /* f was large */
    assert_int_equal(rows(&passages, WAY_PARTITIONS, B("h\0")), 0);
    passages_missed(&passages, WAY_ROWS, "t", B("nowhere\0"), 1, 1);
    passages_finish(&passages);
    come_along(&passages);
    passages_missed(&passages, WAY_PARTITIONS, "t", B("d\0"), 0, 0); /* refused */
    assert_int_equal(rows(&passages, WAY_PARTITIONS, B("e\0")), 0);
    passages_finish(&passages);
}

static void one_step_is_new(void **state)
{
    (void)state;
    struct passages passages;
    passages_init(&passages);
    for (enum way way = 0; way < WAYS; way++)
        assert_true(passages_are_new(&passages, way, "t", B("a\0x")));
    go(&passages, B("a\0x"));
    go(&passages, B("a\0x"));
    for (enum way way = 0; way < WAYS; way++)
        assert_true(passages_are_new(&passages, way, "t", B("a\0x")));
    go(&passages, B("a\0a"));
    assert_false(passages_are_new(&passages, WAY_ROWS, "t", B("a\0x")));
    assert_true(passages_are_new(&passages, WAY_PARTITIONS, "t", B("a\0x")));
    go(&passages, B("b\0a"));
    assert_true(passages_are_new(&passages, WAY_ROWS, "t", B("b\0x")));
    assert_false(passages_are_new(&passages, WAY_PARTITIONS, "t", B("b\0x")));
    passages_finish(&passages);
}

/* Of tables as of partitions. */
static void the_last_four_are_known(void **state)
{
    (void)state;
    static const char *const tables[] = {"t", "u", "v", "w", "x"};
    struct passages passages;
    passages_init(&passages);
    for (char key[] = "a\0x"; key[0] <= 'c'; key[0]++)
        for (size_t i = 0; i < 4; i++)
            passages_go(&passages, WAY_PARTITIONS, tables[i], (struct bytes){key, 3});
    for (size_t i = 0; i < 4; i++)
        assert_true(passages_are_in_order(&passages, WAY_PARTITIONS, tables[i], B("c\0x")));
    passages_go(&passages, WAY_PARTITIONS, tables[4], B("a\0x"));
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(passages_are_in_order(&passages, WAY_PARTITIONS, tables[i], B("c\0x")),
                         i >= 1 && i < 4);
    passages_finish(&passages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partitions_in_order_are_a_way),
        cmocka_unit_test(many_rows_of_one_are_one_step),
        cmocka_unit_test(the_longer_the_more),
        cmocka_unit_test(what_was_for_nothing_ends_it),
        cmocka_unit_test(one_step_is_new),
        cmocka_unit_test(the_last_four_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
