#ifndef FS_TREE_INODE_H
#define FS_TREE_INODE_H
/* The nodes that the kernel knows. A node id is a 64-bit counter and is never used again.
 *
 * The node of an entity stands for one version of it. The kernel keeps one size and one page cache
 * for each node. So when the entity has changed, the next LOOKUP gets a new node with the same
 * st_ino, and a reader of the old node never sees a cut or mixed text. The node of a directory
 * stands for (parent node, name). Two spellings of a path have two nodes.
 *
 * A node has two sorts of fields:
 *
 *   - fixed: struct inode, its name, its ETag. They are set before the node enters the table and
 *     never change. Handlers read them through the pointer, without a lock: struct inode,
 *     inode_name, inode_is_version.
 *   - guarded: the number of lookups, the text that is open. They change under the table's mutex.
 *     Only functions that take the table and a node id reach them.
 *
 * A node lives as long as the kernel counts a lookup of it. The kernel does so for the length of
 * each request on the node, so a handler may keep the pointer until it has replied.
 *
 * Thread-safety: any thread; the table's leaf mutex. */
#include "client/page.h"
#include "fs/tree/place.h"

#define INODE_ROOT 1 /* FUSE's id for the root */

struct version { /* of an entity; all zero for anything else */
    struct bytes etag;
    uint64_t size;
    int64_t timestamp; /* 100 ns since 1970 */
};

struct version version_of_entity(const struct entity *entity); /* a view into its page */

/* The fixed fields that handlers read often. There may be millions of nodes: the ETag is kept in a
 * shorter form, which only inode_is_version knows. */
struct inode {
    uint64_t id, number; /* node id, st_ino */
    uint64_t parent;     /* node id */
    struct place place;
    uint64_t size;     /* of the version */
    int64_t timestamp; /* of the version */
};

struct bytes inode_name(const struct inode *inode); /* in its parent; a view into the node */
bool inode_is_version(const struct inode *inode, const struct version *version);

struct inode_table;
/* Takes the root's place on success. 0 or -errno. */
int inode_table_create(struct place *root, struct inode_table **ret);
void inode_table_destroy(struct inode_table *table); /* takes NULL */

/* Answers the youngest node of `name` in `parent` if it is of this version, else a new node. Counts
 * one more lookup of it. Takes *place, which is empty afterwards, also if the node is not new. A
 * new node gets the st_ino of the youngest node of the name; if there is none, `number`. NULL: out
 * of memory; *place is not taken. */
const struct inode *inode_table_enter(struct inode_table *table, uint64_t parent, struct bytes name,
                                      struct place *place, const struct version *version,
                                      uint64_t number);
const struct inode *inode_table_find(struct inode_table *table, uint64_t id); /* NULL: unknown */
void inode_table_forget(struct inode_table *table, uint64_t id, uint64_t lookups);
/* The st_ino of the youngest node of the name. 0: there is none. */
uint64_t inode_table_number(struct inode_table *table, uint64_t parent, struct bytes name);
size_t inode_table_count(struct inode_table *table);

/* The text of a node is kept while a handle of the node is open. It answers another open of the
 * node, even when the service has a newer version. The entity is of the node's version. 0 or
 * -ENOMEM: then it does not count as open. */
int inode_table_opened(struct inode_table *table, uint64_t id, const struct entity *entity);
void inode_table_closed(struct inode_table *table, uint64_t id);
/* The text, if a handle of the node is open. The caller finishes ret. */
bool inode_table_open_text(struct inode_table *table, uint64_t id, struct entity *ret);

DEFINE_CLEANUP(struct inode_table *, inode_table_destroy);

#endif
