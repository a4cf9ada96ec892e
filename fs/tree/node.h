/* SPDX-License-Identifier: MIT */
#ifndef FS_TREE_NODE_H
#define FS_TREE_NODE_H
/* One node of the inode table (fs/tree/inode.h). Private to the table, which owns its nodes and
 * whose lock guards the fields that change. */
#include "fs/tree/inode.h"

#include <bsd/sys/tree.h>
#include <stdatomic.h>
#include <sys/queue.h>

struct open_text;

enum left { LEFT_NOT, LEFT_REMOVED, LEFT_REPLACED, LEFT_RENAMED };

struct node {
    /* fixed once the node is in the table */
    struct inode inode; /* first: what handlers see */
    uint16_t name_size, etag_size;
    bool is_regular_etag; /* it is made of the Timestamp, so it is not kept in `text` */
    uint8_t kind;         /* enum node_kind: says which member of the union is meant */
    atomic_uchar left;    /* enum left: why it is not of its name any more */
    /* guarded by the table's lock */
    bool is_unsettled : 1; /* the place: then the node is in the list of these */
    bool is_used : 1;      /* since inode_table_choose looked at it last */
    uint64_t lookups;
    union {
        struct open_text *open; /* of a NODE_VERSION; NULL: no handle is open */
        struct node_file *file; /* of others; NULL: none yet */
    };
    RB_ENTRY(node) by_id, by_name;
    LIST_ENTRY(node) of_unsettled;
    /* fixed */
    char text[]; /* name, ETag */
};
_Static_assert(sizeof(struct node) <= 160, "the kernel may keep millions of nodes");

/* A node that is in no table yet, of the kind NODE_VERSION. NULL: out of memory; else takes *place.
 */
struct node *node_create(uint64_t parent, struct bytes name, struct place *place,
                         const struct version *version, uint64_t number);
/* Not under the table's lock. */
void node_destroy(struct node *node);

static inline struct bytes node_name(const struct node *node) /* a view into the node */
{
    return (struct bytes){node->text, node->name_size};
}
int node_append_etag(const struct node *node, struct buffer *ret); /* 0, -ENOMEM or -EFBIG */

/* The text of a NODE_VERSION while handles of it are open. -ENOMEM: then it does not count. */
int node_open(struct node *node, const struct entity *entity);
/* NULL, or the text of the last handle: the caller destroys it, not under the table's lock. */
struct open_text *node_close(struct node *node);
void open_text_destroy(struct open_text *open);                 /* takes NULL */
const struct entity *node_open_entity(const struct node *node); /* NULL: no handle is open */

#endif
