/* SPDX-License-Identifier: MIT */
#ifndef FS_TREE_INODE_H
#define FS_TREE_INODE_H
/* The nodes that the kernel knows. A node id is a 64-bit counter and is never used again.
 *
 * The node of an entity is for one version of it, because the kernel keeps one size and one page
 * cache for each node. When the entity has changed, the next LOOKUP gets a new node with the same
 * st_ino. So a reader of the old node never sees a cut or mixed text. The node of a directory is
 * for (parent node, name): two spellings of a path have two nodes.
 *
 * A text that is being written has a node of its own. So one name may have several nodes at a time.
 * All have the st_ino of the entity's address (fs/tree/numbers), so that stat of a stored entity
 * and fstat of its writer agree. The kinds of nodes:
 *
 *   - NODE_VERSION: made by LOOKUP and READDIRPLUS; as above. Directories, which have no version,
 *     are of this kind, too. It never becomes a node of another kind
 *   - NODE_WRITER: made by CREATE; and by the LOOKUPs after an OPEN for writing that got ESTALE
 *     (fs/tree/stale_opens), for that opener only. Its text is its writer's
 *   - NODE_SCRATCH: for a scratch file, whose text it has. A scratch file has one node for all its
 *     names and paths, because the kernel caches its pages. So the table has it under parent 0, and
 *     its name is the 8 bytes of its st_ino
 *   - NODE_CONTROL: for a file of `.tablefuse` with a text. A changed text has a new node; the
 *     version consists of its size and time
 *
 * A node has three sorts of fields:
 *
 *   - fixed: struct inode, name, kind, ETag. They are set before the node enters the table and do
 *     not change, with two exceptions: a place may be settled (inode_table_settle), and the number
 *     is set once more before the node leaves its name. Handlers read them through the pointer,
 *     without a lock: struct inode, inode_name, inode_kind, inode_is_version
 *   - guarded: the number of lookups; the open text of a version; the writer, scratch file or text
 *     of another kind. They change under the table's mutex, and are used only by functions that
 *     take the table and a node id
 *   - atomic: inode_is_removed and inode_is_renamed, which never become false again
 *
 * A node lives as long as the kernel holds a lookup of it. The kernel does so at least during each
 * request on the node, so a handler may keep the pointer until it has replied.
 *
 * Thread-safety: any thread; the table's leaf mutex. */
#include "client/store/page.h"
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
    uint64_t id;
    /* The st_ino. For an entity it is set when the node leaves its name: see inode_table_number. */
    uint64_t number;
    uint64_t parent; /* node id */
    struct place place;
    uint64_t size;     /* of the version */
    int64_t timestamp; /* of the version */
};

enum node_kind { NODE_VERSION, NODE_WRITER, NODE_SCRATCH, NODE_CONTROL };

struct bytes inode_name(const struct inode *inode); /* in its parent; a view into the node */
enum node_kind inode_kind(const struct inode *inode);
bool inode_is_version(const struct inode *inode, const struct version *version);
bool inode_is_removed(const struct inode *inode); /* see inode_table_remove_name */
bool inode_is_renamed(const struct inode *inode); /* see inode_table_rename_name */

/* The object of a node of another kind than NODE_VERSION: a writer, a scratch file or a text, whose
 * first member is this struct. They belong to rooms above fs/tree, which only counts references. */
struct node_file {
    const struct node_file_ops *ops;
};
struct node_file_ops {
    void (*ref)(struct node_file *file);   /* called under the table's mutex: an atomic count */
    void (*unref)(struct node_file *file); /* called without it */
};

struct inode_table;
/* max_nodes: see inode_table_is_half_full and inode_table_wait. It is no hard limit, because the
 * kernel decides how many nodes it keeps. Takes the root's place on success. 0 or -errno. */
int inode_table_create(struct place *root, size_t max_nodes, struct inode_table **ret);
void inode_table_destroy(struct inode_table *table); /* takes NULL */

/* Returns the youngest NODE_VERSION of `name` in `parent` if it has this version, and was neither
 * removed nor renamed; else a new one. Counts one more lookup of it. Takes *place, which is empty
 * afterwards, also if the node is not new. NULL: out of memory; *place is not taken. */
const struct inode *inode_table_enter(struct inode_table *table, uint64_t parent, struct bytes name,
                                      struct place *place, const struct version *version);
/* The same for a node of another kind: returns the node of the name that has this file, else a new
 * one. `version`: what a new node shows until its file has a newer state; all zero for a new file.
 * number: the st_ino; 0 for a writer's. Takes a reference to `file`; NULL: makes a new node without
 * a file, for a LOOKUP that mints a writer's node; its OPEN will begin the writer. */
const struct inode *inode_table_enter_own(struct inode_table *table, uint64_t parent,
                                          struct bytes name, struct place *place,
                                          const struct version *version, uint64_t number,
                                          enum node_kind kind, struct node_file *file);
/* Counts one more lookup of the node and returns it, if it (still) has this name; else NULL. */
const struct inode *inode_table_enter_again(struct inode_table *table, uint64_t id, uint64_t parent,
                                            struct bytes name);
const struct inode *inode_table_find(struct inode_table *table, uint64_t id); /* NULL: unknown */
void inode_table_forget(struct inode_table *table, uint64_t id, uint64_t lookups);
/* The st_ino of a node. For an entity: that of its address; after the node has left its name, the
 * number that it had then or was given then. */
uint64_t inode_table_number(struct inode_table *table, const struct inode *inode);
/* Returns a new number for a scratch file. */
uint64_t inode_table_count_number(struct inode_table *table);
/* Does the name have a node that was not renamed or replaced? */
bool inode_table_has(struct inode_table *table, uint64_t parent, struct bytes name);
/* Does the name have a node of another kind than NODE_VERSION? */
bool inode_table_has_own(struct inode_table *table, uint64_t parent, struct bytes name);
/* Appends the position of the youngest NODE_VERSION of the name, in which a cut name may be
 * settled, and the ETag of the version that the user saw: 1. 0: there is no such node, for example
 * after a RENAME, because the kernel uses the node of the old name for the new one, and sends no
 * LOOKUP until its timeout ends (measured). -ENOMEM or -EFBIG. */
int inode_table_named(struct inode_table *table, uint64_t parent, struct bytes name,
                      struct buffer *ret_position, struct buffer *ret_etag);
size_t inode_table_count(struct inode_table *table);
/* Does the table have more than half of max_nodes? Then READDIRPLUS makes no nodes of entities. */
bool inode_table_is_half_full(struct inode_table *table);

/* The work of fs/kernel/node_keeper. */
struct node_upkeep {
    size_t excess;       /* nodes that the kernel should forget; 0: none */
    bool has_freed_many; /* many nodes were freed since this was last set */
};
/* Waits until there is something to do. When the table has more than 3/4 of max_nodes, and again
 * when some more were made, the excess is what is above half of max_nodes. False:
 * inode_table_end_waiting was called. For one thread. */
bool inode_table_wait(struct inode_table *table, struct node_upkeep *ret);
void inode_table_end_waiting(struct inode_table *table);
/* Chooses at most `max` nodes that are least recently used: no request has named them since this
 * function last visited them. It skips nodes whose text is open and nodes with a file. The kernel
 * may use a chosen node; then it does not forget it. They are in the order in which they were made,
 * so a directory is before its entries. A node may be chosen twice. Returns their number; if it is
 * less than `max`, there are no others now. */
size_t inode_table_choose(struct inode_table *table, uint64_t *ret_ids, size_t max);

/* Settles the places of all nodes that the settlement concerns. 0 or -ENOMEM: then some are not
 * settled. */
int inode_table_settle(struct inode_table *table, const struct settlement *settlement);

/* A directory or file with the name was removed. Processes that have it open keep its nodes, whose
 * link count becomes 0. A new directory or file with the name gets another node: so a process in
 * the removed directory cannot create anything in the new one. */
void inode_table_remove_name(struct inode_table *table, uint64_t parent, struct bytes name);
/* A file was renamed from the first name to the second; a file that had the second name is removed.
 * The kernel keeps the nodes of the first name under the second one until their timeouts end, and
 * opens them there without a LOOKUP. Later files with either name get other nodes. number: the
 * st_ino under the second name; handles that were opened under the first name show it, too. Returns
 * the node that the kernel keeps; 0: none. */
uint64_t inode_table_rename_name(struct inode_table *table, uint64_t parent, struct bytes name,
                                 uint64_t new_parent, struct bytes new_name, uint64_t number);
/* The same for an entity. It keeps its st_ino, and a later entity with the first name gets another
 * one. Otherwise the two would look like hard links of one file. */
uint64_t inode_table_rename_entity(struct inode_table *table, uint64_t parent, struct bytes name,
                                   struct address address, uint64_t new_parent,
                                   struct bytes new_name, struct address new_address);

/* The writer, scratch file or text of a node, referenced. NULL: it has none. */
struct node_file *inode_table_file(struct inode_table *table, uint64_t id);
/* At the OPEN of a minted node: gives it its writer, and takes a reference. False: the node has a
 * writer, because another OPEN was first; or it is unknown. */
bool inode_table_set_file(struct inode_table *table, uint64_t id, struct node_file *file);

/* The file has ended: the node, which may live for long, has none from now on. */
void inode_table_drop_file(struct inode_table *table, uint64_t id, struct node_file *file);

/* A handle of a NODE_VERSION was opened: its text is kept until the last handle is closed. Another
 * open of the node gets this text, even if the service has a newer version. The entity has the
 * node's version. 0 or -ENOMEM: then the handle does not count as open. */
int inode_table_opened(struct inode_table *table, uint64_t id, const struct entity *entity);
void inode_table_closed(struct inode_table *table, uint64_t id);
bool inode_table_is_open(struct inode_table *table, uint64_t id); /* is there a handle or file? */
/* The text, if a handle of the node is open. The caller finishes ret. */
bool inode_table_open_text(struct inode_table *table, uint64_t id, struct entity *ret);

DEFINE_CLEANUP(struct inode_table *, inode_table_destroy);

#endif
