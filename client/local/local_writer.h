/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_LOCAL_LOCAL_WRITER_H
#define CLIENT_LOCAL_LOCAL_WRITER_H
/* Makes changes in the account's file. Changes that wait share one transaction, each in a
 * savepoint, so that many small changes cost one sync. A thread that finds no leader becomes the
 * leader, and commits its own change and all that wait. Any thread; no lock is held while SQLite
 * works. */
#include "client/local/local_connection.h"

#include <sys/queue.h>

/* The open transaction, in which a change is made. */
struct local_transaction {
    struct local_connection *connection;
    const struct clock *clock;
    int64_t timestamp; /* the last that was given; at first the file's */
};

/* The Timestamp for a version that is written now: greater than every other in the file, even if
 * the clock stops or goes back. -EOVERFLOW: the year 9999 has ended. */
int local_transaction_stamp(struct local_transaction *transaction, int64_t *ret);

struct local_change {
    /* Makes the change. -errno: refused, the reason in the call that the connection serves; its
     * writes are undone. It may run on another thread while its owner waits, and runs again if a
     * commit of several changes failed. The change is made only if local_writer_make returns 0. */
    int (*make)(struct local_change *change, struct local_transaction *transaction);
    struct call *call;
    /* private to local_writer.c: */
    TAILQ_ENTRY(local_change) entry;
    int result, state;
    bool is_alone;     /* a shared commit failed: this change is tried alone */
    bool is_ambiguous; /* and a power cut may bring it about: the WAL has it */
};

struct local_writer;
/* Takes ownership of the connection on success. */
int local_writer_create(struct local_connection *connection, const struct clock *clock,
                        struct local_writer **ret);
void local_writer_destroy(struct local_writer *writer); /* takes NULL; no change is in progress */

/* 0: the change is on disk. -errno: it was not made, the reason in its call; is_ambiguous if a
 * power cut now could still bring it about. Waits for its turn and for other processes until the
 * call's deadline or cancel; once it has begun, it is not interrupted. */
int local_writer_make(struct local_writer *writer, struct local_change *change);

DEFINE_CLEANUP(struct local_writer *, local_writer_destroy);

#endif
