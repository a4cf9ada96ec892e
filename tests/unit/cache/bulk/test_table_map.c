/* SPDX-License-Identifier: MIT */
/* What rows tell, in pages that end anywhere. */
#include "cache/bulk/table_map.h"
#include "tests/unit/unit.h"

struct row {
    struct bytes partition_key, row_key, text;
};

static struct page *page_of_rows(const struct row *rows, size_t count)
{
    _cleanup_(page_builder_destroyp) struct page_builder *builder = NULL;
    _cleanup_(buffer_finish) struct buffer position = {.max = POSITION_MAX_BYTES};
    struct page *page;
    assert_int_equal(page_builder_create(1 << 20, &builder), 0);
    for (size_t i = 0; i < count; i++) {
        buffer_clear(&position);
        assert_int_equal(position_append(&position, rows[i].partition_key, rows[i].row_key), 0);
        (void)buffer_append(page_builder_text(builder), rows[i].text);
        assert_int_equal(page_builder_end_row(builder, buffer_bytes(&position), B("e"), 1), 0);
    }
    assert_int_equal(page_builder_finish(builder, (struct range){0}, false, &page), 0);
    return page;
}

static struct table_map *map_of(const struct row *rows, size_t count, size_t page_rows,
                                struct table_facts *ret)
{
    struct table_map *map;
    assert_int_equal(table_map_create(false, &map), 0);
    for (size_t i = 0; i < count; i += page_rows) {
        size_t size = MIN(page_rows, count - i);
        struct run run = {page_of_rows(rows + i, size), 0, size};
        assert_int_equal(table_map_add(map, &run), 0);
        run_finish(&run);
    }
    assert_int_equal(table_map_finish(map, ret), 0);
    return map;
}

static void test_facts(void **state)
{
    (void)state;
    char text[300], wide[86 * 3 + 1] = "";
    memset(text, 'k', sizeof(text));
    for (size_t i = 0; i < 258; i++)
        wide[i] = "\xe6\x97\xa5"[i % 3];
    char emoji[43 * 6]; /* 43 pairs: 258 bytes of CESU-8, 172 of UTF-8 */
    for (size_t i = 0; i < 258; i++)
        emoji[i] = "\xed\xa0\xbd\xed\xb8\x80"[i % 6];
    const struct row rows[] = {
        {B(""), B("1"), B("12345")},
        {B("a"), (struct bytes){text, 250}, B("1")},
        {B("a"), (struct bytes){text, 251}, B("22")},
        {B("b"), B("1"), B("")},
        {B("b"), B("2"), B("")},
        {(struct bytes){text, 256}, B(""), B("")},
        {(struct bytes){text, 300}, (struct bytes){wide, 258}, B("")},
        {(struct bytes){emoji, 258}, (struct bytes){emoji, 258}, B("")},
    };
    for (size_t page_rows = 1; page_rows <= ARRAY_SIZE(rows); page_rows++) {
        struct table_facts facts;
        struct table_map *map = map_of(rows, ARRAY_SIZE(rows), page_rows, &facts);
        assert_int_equal(facts.all->counts.entities, 8);
        assert_int_equal(facts.all->counts.partitions, 6);
        assert_int_equal(facts.all->counts.bytes, 8);
        assert_bytes(facts.largest_key, B("a"));
        assert_int_equal(facts.largest_entities, 2);
        assert_int_equal(facts.single_partitions, 4);
        assert_int_equal(facts.long_partition_keys, 2);
        assert_int_equal(facts.long_row_keys, 2);
        assert_int_equal(facts.growth.kind, KEY_GROWTH_NONE);
        table_map_destroy(map);
    }
}

static void test_nothing(void **state)
{
    (void)state;
    struct table_facts facts;
    struct table_map *map = map_of(NULL, 0, 1, &facts);
    assert_int_equal(facts.all->counts.entities, 0);
    assert_int_equal(facts.single_partitions, 0);
    assert_int_equal(facts.largest_entities, 0);
    table_map_destroy(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
