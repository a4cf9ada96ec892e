#include "fs/tree/place.h"
#include "tests/unit/unit.h"

static void child(const struct place *parent, const char *name, int expected, struct place *ret)
{
    int r = place_child(parent, bytes_of(name), ret);
    if (r != expected)
        fail_msg("%s: %d, not %d", name, r, expected);
}

static void paths_become_keys(void **state)
{
    (void)state;
    struct place root, table, partition, entity, none;
    assert_int_equal(place_root(NULL, &root), 0);
    assert_int_equal(place_directory(&root).kind, DIRECTORY_TABLES);
    child(&root, "packages", 0, &table);
    struct directory directory = place_directory(&table);
    assert_int_equal(directory.kind, DIRECTORY_FLAT);
    assert_string_equal(directory.table, "packages");
    assert_bytes(directory.range.lo, B(""));
    assert_bytes(directory.range.hi, B("\xff"));
    child(&table, "a#2B", 0, &partition);
    directory = place_directory(&partition);
    assert_int_equal(directory.kind, DIRECTORY_ENTITIES);
    assert_bytes(directory.range.lo, B("a+\0"));
    assert_bytes(directory.range.hi, B("a+\x01"));
    child(&partition, "13.0.1.json", 0, &entity);
    assert_int_equal(entity.kind, PLACE_ENTITY);
    assert_string_equal(place_address(&entity).table, "packages");
    assert_bytes(place_address(&entity).position, B("a+\0"
                                                    "13.0.1"));
    child(&entity, "below", -ENOTDIR, &none);
    place_finish(&entity);
    place_finish(&partition);
    place_finish(&table);
    place_finish(&root);
}

static void names_that_are_never_there(void **state)
{
    (void)state;
    struct place root, table, partition, none;
    assert_int_equal(place_root(NULL, &root), 0);
    static const char *const no_tables[] = {
        "ab",
        "1abc",
        "a-b-c",
        "a.b",
        ".git",
        "tab\xC3\xA9lle",
        "a234567890123456789012345678901234567890123456789012345678901234"};
    for (size_t i = 0; i < ARRAY_SIZE(no_tables); i++)
        child(&root, no_tables[i], -ENOENT, &none);
    child(&root, "a23456789012345678901234567890123456789012345678901234567890123", 0, &table);
    place_finish(&table);
    child(&root, "table", 0, &table);
    child(&table, ".tablefuse", -ENOENT, &none); /* at the root alone */
    child(&table, "part", 0, &partition);
    child(&partition, "x.txt", -ENOENT, &none);
    char long_name[300];
    memset(long_name, 'x', sizeof(long_name));
    long_name[256] = '\0';
    child(&partition, long_name, -ENAMETOOLONG, &none);
    place_finish(&partition);
    place_finish(&table);
    place_finish(&root);
}

static void the_control_directory_is_at_the_root_even_of_a_table(void **state)
{
    (void)state;
    struct place root, control, file;
    assert_int_equal(place_root("packages", &root), 0);
    assert_int_equal(place_directory(&root).kind, DIRECTORY_FLAT);
    child(&root, ".tablefuse", 0, &control);
    assert_int_equal(control.kind, PLACE_CONTROL_DIRECTORY);
    child(&control, "errors", 0, &file);
    assert_int_equal(file.control_file, CONTROL_ERRORS);
    child(&control, "nothing", -ENOENT, &file);
    place_finish(&root);
}

static void a_cut_name_is_a_range_until_its_key_is_found(void **state)
{
    (void)state;
    struct place root, partition, cut, entity;
    char key[300];
    memset(key, 'k', sizeof(key));
    struct buffer name;
    buffer_init(&name, NAME_MAX_BYTES);
    assert_int_equal(place_root("packages", &root), 0);
    assert_int_equal(names_encode((struct bytes){key, 300}, NAME_PARTITION, &name), 0);
    child(&root, buffer_string(&name), 0, &cut);
    assert_true(cut.is_cut);
    struct directory directory = place_directory(&cut);
    assert_int_equal(directory.kind, DIRECTORY_FLAT);
    assert_bytes(directory.range.lo, (struct bytes){key, 237});
    key[236] = 'l';
    assert_bytes(directory.range.hi, (struct bytes){key, 237});
    key[236] = 'k';
    place_finish(&cut);
    child(&root, "p", 0, &partition);
    buffer_clear(&name);
    assert_int_equal(names_encode((struct bytes){key, 300}, NAME_ENTITY, &name), 0);
    child(&partition, buffer_string(&name), 0, &cut);
    directory = place_directory(&cut);
    assert_int_equal(directory.kind, DIRECTORY_ENTITIES);
    assert_int_equal(directory.range.lo.size, 2 + 232);
    assert_true(range_is_in_partition(directory.range));
    assert_int_equal(place_of_key(&partition, (struct bytes){key, 300}, &entity), 0);
    assert_bytes(position_row_key(place_address(&entity).position), (struct bytes){key, 300});
    place_finish(&entity);
    place_finish(&cut);
    place_finish(&partition);
    place_finish(&root);
    buffer_finish(&name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_become_keys),
        cmocka_unit_test(names_that_are_never_there),
        cmocka_unit_test(the_control_directory_is_at_the_root_even_of_a_table),
        cmocka_unit_test(a_cut_name_is_a_range_until_its_key_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
