/* SPDX-License-Identifier: MIT */
#ifndef FS_TEXT_QUEUED_TEXTS_H
#define FS_TEXT_QUEUED_TEXTS_H
/* The texts that are still queued when a mount ends, in lost+found. The service may not answer, and
 * the process may be killed while it waits: a container's has ten seconds. There may be thousands
 * of texts, so all of a table are in one file, which is synced once:
 *
 *   20261122T100000.000Z-ACCOUNT-orders-queued.ndjson
 *
 * Each line is an entity (client/entity/entity_line.h), with `odata.etag` of the version that it
 * replaces, if it is to replace a version that its process has read. Deletes are not kept: their
 * entities are still there.
 *
 * One thread, which ends the mount, but for queued_texts_hold. Threads of the queue go on
 * meanwhile.
 */
#include "cache/account.h"
#include "fs/text/lost_and_found.h"

#include <sys/queue.h>

struct queued_file;
SLIST_HEAD(queued_files, queued_file);

struct queued_texts { /* zeros with a place and a clock: no file */
    struct lost_and_found *lost;
    const struct clock *clock;
    struct queued_files files;      /* private to queued_texts.c; one of a table */
    struct queued_files open_files; /* likewise; one of a text */
    bool is_complete;               /* likewise: the last queued_texts_keep has succeeded */
    _Atomic bool is_held;           /* likewise */
};
void queued_texts_finish(struct queued_texts *texts); /* the files stay */

/* Writes what is queued now to new files, and then removes those that were written before. 0, and
 * *ret is the number of texts. -errno: no new file is there, and those from before stay. */
int queued_texts_keep(struct queued_texts *texts, struct account *account, size_t *ret);
/* A text that was refused could not be kept in a file of its own. From now on no file is removed:
 * it may be in one. Any thread. */
void queued_texts_hold(struct queued_texts *texts);
/* Removes the files: nothing is queued any more, and what was refused has a file of its own. */
void queued_texts_remove(struct queued_texts *texts);

/* The same for the text of a file that is open at the end of the mount, before it is sent: it has a
 * file of its own, with the name of any lost text. 0 or -errno: no file is there. */
int queued_texts_keep_open(struct queued_texts *texts, struct address address, struct bytes text);
void queued_texts_remove_open(struct queued_texts *texts);

/* Appends the path of the file in which all queued texts of the table are: 1; 0: there is none; or
 * -errno. The first record about a text of it becomes the file's reason. */
int queued_texts_append_path(struct queued_texts *texts, const struct failure_record *record,
                             struct buffer *ret);

#endif
