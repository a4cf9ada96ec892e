#ifndef CLIENT_LOCAL_LOCAL_WRITER_H
#define CLIENT_LOCAL_LOCAL_WRITER_H
/* Makes changes in the account's file, one thread at a time. Changes that wait for each other share
 * one transaction, a savepoint each, so that many small ones pay for one sync: whoever finds nobody
 * at work commits for all who wait by then. Any thread; no lock is held while SQLite works. */
#include "client/local/local_connection.h"

#include <sys/queue.h>

/* The open transaction: what a change works with. */
struct local_transaction {
    struct local_connection *connection;
    const struct clock *clock;
    int64_t timestamp; /* the last that was given; the file's, before any is */
};

/* The Timestamp of a version that is written now: greater than any other in the file, even when the
 * clock stands or goes back. -EOVERFLOW: the year 9999 has ended. */
int local_transaction_stamp(struct local_transaction *transaction, int64_t *ret);

struct local_change {
    /* Makes the change; refused: -errno, the reason in the call that the connection serves, and
     * what it did is undone. Runs on any thread while its owner waits, and again when a commit for
     * several failed. It counts only when local_writer_make has answered 0. */
    int (*make)(struct local_change *change, struct local_transaction *transaction);
    struct call *call;
    /* private to local_writer.c: */
    TAILQ_ENTRY(local_change) entry;
    int result, state;
    bool is_alone;     /* a commit together with others failed: whose fault was it? */
    bool is_ambiguous; /* and what stands in the WAL of it may be found after a power cut */
};

struct local_writer;
/* Takes the connection on success. */
int local_writer_create(struct local_connection *connection, const struct clock *clock,
                        struct local_writer **ret);
void local_writer_destroy(struct local_writer *writer); /* takes NULL; no change is under way */

/* 0: the change is on disk. -errno: it is not, the reason in its call; is_ambiguous when a power
 * cut now could still bring it about. Waits for its turn and for other processes until the
 * call's deadline or cancel; from then on it goes through. */
int local_writer_make(struct local_writer *writer, struct local_change *change);

DEFINE_CLEANUP(struct local_writer *, local_writer_destroy);

#endif
