#ifndef FS_TREE_RECENT_H
#define FS_TREE_RECENT_H
/* What each thread was told last. It keeps the promise that a thread is answered ESTALE at most
 * once in a row: the kernel answers ESTALE by LOOKUP and OPEN, and that OPEN succeeds with the text
 * that its LOOKUP brought, whatever changed meanwhile. A thread has the slot of its id modulo
 * RECENT_SIZE: more slots than callers can wait, and a collision costs a request. Any thread; one
 * leaf mutex. */
#include "client/call.h"
#include "client/page.h"

#include <sys/types.h>

#define RECENT_SIZE 1024

struct recent;
int recent_create(struct recent **ret);
void recent_destroy(struct recent *recent); /* takes NULL */

void recent_answered_stale(struct recent *recent, pid_t thread);
/* since the thread's last successful open */
bool recent_was_stale(struct recent *recent, pid_t thread);
/* Keeps a copy behind an ESTALE alone. 0 or -ENOMEM: without the copy the open that follows could
 * be answered ESTALE again, which the kernel hands to the caller. */
int recent_looked_up(struct recent *recent, pid_t thread, uint64_t node,
                     const struct entity *entity);
/* The node's text, if the thread looked it up behind an ESTALE; it is forgotten with that. The
 * caller finishes it. */
bool recent_take(struct recent *recent, pid_t thread, uint64_t node, struct entity *ret);
void recent_opened(struct recent *recent, pid_t thread);

/* A lookup that failed after long waiting. The kernel asks for a name that it knew a second time
 * when it gets an error: that repetition, within RECENT_FAILURE_MS, is answered with the same
 * failure at once. */
#define RECENT_FAILURE_MS 1000
void recent_failed(struct recent *recent, pid_t thread, uint64_t parent, struct bytes name,
                   const struct failure *failure, int64_t now_ms);
bool recent_take_failure(struct recent *recent, pid_t thread, uint64_t parent, struct bytes name,
                         int64_t now_ms, struct failure *ret);

DEFINE_CLEANUP(struct recent *, recent_destroy);

#endif
