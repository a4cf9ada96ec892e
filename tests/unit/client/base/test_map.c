/* SPDX-License-Identifier: MIT */
#include "client/base/map.h"
#include "tests/unit/unit.h"

struct record {
    struct map_item item;
    int value;
};

static struct map_key key(const char *head, const char *tail)
{
    return (struct map_key){bytes_of(head), bytes_of(tail)};
}

static struct record *add(struct map *map, struct map_key of, int value)
{
    struct record *record = map_create(sizeof(*record), of, 0);
    assert_non_null(record);
    record->value = value;
    map_add(map, record);
    return record;
}

static void drop(struct map *map, struct record *record)
{
    map_remove(map, record);
    free(record);
}

static void drop_all(struct map *map)
{
    while (map->count > 0)
        drop(map, map_oldest(map));
    assert_int_equal(map->bytes, 0);
    assert_null(map_newest(map));
    assert_null(map_find(map, key("", "")));
}

static void a_key_is_the_bytes_of_both_its_parts(void **state)
{
    (void)state;
    struct map map;
    map_init(&map);
    struct record *record = add(&map, key("ab", "cd"), 7);
    assert_ptr_equal(map_find(&map, key("ab", "cd")), record);
    assert_ptr_equal(map_find(&map, key("", "abcd")), record);
    assert_ptr_equal(map_find(&map, key("abcd", "")), record);
    assert_ptr_equal(map_find(&map, key("abc", "d")), record);
    assert_null(map_find(&map, key("ab", "c")));
    assert_null(map_find(&map, key("abcd", "e")));
    assert_null(map_find(&map, key("abcde", "")));
    assert_null(map_find(&map, key("", "")));
    assert_bytes(record->item.key, B("abcd"));
    uint64_t number = 1, other = 256;
    record = add(&map, MAP_NUMBER(number), 8);
    assert_ptr_equal(map_find(&map, MAP_NUMBER(number)), record);
    assert_null(map_find(&map, MAP_NUMBER(other)));
    drop_all(&map);
}

static void a_record_is_found_among_others(void **state)
{
    (void)state;
    struct map map;
    map_init(&map);
    static const char *const keys[] = {"b", "", "ba", "a", "\xff", "aa"};
    struct record *records[ARRAY_SIZE(keys)];
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        records[i] = add(&map, key(keys[i], ""), (int)i);
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        assert_ptr_equal(map_find(&map, key(keys[i], "")), records[i]);
        drop(&map, records[i]);
        assert_null(map_find(&map, key(keys[i], "")));
    }
    assert_null(map_find(&map, key("\xff", "x")));
    drop_all(&map);
}

static void the_oldest_is_what_was_not_used_for_longest(void **state)
{
    (void)state;
    struct map map;
    map_init(&map);
    struct record *a = add(&map, key("a", ""), 1), *b = add(&map, key("b", ""), 2);
    assert_ptr_equal(map_oldest(&map), a);
    assert_ptr_equal(map_newest(&map), b);
    assert_ptr_equal(map_find(&map, key("a", "")), a);
    assert_ptr_equal(map_oldest(&map), a);
    assert_ptr_equal(map_use(&map, key("a", "")), a);
    assert_ptr_equal(map_oldest(&map), b);
    map_touch(&map, b);
    assert_ptr_equal(map_oldest(&map), a);
    assert_null(map_use(&map, key("c", "")));
    drop_all(&map);
}

static void a_record_counts_what_it_takes(void **state)
{
    (void)state;
    struct map map;
    map_init(&map);
    struct record *a = map_create(sizeof(*a), key("ab", "c"), 10);
    assert_non_null(a);
    assert_int_equal(a->item.bytes, sizeof(*a) + 3 + 10);
    assert_int_equal(a->value, 0);
    memset((char *)a->item.key.data + a->item.key.size, 'x', 10); /* a sanitizer looks */
    map_add(&map, a);
    struct record *b = add(&map, key("b", ""), 2);
    assert_int_equal(map.count, 2);
    assert_int_equal(map.bytes, a->item.bytes + b->item.bytes);
    drop(&map, a);
    assert_int_equal(map.count, 1);
    assert_int_equal(map.bytes, b->item.bytes);
    drop_all(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_the_bytes_of_both_its_parts),
        cmocka_unit_test(a_record_is_found_among_others),
        cmocka_unit_test(the_oldest_is_what_was_not_used_for_longest),
        cmocka_unit_test(a_record_counts_what_it_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
