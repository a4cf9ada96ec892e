/* SPDX-License-Identifier: MIT */
/* The limit on nodes: when there are too many, and which ones the kernel is asked to forget. */
#include "tests/unit/fs/tree/inode_fixture.h"
#include "tests/unit/page_of.h"
#include "tests/unit/threads.h"

#define MAX_NODES 100
#define MANY      76 /* more than 3/4 of it */

/* Enters nodes named from `from` on, below `to`. Answers the id of the last one. */
static uint64_t enter_many(struct inode_table *table, unsigned from, unsigned to)
{
    uint64_t id = 0;
    for (; from < to; from++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "%u", from);
        id = enter(table, INODE_ROOT, name, "v1")->id;
    }
    return id;
}

static void above_half_of_the_limit_the_table_is_half_full(void **state)
{
    (void)state;
    _cleanup_(inode_table_destroyp) struct inode_table *table =
        new_table(MAX_NODES); /* has the root's node */
    (void)enter_many(table, 1, MAX_NODES / 2);
    assert_false(inode_table_is_half_full(table));
    uint64_t last = enter(table, INODE_ROOT, "more", "v1")->id;
    assert_true(inode_table_is_half_full(table));
    inode_table_forget(table, last, 1);
    assert_false(inode_table_is_half_full(table));
}

DEFINE_OBJECT_FIXTURE(table, new_table(MAX_NODES), inode_table_destroy)

static void near_the_limit_there_is_an_excess(void **state)
{
    struct inode_table *table = *state;
    struct node_upkeep upkeep;
    (void)enter_many(table, 1, MANY); /* and the root's */
    assert_true(inode_table_wait(table, &upkeep));
    assert_int_equal(upkeep.excess, MANY - MAX_NODES / 2);
    assert_false(upkeep.has_freed_many);
    /* the kernel has forgotten nothing: it is asked again when some nodes more were made */
    (void)enter_many(table, MANY, MANY + 7);
    assert_true(inode_table_wait(table, &upkeep));
    assert_int_equal(upkeep.excess, MANY + 7 - MAX_NODES / 2);
    inode_table_end_waiting(table);
    assert_false(inode_table_wait(table, &upkeep));
    assert_int_equal(upkeep.excess, 0);
}

static void much_that_is_forgotten_is_told(void **state)
{
    struct inode_table *table = *state;
    struct node_upkeep upkeep;
    for (size_t i = 0; i < 65536; i++)
        inode_table_forget(table, enter(table, INODE_ROOT, "a", "v1")->id, 1);
    assert_true(inode_table_wait(table, &upkeep));
    assert_true(upkeep.has_freed_many);
    assert_int_equal(upkeep.excess, 0);
    inode_table_end_waiting(table);
    assert_false(inode_table_wait(table, &upkeep));
    assert_false(upkeep.has_freed_many);
}

struct waiter {
    struct inode_table *table;
    size_t excess; /* all that was answered */
};

static void *wait_for_upkeep(void *context)
{
    struct waiter *waiter = context;
    struct node_upkeep upkeep;
    for (; inode_table_wait(waiter->table, &upkeep) && upkeep.excess == 0;)
        continue;
    waiter->excess = upkeep.excess;
    return NULL;
}

static void a_thread_waits_for_the_excess_and_for_the_end(void **state)
{
    (void)state;
    struct waiter waiter = {.table = new_table(MAX_NODES)};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, wait_for_upkeep, &waiter), 0);
    (void)enter_many(waiter.table, 1, MANY);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(waiter.excess, MANY - MAX_NODES / 2);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_upkeep, &waiter), 0);
    inode_table_end_waiting(waiter.table);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(waiter.excess, 0);
    inode_table_destroy(waiter.table);
}

static void the_nodes_that_were_not_used_for_longest_are_chosen(void **state)
{
    struct inode_table *table = *state;
    uint64_t ids[10], first = enter_many(table, 1, 2);
    (void)enter_many(table, 2, 6); /* first + 1 to first + 4 */
    assert_non_null(inode_table_find(table, first));
    (void)enter(table, INODE_ROOT, "3", "v1"); /* a LOOKUP of first + 2 */
    assert_int_equal(inode_table_choose(table, ids, 2), 2);
    assert_int_equal(ids[0], first + 1);
    assert_int_equal(ids[1], first + 3);
    inode_table_forget(table, ids[0], 1);
    /* goes on after it, and begins anew: what was used had its second chance */
    assert_int_equal(inode_table_choose(table, ids, 3), 3);
    assert_int_equal(ids[0], first + 4);
    assert_int_equal(ids[1], first);
    assert_int_equal(ids[2], first + 2);
}

static void what_is_used_is_chosen_if_there_is_nothing_else(void **state)
{
    struct inode_table *table = *state;
    uint64_t id, first = enter_many(table, 1, 2);
    assert_int_equal(inode_table_choose(table, &id, 1), 1); /* comes past the root, too */
    for (unsigned i = 2; i < 5000; i++)
        assert_non_null(inode_table_find(table, enter_many(table, i, i + 1)));
    assert_non_null(inode_table_find(table, first));
    assert_int_equal(inode_table_choose(table, &id, 1), 1);
    assert_int_equal(id, first);
}

static void ref_nothing(struct node_file *file)
{
    (void)file;
}

static void open_texts_and_files_are_not_chosen(void **state)
{
    struct inode_table *table = *state;
    static const struct node_file_ops ops = {ref_nothing, ref_nothing};
    static const struct version none;
    struct node_file file = {&ops};
    struct entity entity = {page_of("a", "z", "r", "text"), 0};
    struct place place = {.kind = PLACE_ENTITY};
    uint64_t ids[10], open = enter_many(table, 1, 2);
    assert_int_equal(inode_table_opened(table, open, &entity), 0);
    uint64_t own =
        inode_table_enter_own(table, INODE_ROOT, B("w"), &place, &none, 7, NODE_WRITER, &file)->id;
    assert_int_equal(inode_table_choose(table, ids, ARRAY_SIZE(ids)), 0);
    inode_table_closed(table, open);
    assert_int_equal(inode_table_choose(table, ids, 1), 1);
    assert_int_equal(ids[0], open);
    inode_table_forget(table, open, 1);
    inode_table_drop_file(table, own, &file);
    assert_int_equal(inode_table_choose(table, ids, 1), 1);
    assert_int_equal(ids[0], own);
    entity_finish(&entity);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(above_half_of_the_limit_the_table_is_half_full),
        TEST_WITH(table, near_the_limit_there_is_an_excess),
        TEST_WITH(table, much_that_is_forgotten_is_told),
        cmocka_unit_test(a_thread_waits_for_the_excess_and_for_the_end),
        TEST_WITH(table, the_nodes_that_were_not_used_for_longest_are_chosen),
        TEST_WITH(table, what_is_used_is_chosen_if_there_is_nothing_else),
        TEST_WITH(table, open_texts_and_files_are_not_chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
