#include "fs/tree/inode.h"
#include "tests/unit/unit.h"

#include <pthread.h>

static struct inode_table *new_table(void)
{
    struct place root;
    struct inode_table *table;
    assert_int_equal(place_root(NULL, DIRECTORY_AUTO, &root), 0);
    assert_int_equal(inode_table_create(&root, &table), 0);
    return table;
}

static const struct inode *enter(struct inode_table *table, uint64_t parent, const char *name,
                                 const char *etag, uint64_t number)
{
    struct place place = {.kind = PLACE_ENTITY};
    struct version version = {.etag = bytes_of(etag), .size = strlen(etag)};
    const struct inode *inode =
        inode_table_enter(table, parent, bytes_of(name), &place, &version, number);
    place_finish(&place);
    return inode;
}

static void a_node_is_one_version(void **state)
{
    (void)state;
    struct inode_table *table = new_table();
    const struct inode *first = enter(table, INODE_ROOT, "a", "v1", 100);
    assert_ptr_equal(enter(table, INODE_ROOT, "a", "v1", 200), first);
    assert_int_equal(first->number, 100);
    assert_bytes(inode_name(first), B("a"));
    const struct inode *second = enter(table, INODE_ROOT, "a", "v2", 300);
    assert_true(second->id != first->id);
    assert_int_equal(second->number, 100); /* the same file to those who look at st_ino */
    assert_true(inode_is_version(first, &(struct version){.etag = B("v1"), .size = 2}));
    assert_ptr_equal(inode_table_find(table, first->id), first);
    assert_int_equal(inode_table_number(table, INODE_ROOT, B("a")), 100);
    /* the old version comes back (a lost race of two lookups): a node of its own again */
    const struct inode *third = enter(table, INODE_ROOT, "a", "v1", 400);
    assert_true(third->id != first->id && third->id != second->id);
    inode_table_destroy(table);
}

/* An ETag that is made of the Timestamp is not kept, and yet tells versions apart. */
static void a_regular_etag_is_a_version_like_any_other(void **state)
{
    (void)state;
    static const char one[] = "W/\"datetime'1970-01-01T00%3A00%3A00.0000001Z'\"",
                      two[] = "W/\"datetime'1970-01-01T00%3A00%3A00.0000002Z'\"",
                      short_one[] = "W/\"datetime'1970-01-01T00%3A00%3A00.000001Z'\"";
    const struct version versions[] = {{B(one), 9, 1}, {B(two), 9, 2},        {B(one), 9, 2},
                                       {B(two), 9, 1}, {B(short_one), 9, 10}, {B(""), 9, 1},
                                       {B(one), 8, 1}};
    struct inode_table *table = new_table();
    for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
        struct place place = {.kind = PLACE_ENTITY};
        const struct inode *node =
            inode_table_enter(table, INODE_ROOT, B("a"), &place, &versions[i], 7);
        for (size_t j = 0; j < ARRAY_SIZE(versions); j++)
            assert_int_equal(inode_is_version(node, &versions[j]), i == j);
        place_finish(&place);
    }
    assert_int_equal(inode_table_count(table), 1 + ARRAY_SIZE(versions));
    inode_table_destroy(table);
}

static void what_is_forgotten_is_gone_and_ids_are_never_used_again(void **state)
{
    (void)state;
    struct inode_table *table = new_table();
    uint64_t id = enter(table, INODE_ROOT, "a", "v1", 100)->id;
    (void)enter(table, INODE_ROOT, "a", "v1", 100);
    inode_table_forget(table, id, 1);
    assert_non_null(inode_table_find(table, id));
    inode_table_forget(table, id, 1);
    assert_null(inode_table_find(table, id));
    assert_int_equal(inode_table_number(table, INODE_ROOT, B("a")), 0);
    assert_true(enter(table, INODE_ROOT, "a", "v1", 100)->id > id);
    assert_int_equal(inode_table_count(table), 2);
    inode_table_forget(table, INODE_ROOT, 1000);
    assert_non_null(inode_table_find(table, INODE_ROOT));
    inode_table_forget(table, 999, 1);
    inode_table_destroy(table);
}

static void forgetting_an_old_version_leaves_the_name_to_the_new(void **state)
{
    (void)state;
    struct inode_table *table = new_table();
    uint64_t old = enter(table, INODE_ROOT, "a", "v1", 100)->id;
    const struct inode *new = enter(table, INODE_ROOT, "a", "v2", 100);
    inode_table_forget(table, old, 1);
    assert_ptr_equal(enter(table, INODE_ROOT, "a", "v2", 100), new);
    inode_table_destroy(table);
}

static void names_are_per_parent(void **state)
{
    (void)state;
    struct inode_table *table = new_table();
    const struct inode *one = enter(table, 1, "a", "", 10), *two = enter(table, 2, "a", "", 20);
    assert_true(one != two);
    assert_int_equal(two->parent, 2);
    assert_ptr_equal(enter(table, 1, "a", "", 30), one);
    inode_table_destroy(table);
}

static struct page *one_row(const char *text)
{
    struct page_builder *builder;
    struct page *page;
    assert_int_equal(page_builder_create(1000, &builder), 0);
    (void)buffer_append_string(page_builder_text(builder), text);
    assert_int_equal(page_builder_end_row(builder, B("p\0r"), B("e"), 1), 0);
    assert_int_equal(page_builder_finish(builder, RANGE_ALL, false, &page), 0);
    page_builder_destroy(builder);
    return page;
}

static void the_text_stays_while_it_is_open(void **state)
{
    (void)state;
    struct inode_table *table = new_table();
    struct entity entity = {one_row("text"), 0}, found = {0};
    uint64_t id = enter(table, 1, "a", "v1", 10)->id;
    assert_false(inode_table_open_text(table, id, &found));
    assert_int_equal(inode_table_opened(table, id, &entity), 0);
    assert_int_equal(inode_table_opened(table, id, &entity), 0);
    entity_finish(&entity);
    inode_table_closed(table, id);
    assert_true(inode_table_open_text(table, id, &found));
    assert_bytes(page_text(found.page, 0), B("text"));
    entity_finish(&found);
    inode_table_closed(table, id);
    assert_false(inode_table_open_text(table, id, &found));
    inode_table_destroy(table);
}

static void *enter_and_forget(void *table)
{
    for (int i = 0; i < 5000; i++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "%d", i % 50);
        const struct inode *inode = enter(table, 1, name, i % 3 ? "v1" : "v2", 1);
        assert_non_null(inode_table_find(table, inode->id));
        inode_table_forget(table, inode->id, 1);
    }
    return NULL;
}

static void threads_share_the_table(void **state)
{
    (void)state;
    struct inode_table *table = new_table();
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, enter_and_forget, table), 0);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(inode_table_count(table), 1);
    inode_table_destroy(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_is_one_version),
        cmocka_unit_test(a_regular_etag_is_a_version_like_any_other),
        cmocka_unit_test(what_is_forgotten_is_gone_and_ids_are_never_used_again),
        cmocka_unit_test(forgetting_an_old_version_leaves_the_name_to_the_new),
        cmocka_unit_test(names_are_per_parent),
        cmocka_unit_test(the_text_stays_while_it_is_open),
        cmocka_unit_test(threads_share_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
