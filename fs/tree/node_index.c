/* SPDX-License-Identifier: MIT */
#include "fs/tree/node_index.h"

static int compare_ids(const struct node *a, const struct node *b)
{
    return (a->inode.id > b->inode.id) - (a->inode.id < b->inode.id);
}

static int compare_name(uint64_t parent, struct bytes name, const struct node *node)
{
    if (parent != node->inode.parent)
        return parent < node->inode.parent ? -1 : 1;
    return bytes_compare(name, node_name(node));
}

/* Orders the nodes of one name next to each other: versions first, the youngest first. */
static int compare_names(const struct node *a, const struct node *b)
{
    int order = compare_name(a->inode.parent, node_name(a), b);
    if (order == 0)
        order = (a->kind != NODE_VERSION) - (b->kind != NODE_VERSION);
    return order != 0 ? order : compare_ids(b, a);
}

RB_GENERATE_INTERNAL(id_tree, node, by_id, compare_ids, static __attribute__((unused)));
RB_GENERATE_INTERNAL(name_tree, node, by_name, compare_names, static __attribute__((unused)));

void node_index_add(struct node_index *index, struct node *node)
{
    (void)RB_INSERT(id_tree, &index->ids, node);
    (void)RB_INSERT(name_tree, &index->names, node);
    index->count++;
    index->own_count += node->kind != NODE_VERSION;
}

void node_index_remove(struct node_index *index, struct node *node)
{
    (void)RB_REMOVE(name_tree, &index->names, node);
    (void)RB_REMOVE(id_tree, &index->ids, node);
    index->count--;
    index->own_count -= node->kind != NODE_VERSION;
}

bool node_has_name(const struct node *node, uint64_t parent, struct bytes name)
{
    return compare_name(parent, name, node) == 0;
}

struct node *node_index_find(struct node_index *index, uint64_t id)
{
    struct node probe = {.inode.id = id};
    return RB_FIND(id_tree, &index->ids, &probe);
}

struct node *node_index_after(struct node_index *index, uint64_t id)
{
    struct node probe = {.inode.id = id + 1};
    return RB_NFIND(id_tree, &index->ids, &probe);
}

struct node *node_index_next(struct node *node)
{
    return RB_NEXT(id_tree, NULL, node); /* RB_NEXT ignores the tree */
}

struct node *node_index_find_name(struct node_index *index, uint64_t parent, struct bytes name)
{
    struct node *found = NULL, *node = RB_ROOT(&index->names);
    while (node) {
        int order = compare_name(parent, name, node);
        found = order == 0 ? node : found;
        node = order <= 0 ? RB_LEFT(node, by_name) : RB_RIGHT(node, by_name);
    }
    return found;
}

struct node *node_index_next_of_name(struct node *node)
{
    struct node *next = RB_NEXT(name_tree, NULL, node); /* RB_NEXT ignores the tree */
    return next && node_has_name(next, node->inode.parent, node_name(node)) ? next : NULL;
}

struct node *node_index_find_version(struct node_index *index, uint64_t parent, struct bytes name)
{
    struct node *node = node_index_find_name(index, parent, name);
    return node && node->kind == NODE_VERSION ? node : NULL;
}

struct node *node_index_find_own(struct node_index *index, uint64_t parent, struct bytes name)
{
    struct node *found = NULL, *node = index->own_count > 0 ? RB_ROOT(&index->names) : NULL;
    while (node) {
        int order = compare_name(parent, name, node);
        if (order == 0)
            order = node->kind == NODE_VERSION ? 1 : 0;
        found = order == 0 ? node : found;
        node = order <= 0 ? RB_LEFT(node, by_name) : RB_RIGHT(node, by_name);
    }
    return found;
}
