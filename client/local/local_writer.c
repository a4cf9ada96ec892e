/* SPDX-License-Identifier: MIT */
#include "client/local/local_writer.h"
#include "client/base/monitor.h"
#include "client/local/local_checksum.h"
#include "client/local/local_failure.h"
#include "client/text/timestamp_etag.h"

#define TOGETHER_MAX 64 /* changes in a transaction */
#define SWEPT_ROWS                                                                                 \
    256 /* of dropped tables, deleted with each change: more than a batch can add                  \
         */

enum state {
    QUEUED,
    TAKEN, /* it is made even if its call is cancelled */
    DONE,
};

struct local_writer {
    struct local_connection *connection; /* used by the leader alone */
    const struct clock *clock;
    struct monitor monitor;
    /* guarded by the monitor: */
    bool has_leader;
    TAILQ_HEAD(queue, local_change) queue; /* the QUEUED changes, the oldest first */
};

/* The changes that a leader commits together; the first is its own. */
struct group {
    struct local_change *changes[TOGETHER_MAX];
    size_t count;
};

int local_transaction_stamp(struct local_transaction *transaction, int64_t *ret)
{
    int64_t now = clock_utc_100ns(transaction->clock);
    int64_t timestamp = MAX(now, transaction->timestamp + 1);
    if (!timestamp_is_valid(timestamp))
        return call_fail(local_connection_call(transaction->connection), -EOVERFLOW,
                         "no Timestamp is left: the clock shows, or has shown, the year 10000");
    *ret = transaction->timestamp = timestamp;
    return 0;
}

static int read_last_timestamp(struct local_connection *connection, int64_t *ret)
{
    _cleanup_(local_statement_finish) sqlite3_stmt *statement =
        local_connection_statement(connection, LOCAL_READ_LAST_TIMESTAMP);
    int r = local_connection_step(connection, statement);
    if (r < 0)
        return r;
    int64_t timestamp = r == 1 ? sqlite3_column_int64(statement, 0) : -1;
    bool fits = r == 1 && sqlite3_column_int64(statement, 1) == local_checksum_account(timestamp);
    if (!fits || (timestamp != 0 && !timestamp_is_valid(timestamp)))
        return local_connection_fail_damaged(connection, NULL, (struct bytes){0},
                                             "the account's last Timestamp is lost");
    *ret = timestamp;
    return 0;
}

static int write_last_timestamp(struct local_connection *connection, int64_t timestamp)
{
    _cleanup_(local_statement_finish) sqlite3_stmt *statement =
        local_connection_statement(connection, LOCAL_WRITE_LAST_TIMESTAMP);
    (void)sqlite3_bind_int64(statement, 1, timestamp);
    return local_connection_step(connection, statement);
}

static int forget_table(struct local_connection *connection, int64_t id)
{
    _cleanup_(local_statement_finish) sqlite3_stmt *statement =
        local_connection_statement(connection, LOCAL_FORGET);
    (void)sqlite3_bind_int64(statement, 1, id);
    return local_connection_step(connection, statement);
}

static int sweep_table(struct local_connection *connection, int64_t id, int64_t rows)
{
    _cleanup_(local_statement_finish) sqlite3_stmt *statement =
        local_connection_statement(connection, LOCAL_SWEEP);
    (void)sqlite3_bind_int64(statement, 1, id);
    (void)sqlite3_bind_int64(statement, 2, rows);
    int r = local_connection_step(connection, statement);
    if (r == 0 && (int64_t)local_connection_changes(connection) < rows)
        r = forget_table(connection, id);
    return r;
}

/* Deletes some rows of a dropped table. Dropping a table only renames it, so it is fast for any
 * number of rows. */
static int sweep(struct local_connection *connection, int64_t rows)
{
    _cleanup_(local_statement_finish) sqlite3_stmt *statement =
        local_connection_statement(connection, LOCAL_FIND_DROPPED);
    int r = local_connection_step(connection, statement);
    if (r <= 0)
        return r;
    int64_t id = sqlite3_column_int64(statement, 0);
    (void)sqlite3_reset(statement); /* the row that it has read is deleted next */
    return sweep_table(connection, id, rows);
}

/* Damage in dropped rows must not prevent changes: such rows are kept. -errno: SQLite has rolled
 * back the whole transaction, and the savepoint with it. */
static int try_to_sweep(struct local_connection *connection, int64_t rows)
{
    int r = local_connection_run(connection, LOCAL_BEGIN_PART);
    if (r < 0)
        return r;
    r = sweep(connection, rows);
    if (r < 0 && !local_connection_is_in_transaction(connection))
        return r;
    r = r < 0 ? local_connection_run(connection, LOCAL_UNDO_PART) : 0;
    return r < 0 ? r : local_connection_run(connection, LOCAL_KEEP_PART);
}

static int make_change(struct local_transaction *transaction, struct local_change *change)
{
    struct call *committer = local_connection_call(transaction->connection);
    local_connection_serve(transaction->connection, change->call);
    change->result = change->make(change, transaction);
    local_connection_serve(transaction->connection, committer);
    if (local_connection_is_in_transaction(transaction->connection))
        return 0;
    committer->failure = change->call->failure; /* SQLite has rolled back the whole transaction */
    return change->result;
}

/* Undoes a refused change, and no other. */
static int make_part(struct local_transaction *transaction, struct local_change *change)
{
    int r = local_connection_run(transaction->connection, LOCAL_BEGIN_PART);
    if (r == 0)
        r = make_change(transaction, change);
    if (r == 0 && change->result < 0)
        r = local_connection_run(transaction->connection, LOCAL_UNDO_PART);
    return r < 0 ? r : local_connection_run(transaction->connection, LOCAL_KEEP_PART);
}

static int commit(struct local_connection *connection, struct call *call)
{
    int r = local_connection_run(connection, LOCAL_COMMIT);
    /* a power cut may bring about what is already in the WAL; if the write to the WAL failed,
     * there is nothing */
    call->failure.is_ambiguous = r < 0 && !local_connection_could_not_write(connection);
    return r;
}

/* -errno: the whole transaction is lost. Otherwise each change has its result. A single change
 * needs no savepoint, which would copy the changed pages: if it is refused, the transaction is
 * rolled back. */
static int make_parts(struct local_writer *writer, struct group *group, struct call *call)
{
    struct local_connection *connection = writer->connection;
    struct local_transaction transaction = {connection, writer->clock, 0};
    bool is_changed = false;
    int r = read_last_timestamp(connection, &transaction.timestamp);
    int64_t last = transaction.timestamp;
    for (size_t i = 0; i < group->count && r == 0; i++) {
        r = group->count == 1 ? make_change(&transaction, group->changes[i])
                              : make_part(&transaction, group->changes[i]);
        is_changed |= group->changes[i]->result == 0;
    }
    if (r < 0 || !is_changed)
        return r;
    if (transaction.timestamp != last)
        r = write_last_timestamp(connection, transaction.timestamp);
    if (r == 0)
        r = try_to_sweep(connection, (int64_t)group->count * SWEPT_ROWS);
    return r == 0 ? commit(connection, call) : r;
}

/* In an open transaction, which has ended afterwards. */
static int try_group(struct local_writer *writer, struct group *group, struct call *call)
{
    local_connection_serve(writer->connection, call);
    int r = make_parts(writer, group, call);
    local_connection_serve(writer->connection, NULL);
    if (local_connection_is_in_transaction(writer->connection))
        (void)local_connection_run(writer->connection, LOCAL_ROLLBACK);
    return r;
}

/* On a full disk, once more: the WAL is written from its beginning again if all of it can be copied
 * into the file. */
static int try_group_in_folded_wal(struct local_writer *writer, struct group *group,
                                   struct call *call)
{
    bool is_ambiguous = call->failure.is_ambiguous;
    if (!local_connection_fold_in_place(writer->connection))
        return -ENOSPC;
    local_connection_serve(writer->connection, call);
    int r = local_connection_run(writer->connection, LOCAL_BEGIN);
    local_connection_serve(writer->connection, NULL);
    if (r == 0)
        r = try_group(writer, group, call);
    call->failure.is_ambiguous |= is_ambiguous;
    return r;
}

/* In an open transaction. Afterwards each change of the group has its result, or all share one
 * failure and nothing was changed. */
static int make_group(struct local_writer *writer, struct group *group, struct call *call)
{
    int r = try_group(writer, group, call);
    return r == -ENOSPC ? try_group_in_folded_wal(writer, group, call) : r;
}

/* Functions from here on run inside the monitor. */

static void enqueue(struct local_writer *writer, struct local_change *change)
{
    change->state = QUEUED;
    TAILQ_INSERT_TAIL(&writer->queue, change, entry);
}

static void dequeue(struct local_writer *writer, struct local_change *change, enum state state)
{
    change->state = (int)state;
    TAILQ_REMOVE(&writer->queue, change, entry);
}

static void take(struct local_writer *writer, struct local_change *change, struct group *group)
{
    dequeue(writer, change, TAKEN);
    group->changes[group->count++] = change;
}

static void take_group(struct local_writer *writer, struct local_change *own, struct group *ret)
{
    ret->count = 0;
    take(writer, own, ret);
    struct local_change *next, *change = own->is_alone ? NULL : TAILQ_FIRST(&writer->queue);
    for (; change && ret->count < TOGETHER_MAX; change = next) {
        next = TAILQ_NEXT(change, entry);
        if (!change->is_alone)
            take(writer, change, ret);
    }
}

/* If several changes share a failure, each is tried again alone, so that only the one that
 * causes it fails. */
static void end_group(struct local_writer *writer, struct group *group, int r,
                      const struct failure *failure)
{
    for (size_t i = 0; i < group->count; i++) {
        struct local_change *change = group->changes[i];
        if (r < 0 && group->count > 1) {
            change->is_alone = true;
            change->is_ambiguous |= failure->is_ambiguous;
            enqueue(writer, change);
            continue;
        }
        if (r < 0) {
            change->result = r;
            change->call->failure = *failure;
        }
        change->state = DONE;
    }
}

static int begin(struct local_writer *writer, struct call *call)
{
    int r = local_check_call(call, writer->clock);
    if (r < 0)
        return r;
    local_connection_serve(writer->connection, call);
    r = local_connection_run(writer->connection, LOCAL_BEGIN);
    local_connection_serve(writer->connection, NULL);
    return r;
}

/* Leaves the monitor while SQLite works. Other changes are taken only after the transaction has
 * begun: until then each can still be cancelled or time out. */
static void lead(struct local_writer *writer, struct local_change *own)
{
    struct group group;
    struct call call = {.deadline_ms = own->call->deadline_ms};
    writer->has_leader = true;
    monitor_leave(&writer->monitor);
    int r = begin(writer, own->call);
    bool has_begun = r == 0;
    monitor_enter(&writer->monitor);
    if (has_begun) {
        take_group(writer, own, &group);
        monitor_leave(&writer->monitor);
        r = make_group(writer, &group, &call);
        monitor_enter(&writer->monitor);
        end_group(writer, &group, r, &call.failure);
    } else {
        dequeue(writer, own, DONE);
        own->result = r;
    }
    writer->has_leader = false;
    monitor_notify(&writer->monitor);
}

/* Leaves the monitor to check a copy of the call: the leader may take the change meanwhile and
 * write to its call. */
static void wait_for_turn(struct local_writer *writer, struct local_change *change)
{
    monitor_wait(&writer->monitor);
    if (change->state != QUEUED)
        return;
    struct call call = *change->call;
    monitor_leave(&writer->monitor);
    int r = local_check_call(&call, writer->clock);
    monitor_enter(&writer->monitor);
    if (r == 0 || change->state != QUEUED)
        return;
    dequeue(writer, change, DONE);
    change->result = r;
    change->call->failure = call.failure;
}

int local_writer_make(struct local_writer *writer, struct local_change *change)
{
    change->is_alone = change->is_ambiguous = false;
    monitor_enter(&writer->monitor);
    enqueue(writer, change);
    while (change->state != DONE) {
        if (change->state == QUEUED && !writer->has_leader)
            lead(writer, change);
        else
            wait_for_turn(writer, change);
    }
    monitor_leave(&writer->monitor);
    if (change->result == 0)
        change->call->failure = (struct failure){0}; /* perhaps of a shared commit */
    else
        change->call->failure.is_ambiguous |= change->is_ambiguous;
    return change->result;
}

int local_writer_create(struct local_connection *connection, const struct clock *clock,
                        struct local_writer **ret)
{
    struct local_writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return -ENOMEM;
    monitor_init(&writer->monitor);
    writer->connection = connection;
    writer->clock = clock;
    TAILQ_INIT(&writer->queue);
    *ret = writer;
    return 0;
}

void local_writer_destroy(struct local_writer *writer)
{
    if (!writer)
        return;
    local_connection_fold(writer->connection); /* other processes may still have the file open */
    local_connection_close(writer->connection);
    monitor_finish(&writer->monitor);
    free(writer);
}
