/* SPDX-License-Identifier: MIT */
/* Nodes whose names were removed or renamed. */
#include "tests/unit/fs/tree/inode_fixture.h"

#include <pthread.h>

DEFINE_OBJECT_FIXTURE(table, new_table(1000), inode_table_destroy)

/* The kernel keeps the node of a directory that was removed while a process is in it. */
static void what_is_made_under_a_removed_name_is_another_node(void **state)
{
    struct inode_table *table = *state;
    const struct inode *first = enter(table, INODE_ROOT, "a", ""),
                       *beside = enter(table, INODE_ROOT, "b", "");
    assert_false(inode_is_removed(first));
    inode_table_remove_name(table, INODE_ROOT, B("a"));
    inode_table_remove_name(table, INODE_ROOT, B("none"));
    assert_true(inode_is_removed(first));
    assert_false(inode_is_removed(beside));
    const struct inode *second = enter(table, INODE_ROOT, "a", "");
    assert_true(second->id != first->id);
    assert_counted(table, first);
    assert_number(table, second, "a");
    assert_ptr_equal(enter(table, INODE_ROOT, "a", ""), second);
    assert_true(inode_is_removed(first));
    assert_false(inode_is_removed(second));
    inode_table_remove_name(table, INODE_ROOT, B("a"));
    assert_true(inode_is_removed(second));
}

static void rename_entity(struct inode_table *table, const char *from, const char *to)
{
    struct place places[] = {place_of(from), place_of(to)};
    inode_table_rename_entity(table, INODE_ROOT, bytes_of(from), place_address(&places[0]),
                              INODE_ROOT, bytes_of(to), place_address(&places[1]));
    place_finish(&places[0]);
    place_finish(&places[1]);
}

static void nodes_of_a_renamed_name_are_not_those_of_the_next(void **state)
{
    struct inode_table *table = *state;
    const struct inode *moved = enter(table, INODE_ROOT, "a", "v1"),
                       *replaced = enter(table, INODE_ROOT, "b", "v2");
    rename_entity(table, "a", "b");
    assert_true(inode_is_renamed(moved));
    assert_false(inode_is_removed(moved));
    assert_true(inode_is_removed(replaced));
    assert_false(inode_is_renamed(replaced));
    _cleanup_(buffer_finish) struct buffer etag = {.max = 1000}, position = {.max = 1000};
    assert_int_equal(inode_table_named(table, INODE_ROOT, B("a"), &position, &etag), 0);
    assert_int_equal(inode_table_named(table, INODE_ROOT, B("b"), &position, &etag), 0);
    const struct inode *now = enter(table, INODE_ROOT, "b", "v2"),
                       *next = enter(table, INODE_ROOT, "a", "v1");
    assert_true(now != replaced && next != moved);
    assert_number(table, moved, "a");
    assert_number(table, now, "a");
    assert_counted(table, replaced);
    assert_number(table, next, "b");
    assert_ptr_equal(enter(table, INODE_ROOT, "b", "v2"), now);
    assert_int_equal(inode_table_named(table, INODE_ROOT, B("b"), &position, &etag), 1);
    rename_entity(table, "b", "none");
    assert_true(inode_is_renamed(now));
    assert_true(inode_is_removed(replaced)); /* as before */
    assert_number(table, enter(table, INODE_ROOT, "b", "v3"), "none");
}

static void a_renamed_file_keeps_its_number(void **state)
{
    struct inode_table *table = *state;
    const struct inode *a = enter(table, INODE_ROOT, "a", "v1");
    (void)enter(table, INODE_ROOT, "b", "v2");
    inode_table_remove_name(table, INODE_ROOT, B("b"));
    rename_entity(table, "a", "b");
    assert_false(inode_table_has(table, INODE_ROOT, B("a")));
    /* within the timeout: no node of b is made before */
    rename_entity(table, "b", "c");
    assert_number(table, a, "a");
    const struct inode *c = enter(table, INODE_ROOT, "c", "v3");
    assert_number(table, c, "a");
    inode_table_forget(table, a->id, 1);
    assert_number(table, enter(table, INODE_ROOT, "c", "v4"), "a");
    /* three files have three numbers again */
    assert_number(table, enter(table, INODE_ROOT, "a", "v5"), "b");
    assert_number(table, enter(table, INODE_ROOT, "b", "v5"), "c");
    /* and their own ones, when each has its name again */
    rename_entity(table, "c", "d");
    rename_entity(table, "b", "c");
    rename_entity(table, "a", "b");
    rename_entity(table, "d", "a");
    const char *const names[] = {"a", "b", "c", "d"};
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        assert_number(table, enter(table, INODE_ROOT, names[i], "v6"), names[i]);
}

/* The kernel keeps the entity's node under the name of the backup. */
static void a_backup_has_a_number_of_its_own(void **state)
{
    struct inode_table *table = *state;
    const struct inode *a = enter(table, INODE_ROOT, "a", "v1");
    uint64_t number = inode_table_count_number(table);
    assert_int_equal(number, 2);
    assert_int_equal(
        inode_table_rename_name(table, INODE_ROOT, B("a"), INODE_ROOT, B("a~"), number), a->id);
    assert_int_equal(inode_table_number(table, a), number);
    assert_number(table, enter(table, INODE_ROOT, "a", "v2"), "a");
    assert_int_equal(
        inode_table_rename_name(table, INODE_ROOT, B("none"), INODE_ROOT, B("b"), number), 0);
    assert_int_equal(inode_table_count_number(table), 3);
}

struct numbered {
    struct inode_table *table;
    const struct inode *inode;
    uint64_t number;
};

/* NULL: it is the same until the rename has ended. */
static void *ask_number(void *context)
{
    const struct numbered *numbered = context;
    while (!inode_is_renamed(numbered->inode))
        if (inode_table_number(numbered->table, numbered->inode) != numbered->number)
            return context;
    return NULL;
}

static void a_number_does_not_change_while_the_file_is_renamed(void **state)
{
    struct inode_table *table = *state;
    for (int i = 0; i < 2000; i++) {
        const char *from = i % 2 ? "b" : "a", *to = i % 2 ? "a" : "b";
        struct numbered numbered = {table, enter(table, INODE_ROOT, from, "v1"), 0};
        numbered.number = inode_table_number(table, numbered.inode);
        pthread_t thread;
        void *differs;
        assert_int_equal(pthread_create(&thread, NULL, ask_number, &numbered), 0);
        rename_entity(table, from, to);
        assert_int_equal(pthread_join(thread, &differs), 0);
        assert_null(differs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_WITH(table, what_is_made_under_a_removed_name_is_another_node),
        TEST_WITH(table, nodes_of_a_renamed_name_are_not_those_of_the_next),
        TEST_WITH(table, a_renamed_file_keeps_its_number),
        TEST_WITH(table, a_backup_has_a_number_of_its_own),
        TEST_WITH(table, a_number_does_not_change_while_the_file_is_renamed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
