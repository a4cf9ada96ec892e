/* SPDX-License-Identifier: MIT */
#ifndef FS_TREE_INODE_H
#define FS_TREE_INODE_H
/* The nodes that the kernel knows. A node id is a 64-bit counter and is never used again.
 *
 * The node of an entity stands for one version of it. The kernel keeps one size and one page cache
 * for each node. So when the entity has changed, the next LOOKUP gets a new node with the same
 * st_ino, and a reader of the old node never sees a cut or mixed text. The node of a directory
 * stands for (parent node, name). Two spellings of a path have two nodes.
 *
 * A text that is being written has a node of its own. One name may have several nodes at a time,
 * and all have the st_ino of the entity's address (fs/tree/numbers), so that stat of a stored
 * entity and fstat of its writer agree.
 *
 *   - NODE_VERSION: made by LOOKUP and READDIRPLUS; as above. Directories
 *     which have no version, are of this kind, too. It never becomes a node of another kind
 *   - NODE_WRITER: made by CREATE, and by the LOOKUPs that follow an OPEN for writing that was
 *     answered ESTALE (fs/tree/stale_opens), for that opener alone. Its text is its writer's
 *   - NODE_SCRATCH: of a scratch file, whose text it has. A scratch file has one node, whatever its
 *     name and path, because the kernel keeps its pages: in the table, its parent is 0, and its
 *     name are the bytes of its st_ino
 *   - NODE_CONTROL: of a file of `.tablefuse` with a text. A text that has changed is another node,
 *     of the version (size, time of the text)
 *
 * A node has two sorts of fields:
 *
 *   - fixed: struct inode, its name, its kind, its ETag. They are set before the node enters the
 *     table and never change, but for a place that is settled (inode_table_settle), and the number,
 *     which is set once more before the node leaves its name. Handlers read
 *     them through the pointer, without a lock: struct inode, inode_name, inode_kind,
 *     inode_is_version.
 *   - guarded: the number of lookups; of a version the text that is open, else the writer,
 *     scratch file or text. They change under the table's mutex. Only functions that take the table
 * and a node id reach them.
 *   - atomic: inode_is_removed and inode_is_renamed, which never become false again.
 *
 * A node lives as long as the kernel counts a lookup of it. The kernel does so for the length of
 * each request on the node, so a handler may keep the pointer until it has replied.
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
    /* The st_ino. Of an entity it is set when the node leaves its name: see inode_table_number. */
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

/* What a node of another kind than NODE_VERSION stands for: a writer, a scratch file or a text,
 * which has this as its first member. They are above fs/tree, which knows only that they are
 * counted. */
struct node_file {
    const struct node_file_ops *ops;
};
struct node_file_ops {
    void (*ref)(struct node_file *file);   /* is called under the table's mutex: an atomic count */
    void (*unref)(struct node_file *file); /* is called without it */
};

struct inode_table;
/* max_nodes: see inode_table_is_half_full and inode_table_wait. More nodes are not refused: the
 * kernel decides how many it keeps. Takes the root's place on success. 0 or -errno. */
int inode_table_create(struct place *root, size_t max_nodes, struct inode_table **ret);
void inode_table_destroy(struct inode_table *table); /* takes NULL */

/* Answers the youngest NODE_VERSION of `name` in `parent` if it is of this version, and neither
 * removed nor renamed; else a new one. Counts one more lookup of it. Takes *place, which is empty
 * afterwards, also if the node is not new. NULL: out of memory; *place is not taken. */
const struct inode *inode_table_enter(struct inode_table *table, uint64_t parent, struct bytes name,
                                      struct place *place, const struct version *version);
/* The same for a node of another kind: answers the node of the name that has this file, else a new
 * one. `version`: what a new node is to show until its file says more; all zero for a new file.
 * number: the st_ino; 0 for a writer's. `file` is referenced; NULL: a new node without a file,
 * because a LOOKUP mints a writer's node, and its OPEN begins the writer. */
const struct inode *inode_table_enter_own(struct inode_table *table, uint64_t parent,
                                          struct bytes name, struct place *place,
                                          const struct version *version, uint64_t number,
                                          enum node_kind kind, struct node_file *file);
/* Counts one more lookup of a node, if it is (still) one of this name; NULL: it is not. */
const struct inode *inode_table_enter_again(struct inode_table *table, uint64_t id, uint64_t parent,
                                            struct bytes name);
const struct inode *inode_table_find(struct inode_table *table, uint64_t id); /* NULL: unknown */
void inode_table_forget(struct inode_table *table, uint64_t id, uint64_t lookups);
/* The st_ino of a node that is known: of an entity that of its address, or once the node has left
 * its name, what it had or has got then. */
uint64_t inode_table_number(struct inode_table *table, const struct inode *inode);
/* A number for a scratch file. */
uint64_t inode_table_count_number(struct inode_table *table);
/* Has the name a node that was not renamed or replaced? */
bool inode_table_has(struct inode_table *table, uint64_t parent, struct bytes name);
/* Has the name a node of another kind than NODE_VERSION? */
bool inode_table_has_own(struct inode_table *table, uint64_t parent, struct bytes name);
/* What the youngest NODE_VERSION of the name is: the entity's position, in which a cut name is
 * settled, and the ETag that the caller was shown. Both are appended. 1; 0: there is none, as after
 * a RENAME: for the new name the kernel keeps the node of the old one, and sends no LOOKUP until
 * its timeout ends (measured); -ENOMEM or -EFBIG. */
int inode_table_named(struct inode_table *table, uint64_t parent, struct bytes name,
                      struct buffer *ret_position, struct buffer *ret_etag);
size_t inode_table_count(struct inode_table *table);
/* Has the table more than half of max_nodes? Then READDIRPLUS makes no nodes of entities. */
bool inode_table_is_half_full(struct inode_table *table);

/* What there is to do for fs/kernel/node_keeper. */
struct node_upkeep {
    size_t excess;       /* nodes that the kernel should forget; 0: none */
    bool has_freed_many; /* many nodes were forgotten since this was answered last */
};
/* Waits until there is something to do. There is an excess when the table has more than 3/4 of
 * max_nodes, and again when some more were made: the excess is what is above half of max_nodes.
 * False: inode_table_end_waiting was called. For one thread. */
bool inode_table_wait(struct inode_table *table, struct node_upkeep *ret);
void inode_table_end_waiting(struct inode_table *table);
/* Chooses at most `max` nodes that were not used for the longest time: no request has named them
 * since this function came past them last. It skips nodes whose text is open or has a file. The
 * kernel may use the nodes that it answers: then it does not forget them. They are in the order in
 * which they were made, so a directory stands before what is in it. One may be answered twice.
 * Answers their number; less than `max`: there are no others now. */
size_t inode_table_choose(struct inode_table *table, uint64_t *ret_ids, size_t max);

/* The places of nodes that the settlement concerns are settled. 0 or -ENOMEM: then some are not. */
int inode_table_settle(struct inode_table *table, const struct settlement *settlement);

/* A directory or file of the name was removed. Processes that have it open keep its nodes, which
 * have no link any more. What is made under the name is another node: in a directory that was
 * removed the kernel makes nothing, whatever is made under its name later. */
void inode_table_remove_name(struct inode_table *table, uint64_t parent, struct bytes name);
/* A file of the first name has the second name now; a file that had that was removed. The kernel
 * keeps the nodes of the first name under the second one, until their timeouts end: it opens them
 * there without a LOOKUP. What either name is given to later has other nodes. number: the st_ino
 * under the second name, which a handle of the first one shows, too. Answers the node that the
 * kernel keeps; 0: none. */
uint64_t inode_table_rename_name(struct inode_table *table, uint64_t parent, struct bytes name,
                                 uint64_t new_parent, struct bytes new_name, uint64_t number);
/* The same of entities: the file keeps its st_ino, and what is made under the first name has
 * another one. Otherwise it and the renamed file would look like links of one file. */
uint64_t inode_table_rename_entity(struct inode_table *table, uint64_t parent, struct bytes name,
                                   struct address address, uint64_t new_parent,
                                   struct bytes new_name, struct address new_address);

/* The writer, scratch file or text of a node, referenced. NULL: it has none. */
struct node_file *inode_table_file(struct inode_table *table, uint64_t id);
/* At the OPEN of a minted node: gives it its writer, which is referenced. False: it has one,
 * because another OPEN was first, or the node is unknown. */
bool inode_table_set_file(struct inode_table *table, uint64_t id, struct node_file *file);

/* The file has ended. The node may live for long, and has none from now on. */
void inode_table_drop_file(struct inode_table *table, uint64_t id, struct node_file *file);

/* The text of a NODE_VERSION is kept while a handle of the node is open. It answers another open of
 * the node, even when the service has a newer version. The entity is of the node's version. 0 or
 * -ENOMEM: then it does not count as open. */
int inode_table_opened(struct inode_table *table, uint64_t id, const struct entity *entity);
void inode_table_closed(struct inode_table *table, uint64_t id);
bool inode_table_is_open(struct inode_table *table, uint64_t id); /* has it a handle or a file? */
/* The text, if a handle of the node is open. The caller finishes ret. */
bool inode_table_open_text(struct inode_table *table, uint64_t id, struct entity *ret);

DEFINE_CLEANUP(struct inode_table *, inode_table_destroy);

#endif
