#include "client/local/local_readers.h"
#include "client/local/local_failure.h"
#include "client/local/monitor.h"

struct local_readers {
    const struct clock *clock;
    struct monitor monitor;
    /* guarded by the monitor: */
    struct local_connection *free[LOCAL_READERS_MAX]; /* a stack: the warmest cache first */
    size_t count;
};

int local_readers_create(const char *path, const struct clock *clock, struct call *call,
                         struct local_readers **ret)
{
    struct local_readers *readers = calloc(1, sizeof(*readers));
    if (!readers || monitor_init(&readers->monitor) < 0) {
        free(readers);
        return call_fail(call, -ENOMEM, "out of memory");
    }
    readers->clock = clock;
    for (int r; readers->count < LOCAL_READERS_MAX; readers->count++) {
        r = local_connection_open(path, clock, call, &readers->free[readers->count]);
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

/* NULL: none, after a wait. */
static struct local_connection *take_free(struct local_readers *readers)
{
    monitor_enter(&readers->monitor);
    if (readers->count == 0)
        monitor_wait(&readers->monitor);
    struct local_connection *connection =
        readers->count > 0 ? readers->free[--readers->count] : NULL;
    monitor_leave(&readers->monitor);
    return connection;
}

int local_readers_take(struct local_readers *readers, struct call *call,
                       struct local_connection **ret)
{
    struct local_connection *connection;
    call->failure = (struct failure){0};
    do {
        int r = local_check_call(call, readers->clock);
        if (r < 0)
            return r;
        connection = take_free(readers);
    } while (!connection);
    local_connection_serve(connection, call);
    *ret = connection;
    return 0;
}

void local_readers_give(struct local_readers *readers, struct local_connection *connection)
{
    local_connection_serve(connection, NULL);
    monitor_enter(&readers->monitor);
    readers->free[readers->count++] = connection;
    monitor_tell(&readers->monitor);
    monitor_leave(&readers->monitor);
}
