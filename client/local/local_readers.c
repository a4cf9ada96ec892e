/* SPDX-License-Identifier: MIT */
#include "client/local/local_readers.h"
#include "client/base/monitor.h"
#include "client/local/local_failure.h"
#include "client/local/local_open.h"

#include <sys/queue.h>

struct waiter {
    TAILQ_ENTRY(waiter) entry;
    struct local_connection *given; /* NULL: still waiting */
};

struct local_readers {
    const struct clock *clock;
    struct monitor monitor;
    /* guarded by the monitor: */
    struct local_connection *free[LOCAL_READERS_MAX]; /* a stack: the last used first */
    size_t count;
    TAILQ_HEAD(waiters, waiter) waiters; /* in order of arrival; empty while a connection is free */
};

int local_readers_create(const char *path, enum local_access access, const struct clock *clock,
                         struct call *call, struct local_readers **ret)
{
    struct local_readers *readers = calloc(1, sizeof(*readers));
    if (!readers)
        return call_fail(call, -ENOMEM, "out of memory");
    monitor_init(&readers->monitor);
    readers->clock = clock;
    TAILQ_INIT(&readers->waiters);
    for (int r; readers->count < LOCAL_READERS_MAX; readers->count++) {
        r = local_open(path, access, clock, call, &readers->free[readers->count]);
        if (r < 0) {
            local_readers_destroy(readers);
            return r;
        }
    }
    *ret = readers;
    return 0;
}

void local_readers_destroy(struct local_readers *readers)
{
    if (!readers)
        return;
    for (size_t i = 0; i < readers->count; i++)
        local_connection_close(readers->free[i]);
    monitor_finish(&readers->monitor);
    free(readers);
}

/* The caller is inside the monitor, which is left while the call is checked. */
static int wait_for_one(struct local_readers *readers, struct call *call,
                        struct local_connection **ret)
{
    struct waiter waiter = {0};
    int r = 0;
    TAILQ_INSERT_TAIL(&readers->waiters, &waiter, entry);
    while (!waiter.given && r == 0) {
        monitor_wait(&readers->monitor);
        if (waiter.given)
            break;
        monitor_leave(&readers->monitor);
        r = local_check_call(call, readers->clock);
        monitor_enter(&readers->monitor);
    }
    if (!waiter.given) {
        TAILQ_REMOVE(&readers->waiters, &waiter, entry);
        return r;
    }
    *ret = waiter.given; /* even if the call has just ended: the caller checks it again */
    return 0;
}

int local_readers_take(struct local_readers *readers, struct call *call,
                       struct local_connection **ret)
{
    struct local_connection *connection = NULL;
    call->failure = (struct failure){0};
    int r = local_check_call(call, readers->clock);
    if (r < 0)
        return r;
    monitor_enter(&readers->monitor);
    if (readers->count > 0)
        connection = readers->free[--readers->count];
    else
        r = wait_for_one(readers, call, &connection);
    monitor_leave(&readers->monitor);
    if (r < 0)
        return r;
    local_connection_serve(connection, call);
    r = local_connection_run(connection, LOCAL_BEGIN_READ);
    if (r < 0)
        local_readers_give(readers, connection);
    else
        *ret = connection;
    return r;
}

void local_readers_give(struct local_readers *readers, struct local_connection *connection)
{
    local_connection_serve(connection, NULL); /* what fails now is no failure of the call */
    if (local_connection_is_in_transaction(connection))
        (void)local_connection_run(connection, LOCAL_COMMIT);
    INSIDE(&readers->monitor);
    struct waiter *waiter = TAILQ_FIRST(&readers->waiters);
    if (waiter) {
        TAILQ_REMOVE(&readers->waiters, waiter, entry);
        waiter->given = connection;
        monitor_notify(&readers->monitor);
    } else {
        readers->free[readers->count++] = connection;
    }
}
