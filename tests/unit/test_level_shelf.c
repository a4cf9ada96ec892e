#include "cache/level_shelf.h"
#include "tests/unit/unit.h"

static struct directory level_of(const char *table, struct bytes lo)
{
    return (struct directory){DIRECTORY_AUTO, table, {lo, BYTES_LITERAL(POSITION_END)}};
}

static struct level_names *new_names(const char *first, size_t count)
{
    struct level_names *names;
    assert_int_equal(level_names_create(&names), 0);
    assert_int_equal(level_names_append(names, (struct level_name){true, bytes_of(first)}), 0);
    for (size_t i = 1; i < count; i++)
        assert_int_equal(level_names_append(names, (struct level_name){false, bytes_of("p")}), 0);
    return names;
}

/* Puts names of which the first is `first`. */
static void put(struct level_shelf *shelf, struct directory directory, struct stamp asked,
                const char *first)
{
    struct level_names *names = new_names(first, 2);
    level_shelf_put(shelf, &directory, asked, names);
    level_names_unref(names);
}

static void assert_shows(struct level_shelf *shelf, struct directory directory, struct stamp since,
                         const char *first, int64_t asked_ms)
{
    int64_t ms = -1;
    struct level_names *names = level_shelf_find(shelf, &directory, since, &ms);
    assert_non_null(names);
    assert_bytes(level_names_at(names, 0).key, bytes_of(first));
    assert_int_equal(ms, asked_ms);
    level_names_unref(names);
}

static void assert_shows_nothing(struct level_shelf *shelf, struct directory directory,
                                 struct stamp since)
{
    int64_t ms;
    assert_null(level_shelf_find(shelf, &directory, since, &ms));
}

static void names_are_kept_in_their_order(void **state)
{
    (void)state;
    struct level_names *names;
    assert_int_equal(level_names_create(&names), 0);
    assert_int_equal(level_names_count(names), 0);
    assert_int_equal(level_names_append(names, (struct level_name){false, B("")}), 0);
    assert_int_equal(level_names_append(names, (struct level_name){true, B("ab")}), 0);
    assert_int_equal(level_names_append(names, (struct level_name){false, B("c\0d")}), 0);
    assert_int_equal(level_names_count(names), 3);
    assert_bytes(level_names_at(names, 0).key, B(""));
    assert_false(level_names_at(names, 0).is_prefix);
    assert_bytes(level_names_at(names, 1).key, B("ab"));
    assert_true(level_names_at(names, 1).is_prefix);
    assert_bytes(level_names_at(names, 2).key, B("c\0d"));
    assert_false(level_names_at(names, 2).is_prefix);
    level_names_unref(names);
}

static void each_directory_has_its_own(void **state)
{
    (void)state;
    struct level_shelf *shelf;
    const struct stamp asked = {100, 5};
    assert_int_equal(level_shelf_create(&shelf), 0);
    assert_shows_nothing(shelf, level_of("t", B("")), stamp_since(0));
    put(shelf, level_of("t", B("")), asked, "a");
    put(shelf, level_of("t", B("20")), asked, "b");
    put(shelf, level_of("u", B("")), asked, "c");
    assert_shows(shelf, level_of("t", B("")), stamp_since(0), "a", 100);
    assert_shows(shelf, level_of("t", B("20")), stamp_since(0), "b", 100);
    assert_shows(shelf, level_of("u", B("")), stamp_since(0), "c", 100);
    assert_shows_nothing(shelf, level_of("u", B("20")), stamp_since(0));
    level_shelf_destroy(shelf);
}

static void what_is_too_old_is_not_shown(void **state)
{
    (void)state;
    struct level_shelf *shelf;
    struct directory directory = level_of("t", B(""));
    assert_int_equal(level_shelf_create(&shelf), 0);
    put(shelf, directory, (struct stamp){100, 5}, "a");
    assert_shows(shelf, directory, stamp_since(100), "a", 100);
    assert_shows_nothing(shelf, directory, stamp_since(101));
    assert_shows_nothing(shelf, directory, (struct stamp){100, 6}); /* of now, with ttl 0 */
    put(shelf, directory, (struct stamp){200, 9}, "b");
    assert_shows(shelf, directory, (struct stamp){200, 9}, "b", 200);
    level_shelf_destroy(shelf);
}

static void the_last_ones_are_kept(void **state)
{
    (void)state;
    struct level_shelf *shelf;
    char keys[LEVEL_SHELF_SIZE + 1][4];
    assert_int_equal(level_shelf_create(&shelf), 0);
    for (size_t i = 0; i <= LEVEL_SHELF_SIZE; i++) {
        (void)snprintf(keys[i], sizeof(keys[i]), "%02zu", i);
        put(shelf, level_of("t", bytes_of(keys[i])), (struct stamp){100, 5}, keys[i]);
        put(shelf, level_of("t", bytes_of(keys[i])), (struct stamp){100, 6}, keys[i]); /* again */
    }
    assert_shows_nothing(shelf, level_of("t", bytes_of(keys[0])), stamp_since(0));
    for (size_t i = 1; i <= LEVEL_SHELF_SIZE; i++)
        assert_shows(shelf, level_of("t", bytes_of(keys[i])), stamp_since(0), keys[i], 100);
    level_shelf_destroy(shelf);
}

static void what_is_too_large_is_not_kept(void **state)
{
    (void)state;
    struct level_shelf *shelf;
    struct directory directory = level_of("t", B(""));
    assert_int_equal(level_shelf_create(&shelf), 0);
    struct level_names *names = new_names("a", LEVEL_SHELF_MAX_BYTES / 16);
    assert_true(level_names_bytes(names) > LEVEL_SHELF_MAX_BYTES);
    level_shelf_put(shelf, &directory, (struct stamp){100, 5}, names);
    level_names_unref(names);
    assert_shows_nothing(shelf, directory, stamp_since(0));
    level_shelf_destroy(shelf);
}

/* Who has them goes on with them. */
static void names_outlive_the_shelf(void **state)
{
    (void)state;
    struct level_shelf *shelf;
    struct directory directory = level_of("t", B(""));
    int64_t ms;
    assert_int_equal(level_shelf_create(&shelf), 0);
    put(shelf, directory, (struct stamp){100, 5}, "a");
    struct level_names *names = level_shelf_find(shelf, &directory, stamp_since(0), &ms);
    level_shelf_destroy(shelf);
    assert_bytes(level_names_at(names, 1).key, B("p"));
    level_names_unref(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_kept_in_their_order),
        cmocka_unit_test(each_directory_has_its_own),
        cmocka_unit_test(what_is_too_old_is_not_shown),
        cmocka_unit_test(the_last_ones_are_kept),
        cmocka_unit_test(what_is_too_large_is_not_kept),
        cmocka_unit_test(names_outlive_the_shelf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
