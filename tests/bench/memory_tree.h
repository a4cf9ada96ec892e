/* SPDX-License-Identifier: MIT */
#ifndef TESTS_BENCH_MEMORY_TREE_H
#define TESTS_BENCH_MEMORY_TREE_H
/* An account, read once, as a tree in memory: tables, partitions and entities under the names that
 * a mount with layout=flat gives them. Read-only once it is there: any thread, no lock.
 *
 * A node is known by its index; the root's is MEMORY_TREE_ROOT. After a node stand its children,
 * each with all that is below it, in the order of keys: the first child of a node is the one after
 * it, the next child stands where the last one's part ends. */
#include "client/store/table_store.h"

#define MEMORY_TREE_ROOT 0

struct memory_node {
    uint32_t parent, end; /* index; end: of what is below it */
    uint32_t row;
    struct page *page; /* an entity's, with the row; NULL: a directory */
    uint64_t name;     /* offset */
};

struct memory_tree;
/* Reads page after page; blocks. -errno with the reason in call. */
int memory_tree_create(struct table_store *store, struct call *call, struct memory_tree **ret);
void memory_tree_destroy(struct memory_tree *tree); /* takes NULL */

const struct memory_node *memory_tree_node(const struct memory_tree *tree, uint32_t node);
const char *memory_tree_name(const struct memory_tree *tree, uint32_t node);
bool memory_tree_find(const struct memory_tree *tree, uint32_t parent, struct bytes name,
                      uint32_t *ret);

DEFINE_CLEANUP(struct memory_tree *, memory_tree_destroy);

#endif
