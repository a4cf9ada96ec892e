/* SPDX-License-Identifier: MIT */
#ifndef FS_TREE_STALE_OPENS_H
#define FS_TREE_STALE_OPENS_H
/* Opens to which the mount has replied ESTALE, and which the kernel has not repeated yet. The
 * purpose: the repeated open does not get ESTALE again. So programs do not see the error.
 *
 * When the reply to OPEN is ESTALE, the kernel repeats the open by itself: it sends LOOKUPs of the
 * path, and then OPEN of the node in the last LOOKUP's reply. That OPEN succeeds with the text that
 * the LOOKUP found, whatever has changed meanwhile.
 *
 * Example: thread 7 opens node 44, a version of f.json that the service no longer has. It gets
 * ESTALE, and an entry begins. The LOOKUP of f.json replies with node 45; the entry keeps the text
 * of node 45. The OPEN of node 45 takes that text, and the entry ends.
 *
 * Writers have nodes of their own (NODE_WRITER in fs/tree/inode). So an OPEN for writing of a
 * NODE_VERSION always gets ESTALE. From then until its next OPEN, the thread "wants a writer": its
 * LOOKUP of an entity's name creates ("mints") a node for a writer. The kernel sends two LOOKUPs of
 * the same name (measured), and both must reply with the same node. Between them it forgets every
 * other node of the name, and often the minted one, too.
 *
 * Example: thread 7 opens node 44 for writing. It gets ESTALE, and wants a writer. Its first LOOKUP
 * of f.json mints node 90; its second LOOKUP replies with node 90, too. Its OPEN of node 90 begins
 * the writer, with the text that the LOOKUPs found, and the entry ends.
 *
 * The kernel may abandon the repeated open, for example because of a signal. Therefore an entry is
 * only for its own name: the thread's LOOKUP of another name mints nothing, and its OPEN for
 * writing of another name gets an ESTALE of its own.
 *
 * There is one entry for each thread between its ESTALE and its OPEN. An entry that is not used
 * ends after 30 s. At most 4,096 entries are kept: beyond that the oldest ends early, and its
 * thread may see ESTALE.
 *
 * The kernel reports thread id 0 for a caller of another pid namespace. Such callers cannot be
 * distinguished, so their entry is keyed by the parent and the name. Two of them that open one name
 * at the same moment share an entry, and each may get the text that the other's LOOKUP found. The
 * text of such an entry is used for 1 s only, so that no later caller gets an old text. Those that
 * open the name for writing all get the same minted node. The entry counts them, and ends with the
 * OPEN of the last one.
 *
 * Thread-safety: any thread; one leaf mutex. Time is an argument (monotonic). */
#include "client/store/page.h"

#include <sys/types.h>

#define STALE_OPENS_MAX            4096
#define STALE_OPENS_KEPT_MS        30000
#define STALE_OPENS_SHARED_TEXT_MS 1000 /* of thread id 0 */

struct opener {
    pid_t thread;
    uint64_t parent;   /* node id of the directory; it and the name identify the file */
    struct bytes name; /* at most NAME_MAX of the kernel: 255 bytes */
};

struct stale_opens;
int stale_opens_create(struct stale_opens **ret);
void stale_opens_destroy(struct stale_opens *stale); /* takes NULL */

/* Called before an OPEN for reading is answered with ESTALE: the opener's entry begins, or begins
 * again. 0, or -ENOMEM: there is no entry, and the reply must not be ESTALE. */
int stale_opens_begin(struct stale_opens *stale, const struct opener *opener, int64_t now_ms);
/* Does the thread have an entry? False for thread id 0: the entry may be another caller's. */
bool stale_opens_has_begun(struct stale_opens *stale, const struct opener *opener, int64_t now_ms);
/* A LOOKUP of the opener found the node. Keeps a copy of its text if the opener has an entry. 0 or
 * -ENOMEM. */
int stale_opens_looked_up(struct stale_opens *stale, const struct opener *opener, uint64_t node,
                          const struct entity *entity, int64_t now_ms);
/* Takes the text of the node out of the entry, if a LOOKUP has put it there. The caller finishes
 * ret. */
bool stale_opens_take_text(struct stale_opens *stale, const struct opener *opener, uint64_t node,
                           int64_t now_ms, struct entity *ret);
/* An OPEN for reading of the opener succeeded: its entry ends. For thread id 0 only the text is
 * removed, because other callers of the entry may want a writer. */
void stale_opens_end(struct stale_opens *stale, const struct opener *opener);

/* As stale_opens_begin, for an OPEN for writing: the opener wants a writer. If the opened file was
 * renamed, its node does not have the new name; then opener->name is empty. In this case the first
 * entity that the thread looks up is taken as the wanted one. */
int stale_opens_wants_writer(struct stale_opens *stale, const struct opener *opener,
                             int64_t now_ms);
/* Does the opener of a LOOKUP or OPEN want a writer of exactly this name? ret_minted: the node that
 * was minted; 0: none yet. The caller must check that node: the kernel may have forgotten it, or it
 * may have another name. */
bool stale_opens_is_writer(struct stale_opens *stale, const struct opener *opener, int64_t now_ms,
                           uint64_t *ret_minted);
/* The LOOKUP minted `node`. Returns the node with which the LOOKUP must reply: this one, or the one
 * that another caller with thread id 0 has minted meanwhile. `before`: the ret_minted of
 * stale_opens_is_writer in this LOOKUP. */
uint64_t stale_opens_minted(struct stale_opens *stale, const struct opener *opener, uint64_t before,
                            uint64_t node, int64_t now_ms);
/* The opener no longer wants a writer: its OPEN or CREATE succeeded, or the name is gone. */
void stale_opens_end_writer(struct stale_opens *stale, const struct opener *opener);

DEFINE_CLEANUP(struct stale_opens *, stale_opens_destroy);

#endif
