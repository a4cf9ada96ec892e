/* SPDX-License-Identifier: MIT */
#ifndef FS_SCRATCH_SCRATCH_OPENS_H
#define FS_SCRATCH_SCRATCH_OPENS_H
/* Opens of scratch files to which the mount has replied ESTALE, and which the kernel has not
 * repeated yet. The guarantee: a thread gets ESTALE at most once in a row, so that no user sees the
 * error.
 *
 * Between the LOOKUP of a name and the OPEN of its node another process may remove or replace the
 * file. If no other process has it open, the file has ended, and the reply to OPEN is ESTALE. The
 * kernel repeats the open by itself, but only once: it looks the name up again, and opens the node
 * of that LOOKUP. So this module keeps a handle for the thread from that LOOKUP to that OPEN, so
 * that the file does not end. The OPEN gets the handle even if the file has lost its name
 * meanwhile, as on a disk.
 *
 * A thread has the slot of its id modulo SCRATCH_OPENS_SLOTS. Two threads may share a slot: then
 * one of them may see ESTALE. So may a caller of another pid namespace (thread id 0), which has no
 * slot. The kernel may abandon an open, for example because of a signal. Then the handle is unused;
 * it is closed when another OPEN gets ESTALE, at least SCRATCH_OPENS_KEPT_MS later, or at the end.
 *
 * Thread-safety: any thread; one leaf mutex. Time is an argument (monotonic). */
#include "fs/scratch/scratch.h"

#define SCRATCH_OPENS_SLOTS   64
#define SCRATCH_OPENS_KEPT_MS 30000

struct scratch_opens;
int scratch_opens_create(struct scratch_opens **ret);    /* 0 or -errno */
void scratch_opens_destroy(struct scratch_opens *opens); /* takes NULL; before scratch_destroy */

/* A LOOKUP of the thread found the file, or none (NULL). If the thread's last OPEN got ESTALE,
 * keeps a handle of the file instead of the earlier one. 0; -ESTALE: the file has ended meanwhile,
 * so the name is no longer its name. */
int scratch_opens_looked_up(struct scratch_opens *opens, pid_t thread, struct scratch_file *file,
                            int64_t now_ms);
/* As scratch_file_open, for an OPEN of the thread. If it returns -ESTALE, the reply must be ESTALE.
 */
int scratch_opens_open(struct scratch_opens *opens, pid_t thread, struct scratch_file *file,
                       int64_t now_ms);
/* The thread will not repeat its OPEN, because the name was gone, and the thread has created a
 * file. */
void scratch_opens_end(struct scratch_opens *opens, pid_t thread);

DEFINE_CLEANUP(struct scratch_opens *, scratch_opens_destroy);

#endif
