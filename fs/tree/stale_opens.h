/* SPDX-License-Identifier: MIT */
#ifndef FS_TREE_STALE_OPENS_H
#define FS_TREE_STALE_OPENS_H
/* Opens that were answered ESTALE and are not yet repeated. It keeps a promise: a thread is
 * answered ESTALE at most once in a row, so that no user sees the error.
 *
 * When OPEN is answered ESTALE, the kernel repeats it by itself: it sends LOOKUPs of the path, and
 * then OPEN of the node that the last LOOKUP answered. That OPEN succeeds with the text that came
 * with the LOOKUP, whatever has changed meanwhile.
 *
 * Example: thread 7 opens node 44, a version of f.json that the service no longer has. It is
 * answered ESTALE, and an entry begins. Its LOOKUP of f.json answers node 45; the entry keeps the
 * text of node 45. Its OPEN of node 45 takes that text, and the entry ends.
 *
 * An OPEN for writing of a version's node is always answered ESTALE, because writers have nodes of
 * their own (fs/tree/inode). Until its next OPEN the thread wants a writer: its LOOKUP of an
 * entity's name mints such a node. The kernel sends two LOOKUPs of the same name (measured), and
 * both must answer the same node. In between it forgets every other node of the name, and often the
 * minted one, too.
 *
 * Example: thread 7 opens node 44 for writing. It is answered ESTALE, and wants a writer. Its first
 * LOOKUP of f.json mints node 90; its second LOOKUP answers node 90, too. Its OPEN of node 90
 * begins the writer, with the text that came with the LOOKUPs, and the entry ends.
 *
 * The kernel may abandon an open, for example for a signal. So the LOOKUPs of another name mint
 * nothing for it, and the next OPEN for writing of another name is answered ESTALE for itself.
 *
 * There is one entry for each thread between its ESTALE and its OPEN. An entry that is not used
 * ends after 30 s. At most 4,096 entries are kept: beyond that the oldest ends early, and its
 * thread may see ESTALE.
 *
 * The kernel reports thread id 0 for a caller of another pid namespace. Such callers cannot be told
 * apart, so their entry is keyed by the parent and the name. Two of them that open one name at the
 * same moment share an entry, and each may find the text that the other's LOOKUP brought. So that
 * no later caller gets an old text, the text of such an entry serves for 1 s only. Those that open
 * the name for writing share one minted node, as handles of one node do: the entry counts them, and
 * lasts until the last one's OPEN.
 *
 * Thread-safety: any thread; one leaf mutex. Time is an argument (monotonic). */
#include "client/store/page.h"

#include <sys/types.h>

#define STALE_OPENS_MAX            4096
#define STALE_OPENS_KEPT_MS        30000
#define STALE_OPENS_SHARED_TEXT_MS 1000 /* of thread id 0 */

struct opener {
    pid_t thread;
    uint64_t parent;   /* node id of the directory. It and the name tell what is to be written */
    struct bytes name; /* at most NAME_MAX of the kernel: 255 bytes */
};

struct stale_opens;
int stale_opens_create(struct stale_opens **ret);
void stale_opens_destroy(struct stale_opens *stale); /* takes NULL */

/* An OPEN for reading is to be answered ESTALE: the opener's entry begins, or begins again. 0, or
 * -ENOMEM: there is none, and ESTALE must not be answered. */
int stale_opens_begin(struct stale_opens *stale, const struct opener *opener, int64_t now_ms);
/* Does the thread have an entry? False for thread id 0: the entry may be another caller's. */
bool stale_opens_has_begun(struct stale_opens *stale, const struct opener *opener, int64_t now_ms);
/* A LOOKUP of the opener answered the node. Keeps a copy of its text if there is an entry.
 * 0 or -ENOMEM. */
int stale_opens_looked_up(struct stale_opens *stale, const struct opener *opener, uint64_t node,
                          const struct entity *entity, int64_t now_ms);
/* The text of the node, if a LOOKUP brought it; the entry has no text afterwards. The caller
 * finishes ret. */
bool stale_opens_take_text(struct stale_opens *stale, const struct opener *opener, uint64_t node,
                           int64_t now_ms, struct entity *ret);
/* An OPEN for reading of the opener succeeded: its entry ends. Of thread id 0 the text goes, and
 * those that want a writer stay. */
void stale_opens_end(struct stale_opens *stale, const struct opener *opener);

/* As stale_opens_begin, for an OPEN for writing: the opener wants a writer. An opener without a
 * name has opened a file that was renamed since: the kernel has it under a name that the node does
 * not tell, and looks that one up. Then the first entity that the thread looks up is the one that
 * is wanted. */
int stale_opens_wants_writer(struct stale_opens *stale, const struct opener *opener,
                             int64_t now_ms);
/* Does the opener of a LOOKUP or OPEN want a writer of this very name? ret_minted: the node that
 * was minted; 0: none yet. The kernel may have forgotten it, and it may have another name: the
 * caller looks. */
bool stale_opens_is_writer(struct stale_opens *stale, const struct opener *opener, int64_t now_ms,
                           uint64_t *ret_minted);
/* The LOOKUP minted `node`. Returns the node that it is to answer: this one, unless another caller
 * with thread id 0 was first. `before`: what was minted before this LOOKUP. */
uint64_t stale_opens_minted(struct stale_opens *stale, const struct opener *opener, uint64_t before,
                            uint64_t node, int64_t now_ms);
/* The opener no longer wants a writer: its OPEN or CREATE succeeded, or the name is gone. */
void stale_opens_end_writer(struct stale_opens *stale, const struct opener *opener);

DEFINE_CLEANUP(struct stale_opens *, stale_opens_destroy);

#endif
