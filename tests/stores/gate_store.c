/* SPDX-License-Identifier: MIT */
#include "tests/stores/gate_store.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <unistd.h>

#define SETTLE_US   30000
#define THREAD_SIZE 16 /* of an id as /proc spells it */

/* A request at the gate. Its thread looks again and again whether it may go on. */
struct waiter {
    LIST_ENTRY(waiter) entry;
    char thread[THREAD_SIZE];
    size_t number;
    const char *table;
};

LIST_HEAD(waiters, waiter);

struct gate_store {
    struct table_store store;
    struct table_store *inner;
    const struct clock *clock;
    _Atomic size_t arrived, last;
    const char *_Atomic only;
    struct bytes from, below; /* below empty: no limit */
    pthread_mutex_t one;
    pthread_mutex_t lock;   /* leaf */
    struct waiters waiters; /* guarded by lock */
};

static bool is_let(struct gate_store *self, size_t number, const char *table)
{
    const char *only = atomic_load(&self->only);
    return number <= atomic_load(&self->last) || (only && (!table || strcmp(table, only) != 0));
}

static int pass(struct gate_store *self)
{
    atomic_fetch_add(&self->arrived, 1);
    (void)pthread_mutex_lock(&self->one);
    return 0;
}

static int wait_at_gate(struct gate_store *self, const struct waiter *waiter, struct call *call)
{
    while (!is_let(self, waiter->number, waiter->table)) {
        if (call_is_cancelled(call))
            return call_fail(call, -EINTR, "interrupted at the gate");
        if (call_remaining_ms(call, self->clock) == 0)
            return call_fail(call, -ETIMEDOUT, "too late at the gate");
        (void)usleep(500);
    }
    return 0;
}

static void name_own_thread(char ret[THREAD_SIZE])
{
    (void)snprintf(ret, THREAD_SIZE, "%d", (int)gettid());
}

/* Holds `one` on success. */
static int enter(struct gate_store *self, const char *table, struct call *call)
{
    struct waiter waiter = {.table = table};
    name_own_thread(waiter.thread);
    (void)pthread_mutex_lock(&self->lock);
    waiter.number = atomic_fetch_add(&self->arrived, 1) + 1;
    LIST_INSERT_HEAD(&self->waiters, &waiter, entry);
    (void)pthread_mutex_unlock(&self->lock);
    int r = wait_at_gate(self, &waiter, call);
    (void)pthread_mutex_lock(&self->lock);
    LIST_REMOVE(&waiter, entry);
    (void)pthread_mutex_unlock(&self->lock);
    if (r == 0)
        (void)pthread_mutex_lock(&self->one);
    return r;
}

static int leave(struct gate_store *self, int r)
{
    (void)pthread_mutex_unlock(&self->one);
    return r;
}

static int gate_query(struct table_store *store, const struct query *query, struct call *call,
                      struct page_builder *builder, struct continuation **ret_next)
{
    struct gate_store *self = (struct gate_store *)store;
    bool passes = bytes_compare(query->range.lo, self->from) < 0 ||
                  (self->below.size > 0 && bytes_compare(query->range.lo, self->below) >= 0);
    int r = passes ? pass(self) : enter(self, query->table, call);
    if (r < 0)
        return r;
    return leave(self, self->inner->ops->query(self->inner, query, call, builder, ret_next));
}

static int gate_get(struct table_store *store, const char *table, struct bytes position,
                    struct call *call, struct page_builder *builder)
{
    struct gate_store *self = (struct gate_store *)store;
    int r = enter(self, table, call);
    if (r < 0)
        return r;
    return leave(self, self->inner->ops->get(self->inner, table, position, call, builder));
}

static int gate_list_tables(struct table_store *store, const char *only,
                            const struct continuation *after, struct call *call,
                            struct table_names *ret, struct continuation **ret_next)
{
    struct gate_store *self = (struct gate_store *)store;
    int r = enter(self, NULL, call);
    if (r < 0)
        return r;
    return leave(self,
                 self->inner->ops->list_tables(self->inner, only, after, call, ret, ret_next));
}

static int gate_write(struct table_store *store, const char *table, const struct write *writes,
                      size_t n, struct call *call, struct write_result *ret)
{
    struct gate_store *self = (struct gate_store *)store;
    int r = enter(self, table, call);
    if (r < 0)
        return r;
    return leave(self, self->inner->ops->write(self->inner, table, writes, n, call, ret));
}

static int gate_create_table(struct table_store *store, const char *table, struct call *call)
{
    struct gate_store *self = (struct gate_store *)store;
    int r = enter(self, table, call);
    return r < 0 ? r : leave(self, self->inner->ops->create_table(self->inner, table, call));
}

static int gate_delete_table(struct table_store *store, const char *table, struct call *call)
{
    struct gate_store *self = (struct gate_store *)store;
    int r = enter(self, table, call);
    return r < 0 ? r : leave(self, self->inner->ops->delete_table(self->inner, table, call));
}

static size_t gate_write_size(struct table_store *store, const char *table,
                              const struct write *write)
{
    return table_store_write_size(((struct gate_store *)store)->inner, table, write);
}

static const struct table_store_limits *gate_limits(struct table_store *store)
{
    return table_store_limits(((struct gate_store *)store)->inner);
}

static void gate_destroy(struct table_store *store)
{
    struct gate_store *self = (struct gate_store *)store;
    table_store_destroy(self->inner);
    (void)pthread_mutex_destroy(&self->one);
    (void)pthread_mutex_destroy(&self->lock);
    free(self);
}

static const struct table_store_ops gate_ops = {.query = gate_query,
                                                .get = gate_get,
                                                .list_tables = gate_list_tables,
                                                .write = gate_write,
                                                .write_size = gate_write_size,
                                                .create_table = gate_create_table,
                                                .delete_table = gate_delete_table,
                                                .limits = gate_limits,
                                                .destroy = gate_destroy};

int gate_store_create(struct table_store *inner, const struct clock *clock,
                      struct table_store **ret)
{
    struct gate_store *self = calloc(1, sizeof(*self));
    if (!self || pthread_mutex_init(&self->one, NULL) != 0) {
        free(self);
        return -ENOMEM;
    }
    (void)pthread_mutex_init(&self->lock, NULL);
    LIST_INIT(&self->waiters);
    self->store.ops = &gate_ops;
    self->inner = inner;
    self->clock = clock;
    atomic_init(&self->last, GATE_OPEN);
    *ret = &self->store;
    return 0;
}

void gate_store_let(struct table_store *store, size_t last)
{
    atomic_store(&((struct gate_store *)store)->last, last);
}

void gate_store_hold_only(struct table_store *store, const char *table)
{
    atomic_store(&((struct gate_store *)store)->only, table);
}

void gate_store_hold_from(struct table_store *store, struct bytes position)
{
    ((struct gate_store *)store)->from = position;
}

void gate_store_hold_below(struct table_store *store, struct bytes position)
{
    ((struct gate_store *)store)->below = position;
}

/* Does the thread wait at the gate, and has to wait on? */
static bool is_held(struct gate_store *self, const char *thread)
{
    bool is_held = false;
    struct waiter *waiter;
    (void)pthread_mutex_lock(&self->lock);
    LIST_FOREACH(waiter, &self->waiters, entry)
    is_held |= strcmp(waiter->thread, thread) == 0 && !is_let(self, waiter->number, waiter->table);
    (void)pthread_mutex_unlock(&self->lock);
    return is_held;
}

static bool may_go_on(struct gate_store *self)
{
    bool may_go_on = false;
    struct waiter *waiter;
    (void)pthread_mutex_lock(&self->lock);
    LIST_FOREACH(waiter, &self->waiters, entry)
    may_go_on |= is_let(self, waiter->number, waiter->table);
    (void)pthread_mutex_unlock(&self->lock);
    return may_go_on;
}

/* Also where it only waits for a processor. */
static bool is_running(const char *thread)
{
    char path[300], text[512];
    (void)snprintf(path, sizeof(path), "/proc/self/task/%s/stat", thread);
    FILE *file = fopen(path, "re");
    if (!file)
        return false; /* it has just ended */
    size_t size = fread(text, 1, sizeof(text) - 1, file);
    (void)fclose(file);
    text[size] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end && strncmp(name_end, ") S", 3) != 0;
}

/* Has every other thread nothing to do, but for those that are held at the gate? */
static bool is_at_rest(struct gate_store *self)
{
    char own[THREAD_SIZE];
    bool is_at_rest = !may_go_on(self);
    DIR *threads = opendir("/proc/self/task");
    name_own_thread(own);
    for (struct dirent *entry; threads && is_at_rest && (entry = readdir(threads));) {
        const char *thread = entry->d_name;
        is_at_rest = thread[0] == '.' || strcmp(thread, own) == 0 || is_held(self, thread) ||
                     !is_running(thread);
    }
    if (threads)
        (void)closedir(threads);
    return is_at_rest;
}

/* On a busy machine a thread that has something to do may not run for long: time alone tells
 * nothing. */
size_t gate_store_settle(struct table_store *store)
{
    struct gate_store *self = (struct gate_store *)store;
    size_t before, now = atomic_load(&self->arrived);
    do {
        before = now;
        (void)usleep(SETTLE_US);
        while (!is_at_rest(self))
            (void)usleep(1000);
        (void)pthread_mutex_lock(&self->one);
        now = atomic_load(&self->arrived);
        (void)pthread_mutex_unlock(&self->one);
    } while (now > before || !is_at_rest(self));
    return now;
}

size_t gate_store_arrived(struct table_store *store)
{
    return atomic_load(&((struct gate_store *)store)->arrived);
}
