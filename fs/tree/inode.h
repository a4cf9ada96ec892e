#ifndef FS_TREE_INODE_H
#define FS_TREE_INODE_H
/* The nodes that the kernel knows. A node id is a 64-bit counter, never used again. A node is ONE
 * VERSION: the kernel keeps one size and one page cache a node, so an entity that changed gets a
 * new node (with the same st_ino) and nobody's text is ever cut or mixed. A directory's node is
 * (parent node, name), never shared by two spellings of a path.
 *
 * Any thread; one leaf mutex. A struct inode does not change but for its guarded fields, and lives
 * as long as the kernel counts a lookup of it: for the length of any request on it, so handlers use
 * the pointer without a lock. */
#include "client/page.h"
#include "fs/tree/place.h"

#define INODE_ROOT 1 /* FUSE's id for the root */

struct version { /* of an entity; of anything else: all zero */
    struct bytes etag;
    uint64_t size;
    int64_t timestamp; /* 100 ns since 1970 */
};

struct version version_of_entity(const struct entity *entity); /* a view into its page */

/* There may be millions of them: what is rarely asked for is found by a function. */
struct inode {
    uint64_t id, number; /* node id, st_ino */
    uint64_t parent;     /* node id */
    struct place place;
    uint64_t size; /* of its version, as the timestamp */
    int64_t timestamp;
};

struct bytes inode_name(const struct inode *inode); /* in its parent; a view */
bool inode_is_version(const struct inode *inode, const struct version *version);

struct inode_table;
/* takes the root's place on success */
int inode_table_create(struct place *root, struct inode_table **ret);
void inode_table_destroy(struct inode_table *table); /* takes NULL */

/* The node `name` in `parent`, in this version, with one more lookup counted: known, or made with a
 * copy of what is given. A node that is made takes *place (it is emptied), and the number of the
 * node that had the name before, else `number`. NULL: out of memory. */
const struct inode *inode_table_enter(struct inode_table *table, uint64_t parent, struct bytes name,
                                      struct place *place, const struct version *version,
                                      uint64_t number);
const struct inode *inode_table_find(struct inode_table *table, uint64_t id); /* NULL: unknown */
void inode_table_forget(struct inode_table *table, uint64_t id, uint64_t lookups);
/* The number of the node that has this name now; 0: there is none. */
uint64_t inode_table_number(struct inode_table *table, uint64_t parent, struct bytes name);
size_t inode_table_count(struct inode_table *table);

/* While a node's text is open somewhere, an open of the node can be answered with it even when the
 * service has a newer one. The entity is of the node's version. 0 or -ENOMEM: then it does
 * not count as open. */
int inode_table_opened(struct inode_table *table, uint64_t id, const struct entity *entity);
void inode_table_closed(struct inode_table *table, uint64_t id);
/* the caller's to finish */
bool inode_table_open_text(struct inode_table *table, uint64_t id, struct entity *ret);

DEFINE_CLEANUP(struct inode_table *, inode_table_destroy);

#endif
