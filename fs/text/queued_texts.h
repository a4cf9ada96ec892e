/* SPDX-License-Identifier: MIT */
#ifndef FS_TEXT_QUEUED_TEXTS_H
#define FS_TEXT_QUEUED_TEXTS_H
/* When a mount ends, writes to lost+found the texts that are still queued. This is needed because
 * the service may not answer, and the process may be killed while it waits for it: a container has
 * ten seconds to stop. There may be thousands of texts, so all of a table are in one file, which is
 * synced once:
 *
 *   20261122T100000.000Z-ACCOUNT-orders-queued.ndjson
 *
 * Each line is an entity (client/entity/entity_line.h). If the text may replace only one version,
 * which its process has read, the line has the `odata.etag` of that version. Queued deletes are not
 * written: their entities still exist.
 *
 * One thread, the one that ends the mount, except for queued_texts_hold. Meanwhile the threads of
 * the queue still send changes. */
#include "cache/account.h"
#include "fs/text/lost_and_found.h"

#include <sys/queue.h>

struct queued_file;
SLIST_HEAD(queued_files, queued_file);

struct queued_texts { /* begins as zeros with `lost` and `clock` */
    struct lost_and_found *lost;
    const struct clock *clock;
    struct queued_files files;      /* private to queued_texts.c; one for each table */
    struct queued_files open_files; /* likewise; one for each text */
    bool is_complete;               /* likewise: the last queued_texts_keep has succeeded */
    _Atomic bool is_held;           /* likewise */
};
void queued_texts_finish(struct queued_texts *texts); /* the files stay */

/* Writes the texts that are queued now to new files, and then removes the files of the last call.
 * 0, and *ret is the number of texts. -errno: there is no new file, and the earlier ones stay. */
int queued_texts_keep(struct queued_texts *texts, struct account *account, size_t *ret);
/* A text that the service refused could not be written to a file of its own. From now on no file is
 * removed, because one of them may have that text. Any thread. */
void queued_texts_hold(struct queued_texts *texts);
/* Removes the files. Called when nothing is queued any more, and each refused text has a file of
 * its own. */
void queued_texts_remove(struct queued_texts *texts);

/* Writes the text of a file that is open at the end of the mount, before it is sent. It has a file
 * of its own, which is named like any lost text. 0; -errno: there is no file. */
int queued_texts_keep_open(struct queued_texts *texts, struct address address, struct bytes text);
void queued_texts_remove_open(struct queued_texts *texts);

/* The record is of a queued text that failed. Appends the path of the file that has the queued
 * texts of its table: 1; 0: there is none; or -errno. The first record for a file is also written
 * next to it, as its `.reason`. */
int queued_texts_append_path(struct queued_texts *texts, const struct failure_record *record,
                             struct buffer *ret);

#endif
