/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_FS_TREE_INODE_FIXTURE_H
#define TESTS_UNIT_FS_TREE_INODE_FIXTURE_H
/* What the tests of the table of nodes share: a table, and entities that are entered. */
#include "fs/tree/inode.h"
#include "fs/tree/numbers.h"
#include "tests/unit/fs/tree/place_fixture.h"

static inline struct inode_table *new_table(size_t max_nodes)
{
    struct place root;
    struct inode_table *table;
    assert_int_equal(place_root(NULL, DIRECTORY_AUTO, &root), 0);
    assert_int_equal(inode_table_create(&root, max_nodes, &table), 0);
    return table;
}

/* The entity (p, name) of the table `table`. */
static inline struct place place_of(const char *name)
{
    struct place place;
    char path[64];
    (void)snprintf(path, sizeof(path), "table/p/%s.json", name);
    follow_to(DIRECTORY_AUTO, path, &place);
    return place;
}

static inline const struct inode *enter(struct inode_table *table, uint64_t parent,
                                        const char *name, const char *etag)
{
    struct place place = place_of(name);
    struct version version = {.etag = bytes_of(etag), .size = strlen(etag)};
    const struct inode *inode = inode_table_enter(table, parent, bytes_of(name), &place, &version);
    assert_non_null(inode);
    place_finish(&place);
    return inode;
}

/* It has the number of the address. */
static inline void assert_number(struct inode_table *table, const struct inode *inode,
                                 const char *name)
{
    struct place place = place_of(name);
    assert_int_equal(inode_table_number(table, inode), numbers_hash(place_address(&place)));
    place_finish(&place);
}

/* It has no name any more: its number is that of no address. */
static inline void assert_counted(struct inode_table *table, const struct inode *inode)
{
    assert_in_range(inode_table_number(table, inode), 2, NUMBERS_MIN - 1);
}

#endif
