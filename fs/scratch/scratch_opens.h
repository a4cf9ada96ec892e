/* SPDX-License-Identifier: MIT */
#ifndef FS_SCRATCH_SCRATCH_OPENS_H
#define FS_SCRATCH_SCRATCH_OPENS_H
/* Opens of scratch files that were answered ESTALE and are not yet repeated. It keeps a promise: a
 * thread is answered ESTALE at most once in a row, so that no user sees the error.
 *
 * Between the LOOKUP of a name and the OPEN of its node another process may remove or replace the
 * file. If nothing else has it open, it has ended, and OPEN is answered ESTALE. The kernel repeats
 * the open by itself, but only once: it looks the name up again, and opens what that LOOKUP
 * answered. So from that LOOKUP to that OPEN a handle is kept for the thread, with which the file
 * does not end. The OPEN gets the handle, also if the file has lost its name meanwhile, as on a
 * disk.
 *
 * A thread has the slot of its id modulo SCRATCH_OPENS_SLOTS. Two threads may share a slot: then
 * one of them may see ESTALE. So may a caller of another pid namespace (thread id 0), which has no
 * slot. The kernel may abandon an open, for example for a signal: a handle that is not used is
 * closed when an OPEN is answered ESTALE SCRATCH_OPENS_KEPT_MS later or more, at the latest at the
 * end.
 *
 * Thread-safety: any thread; one leaf mutex. Time is an argument (monotonic). */
#include "fs/scratch/scratch.h"

#define SCRATCH_OPENS_SLOTS   64
#define SCRATCH_OPENS_KEPT_MS 30000

struct scratch_opens;
int scratch_opens_create(struct scratch_opens **ret);    /* 0 or -errno */
void scratch_opens_destroy(struct scratch_opens *opens); /* takes NULL; before scratch_destroy */

/* A LOOKUP of the thread found the file, or none (NULL): keeps a handle of it, in place of the one
 * before, if the thread's last OPEN was answered ESTALE. 0; -ESTALE: the file has ended meanwhile,
 * so it has not the name any more. */
int scratch_opens_looked_up(struct scratch_opens *opens, pid_t thread, struct scratch_file *file,
                            int64_t now_ms);
/* As scratch_file_open, for an OPEN of the thread. -ESTALE is to be answered. */
int scratch_opens_open(struct scratch_opens *opens, pid_t thread, struct scratch_file *file,
                       int64_t now_ms);
/* The thread does not repeat its OPEN: the name was gone, and it has created a file. */
void scratch_opens_end(struct scratch_opens *opens, pid_t thread);

DEFINE_CLEANUP(struct scratch_opens *, scratch_opens_destroy);

#endif
