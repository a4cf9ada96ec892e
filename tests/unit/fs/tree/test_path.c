/* SPDX-License-Identifier: MIT */
/* The directories of a path, by the nodes that the kernel has looked up. */
#include "fs/tree/path.h"
#include "tests/unit/failing_memory.h"
#include "tests/unit/unit.h"

struct setup {
    struct inode_table *inodes;
    const struct inode *inode; /* the last one of the path */
};

static void set_up(struct setup *setup, const char *table, const char *path)
{
    struct place root, place;
    struct bytes rest = bytes_of(path);
    assert_int_equal(place_root(table, DIRECTORY_AUTO, &root), 0);
    assert_int_equal(inode_table_create(&root, 1000000, &setup->inodes), 0);
    setup->inode = inode_table_find(setup->inodes, INODE_ROOT);
    while (rest.size > 0) {
        struct bytes name = bytes_take_until(&rest, '/');
        assert_int_equal(place_child(&setup->inode->place, name, &place), 0);
        setup->inode =
            inode_table_enter(setup->inodes, setup->inode->id, name, &place, &(struct version){0});
        assert_non_null(setup->inode);
    }
}

/* Each step as its table and range.lo, with / for NUL and a blank after it. */
static void append_steps(const struct directory *steps, size_t n, struct buffer *ret)
{
    for (size_t i = 0; i < n; i++) {
        struct bytes lo = steps[i].range.lo;
        (void)buffer_append_format(ret, "%s:", steps[i].table);
        for (size_t k = 0; k < lo.size; k++)
            (void)buffer_append(ret, lo.data[k] ? (struct bytes){lo.data + k, 1} : B("/"));
        (void)buffer_append_char(ret, ' ');
    }
}

static void assert_path(const char *table, const char *path, const char *child,
                        const char *expected)
{
    struct setup setup;
    struct place place = {0};
    struct directory *steps = NULL;
    struct directory_path made;
    _cleanup_(buffer_finish) struct buffer told = {.max = 1000};
    set_up(&setup, table, path);
    if (child)
        assert_int_equal(place_child(&setup.inode->place, bytes_of(child), &place), 0);
    assert_int_equal(path_make(setup.inodes, setup.inode, child ? &place : NULL, &steps, &made), 0);
    assert_ptr_equal(made.steps, steps);
    assert_int_equal(made.is_flat, strstr(path, ".flat") || strstr(path, "Tab/.filter"));
    assert_int_equal(made.filter != NULL, strstr(path, ".filter") != NULL);
    append_steps(steps, made.n, &told);
    assert_string_equal(buffer_string(&told), expected);
    free(steps);
    place_finish(&place);
    inode_table_destroy(setup.inodes);
}

static void a_path_ends_at_the_table(void **state)
{
    (void)state;
    assert_path(NULL, "Tab/p", NULL, "Tab:p/ Tab: ");
    assert_path(NULL, "Tab", "p", "Tab:p/ Tab: ");
    assert_path(NULL, "Tab/N+/Ne+", "New", "Tab:New/ Tab:Ne Tab:N Tab: ");
    assert_path(NULL, "Tab/N+/Ne+/New", NULL, "Tab:New/ Tab:Ne Tab:N Tab: ");
    assert_path(NULL, "Tab/p/2024+", NULL, "Tab:p/2024 Tab:p/ Tab: ");
    assert_path(NULL, "Tab", NULL, "Tab: ");
    assert_path(NULL, "", "Tab", "Tab: ");
}

/* It has the range of the directory that contains it. */
static void flat_is_no_step(void **state)
{
    (void)state;
    assert_path(NULL, "Tab/.flat", "New", "Tab:New/ Tab: ");
    assert_path(NULL, "Tab/N+/.flat/New", NULL, "Tab:New/ Tab:N Tab: ");
    assert_path(NULL, "Tab/.flat", NULL, "Tab: ");
}

static void filters_are_no_steps(void **state)
{
    (void)state;
    assert_path(NULL, "Tab/.filter/A", "New", "Tab:New/ Tab: ");
    assert_path(NULL, "Tab/.filter/A/.filter/B/New", NULL, "Tab:New/ Tab: ");
    assert_path(NULL, "Tab/.filter/A/New/1+", NULL, "Tab:New/1 Tab:New/ Tab: ");
    assert_path(NULL, "Tab/N+/New/.filter/A", NULL, "Tab:New/ Tab:N Tab: ");
}

static void the_root_may_be_a_table(void **state)
{
    (void)state;
    assert_path("Tab", "N+", "New", "Tab:New/ Tab:N Tab: ");
    assert_path("Tab", "", "p", "Tab:p/ Tab: ");
    assert_path("Tab", ".flat/p", NULL, "Tab:p/ Tab: ");
}

static void without_memory_there_is_no_path(void **state)
{
    (void)state;
    struct setup setup;
    struct directory *steps = NULL;
    struct directory_path made;
    set_up(&setup, NULL, "Tab/p");
    allocations_until_failure = 1;
    assert_int_equal(path_make(setup.inodes, setup.inode, NULL, &steps, &made), -ENOMEM);
    assert_null(steps);
    inode_table_destroy(setup.inodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_ends_at_the_table),
        cmocka_unit_test(flat_is_no_step),
        cmocka_unit_test(filters_are_no_steps),
        cmocka_unit_test(the_root_may_be_a_table),
        cmocka_unit_test(without_memory_there_is_no_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
