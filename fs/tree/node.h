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
    bool is_regular_etag; /* the ETag can be made from the Timestamp, and is not kept in `text` */
    uint8_t kind;         /* enum node_kind: says which member of the union is used */
    atomic_uchar left;    /* enum left: why it does not have its name any more */
    /* guarded by the table's lock */
    bool is_unsettled : 1; /* its place is unsettled, and it is in the list of such nodes */
    bool is_used : 1;      /* since inode_table_choose last visited it */
    uint64_t lookups;
    union {
        struct open_text *open; /* of a NODE_VERSION; NULL: no handle is open */
        struct node_file *file; /* of other kinds; NULL: none yet */
    };
    RB_ENTRY(node) by_id, by_name;
    LIST_ENTRY(node) of_unsettled;
    /* fixed */
    char text[]; /* name, ETag */
};
_Static_assert(sizeof(struct node) <= 160, "the kernel may keep millions of nodes");

/* Creates a NODE_VERSION, which is in no table yet. Takes *place. NULL: out of memory; *place is
 * not taken. */
struct node *node_create(uint64_t parent, struct bytes name, struct place *place,
                         const struct version *version, uint64_t number);
/* Must not be called under the table's lock. */
void node_destroy(struct node *node);

static inline struct bytes node_name(const struct node *node) /* a view into the node */
{
    return (struct bytes){node->text, node->name_size};
}
int node_append_etag(const struct node *node, struct buffer *ret); /* 0, -ENOMEM or -EFBIG */

/* A handle of a NODE_VERSION was opened: keeps the text. -ENOMEM: then the handle does not count.
 */
int node_open(struct node *node, const struct entity *entity);
/* A handle was closed. Returns NULL; or, for the last handle, the text, which the caller destroys
 * without the table's lock. */
struct open_text *node_close(struct node *node);
void open_text_destroy(struct open_text *open);                 /* takes NULL */
const struct entity *node_open_entity(const struct node *node); /* NULL: no handle is open */

#endif
