/* SPDX-License-Identifier: MIT */
#ifndef FS_TREE_NODE_INDEX_H
#define FS_TREE_NODE_INDEX_H
/* The nodes of the inode table by id and by name. Private to the table, which owns the nodes and
 * whose lock guards the index. Zeros are an empty index. A name may have several nodes: first those
 * of the kind NODE_VERSION, then the others, in both groups the youngest first. */
#include "fs/tree/node.h"

RB_HEAD(id_tree, node);
RB_HEAD(name_tree, node);

struct node_index {
    struct id_tree ids;
    struct name_tree names;
    size_t count, own_count; /* own nodes: of another kind than NODE_VERSION */
};

void node_index_add(struct node_index *index, struct node *node);
void node_index_remove(struct node_index *index, struct node *node);
bool node_has_name(const struct node *node, uint64_t parent, struct bytes name);
/* Each of these returns NULL if there is none. */
struct node *node_index_find(struct node_index *index, uint64_t id);
struct node *node_index_after(struct node_index *index, uint64_t id); /* with the next greater id */
struct node *node_index_next(struct node *node);                      /* likewise */
/* The first node of the name; and the next one. */
struct node *node_index_find_name(struct node_index *index, uint64_t parent, struct bytes name);
struct node *node_index_next_of_name(struct node *node);
/* The first NODE_VERSION of the name, and the first of another kind. */
struct node *node_index_find_version(struct node_index *index, uint64_t parent, struct bytes name);
struct node *node_index_find_own(struct node_index *index, uint64_t parent, struct bytes name);

#endif
