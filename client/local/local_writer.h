/* SPDX-License-Identifier: MIT */
#ifndef CLIENT_LOCAL_LOCAL_WRITER_H
#define CLIENT_LOCAL_LOCAL_WRITER_H
/* Makes changes in the account's file. Changes of several threads share one transaction, each in a
 * savepoint, so that many small changes need one sync. A thread becomes the leader if there is
 * none; it commits its own change and all that wait. Any thread; no lock is held during SQLite's
 * work. */
#include "client/local/local_connection.h"

#include <sys/queue.h>

/* The open transaction, in which changes are made. */
struct local_transaction {
    struct local_connection *connection;
    const struct clock *clock;
    int64_t timestamp; /* the last assigned one; at first last_timestamp of the file */
};

/* Assigns a Timestamp to a version that is written now: greater than every other in the file, even
 * if the clock stops or goes backwards. -EOVERFLOW: the year 9999 has ended. */
int local_transaction_stamp(struct local_transaction *transaction, int64_t *ret);

struct local_change {
    /* Makes the change in the transaction. -errno: refused, with the reason in the call that the
     * connection serves; then it is rolled back. May run on another thread while its owner waits,
     * and runs again if a commit of several changes failed. Only after local_writer_make has
     * returned 0 the change is made. */
    int (*make)(struct local_change *change, struct local_transaction *transaction);
    struct call *call;
    /* private to local_writer.c: */
    TAILQ_ENTRY(local_change) entry;
    int result, state;
    bool is_alone;     /* a shared commit failed: this change is retried alone */
    bool is_ambiguous; /* the WAL has it, so a power cut now may make the change */
};

struct local_writer;
/* Takes ownership of the connection on success. */
int local_writer_create(struct local_connection *connection, const struct clock *clock,
                        struct local_writer **ret);
void local_writer_destroy(struct local_writer *writer); /* takes NULL; no change is in progress */

/* 0: the change is on disk. -errno: it was not made, with the reason in its call; is_ambiguous: a
 * power cut now may still make it. Waits for its turn and for other processes until the call's
 * deadline or cancellation; once the change has begun, it is not interrupted. */
int local_writer_make(struct local_writer *writer, struct local_change *change);

DEFINE_CLEANUP(struct local_writer *, local_writer_destroy);

#endif
