/* SPDX-License-Identifier: MIT */
#include "cache/ahead/traversals.h"
#include "client/base/monitor.h"

#include <assert.h>

#define STRAYS_MAX 2 /* misses in a row that it could not serve: its process reads elsewhere */

enum state { FREE, IDLE, BUSY };

struct traversal {
    enum state state;
    uint64_t process;
    struct owned_range where;  /* from where it began to the end of what the process traverses */
    struct row_reader *reader; /* NULL: to be created */
    int64_t last_ms;
    int strays;
    uint64_t turns; /* progress: how often a thread of the process reached its position */
};

struct traversals {
    struct prefetcher_source source;
    int64_t end_ms;
    struct monitor monitor; /* notified when one is no longer BUSY */
    /* guarded by monitor; the reader of a BUSY one belongs to its thread */
    struct traversal all[TRAVERSALS_MAX];
};

int traversals_create(const struct prefetcher_source *source, int64_t end_ms,
                      struct traversals **ret)
{
    struct traversals *traversals = calloc(1, sizeof(*traversals));
    if (!traversals)
        return -ENOMEM;
    monitor_init(&traversals->monitor);
    traversals->source = *source;
    traversals->end_ms = end_ms;
    for (size_t i = 0; i < TRAVERSALS_MAX; i++)
        owned_range_init(&traversals->all[i].where);
    *ret = traversals;
    return 0;
}

/* Inside the monitor. */
static void check_locked(const struct traversal *traversal)
{
    assert((traversal->state == FREE) == (traversal->process == 0));
    assert(traversal->state != FREE || !traversal->reader);
    assert(traversal->state != IDLE || owned_range_is_set(&traversal->where));
}

/* The place is FREE afterwards. Returns its reader, to be destroyed outside the monitor. */
static struct row_reader *end_locked(struct traversal *traversal)
{
    struct row_reader *reader = TAKE_PTR(traversal->reader);
    owned_range_finish(&traversal->where);
    *traversal = (struct traversal){.state = FREE, .where = traversal->where};
    check_locked(traversal);
    return reader;
}

void traversals_destroy(struct traversals *traversals)
{
    if (!traversals)
        return;
    for (size_t i = 0; i < TRAVERSALS_MAX; i++)
        row_reader_destroy(end_locked(&traversals->all[i]));
    monitor_finish(&traversals->monitor);
    free(traversals);
}

void traversals_end_quiet(struct traversals *traversals)
{
    int64_t oldest_ms = clock_now_ms(traversals->source.clock) - traversals->end_ms;
    struct row_reader *ended[TRAVERSALS_MAX] = {0};
    monitor_enter(&traversals->monitor);
    for (size_t i = 0; i < TRAVERSALS_MAX; i++) {
        struct traversal *traversal = &traversals->all[i];
        if (traversal->state == IDLE && traversal->last_ms < oldest_ms)
            ended[i] = end_locked(traversal);
    }
    monitor_leave(&traversals->monitor);
    for (size_t i = 0; i < TRAVERSALS_MAX; i++)
        row_reader_destroy(ended[i]);
}

/* The process's traversal of the table. NULL: it has none. */
static struct traversal *find_locked(struct traversals *traversals, uint64_t process,
                                     const char *table)
{
    for (size_t i = 0; i < TRAVERSALS_MAX; i++) {
        struct traversal *traversal = &traversals->all[i];
        if (traversal->state != FREE && traversal->process == process &&
            is_same_table(traversal->where.table, table))
            return traversal;
    }
    return NULL;
}

/* A FREE place, else that of the traversal that has been quiet longest; NULL: there is none. */
static struct traversal *find_place_locked(struct traversals *traversals)
{
    struct traversal *found = NULL;
    int64_t quiet_ms = clock_now_ms(traversals->source.clock) - TRAVERSALS_QUIET_MS;
    for (size_t i = 0; i < TRAVERSALS_MAX; i++) {
        struct traversal *traversal = &traversals->all[i];
        if (traversal->state == FREE)
            return traversal;
        if (traversal->state == IDLE && traversal->last_ms <= quiet_ms &&
            (!found || traversal->last_ms < found->last_ms))
            found = traversal;
    }
    return found;
}

static bool can_serve(const struct traversal *traversal, struct bytes position)
{
    return traversal->reader && traversal->strays < STRAYS_MAX &&
           range_holds(traversal->where.range, position);
}

/* Waits until no other thread uses the process's traversal. *ret NULL: the process has none. */
static int await_locked(struct traversals *traversals, struct caller *caller, const char *table,
                        struct traversal **ret, bool *ret_has_waited)
{
    struct traversal *traversal;
    int r = 0;
    *ret_has_waited = false;
    while ((traversal = find_locked(traversals, caller->process, table)) &&
           traversal->state == BUSY && r == 0) {
        uint64_t turns = traversal->turns;
        *ret_has_waited = true;
        monitor_wait(&traversals->monitor);
        if (traversal->turns > turns)
            caller_made_progress(caller, traversals->source.clock);
        r = call_check(&caller->call, traversals->source.clock, "no answer in time");
    }
    *ret = traversal;
    return r;
}

/* Begins at the position, in the process's own place or another. NULL: no place, or no memory. */
static struct traversal *begin_locked(struct traversals *traversals, struct traversal *own,
                                      uint64_t process, const struct owned_range *whole,
                                      struct bytes position, struct row_reader **ret_left)
{
    struct traversal *traversal = own ? own : find_place_locked(traversals);
    if (!traversal)
        return NULL;
    *ret_left = end_locked(traversal);
    if (!owned_range_set(&traversal->where, whole->table,
                         (struct range){position, whole->range.hi}))
        return NULL;
    traversal->process = process;
    return traversal;
}

/* Makes the process's traversal BUSY. A reader of NULL is to be created. *ret NULL: there is no
 * place for a traversal. */
static int enter(struct traversals *traversals, struct caller *caller,
                 const struct traversal_step *step, struct traversal **ret, bool *ret_has_waited)
{
    const struct owned_range *whole = step->whole;
    struct row_reader *left = NULL;
    struct traversal *traversal;
    monitor_enter(&traversals->monitor);
    int r = await_locked(traversals, caller, whole->table, &traversal, ret_has_waited);
    if (r == 0 && !(traversal && can_serve(traversal, step->position)))
        traversal = begin_locked(traversals, traversal, caller->process, whole, step->begin, &left);
    if (r == 0 && traversal)
        traversal->state = BUSY;
    monitor_leave(&traversals->monitor);
    row_reader_destroy(left);
    *ret = traversal;
    return fetcher_explain(traversals->source.fetcher, whole->table, caller, r);
}

/* The traversal is IDLE, or after a failure (r < 0) ended. r: enum reach or -errno. */
static void leave(struct traversals *traversals, struct traversal *traversal, int r, int strays)
{
    struct row_reader *ended = NULL;
    monitor_enter(&traversals->monitor);
    traversal->state = IDLE;
    traversal->turns += r == REACH_IN_CACHE;
    traversal->last_ms = clock_now_ms(traversals->source.clock);
    traversal->strays = strays;
    if (r < 0)
        ended = end_locked(traversal);
    check_locked(traversal);
    monitor_notify(&traversals->monitor);
    monitor_leave(&traversals->monitor);
    row_reader_destroy(ended);
}

int traversals_reach(struct traversals *traversals, struct caller *caller,
                     const struct traversal_step *step, struct page **ret_page)
{
    struct traversal *traversal;
    bool has_waited;
    traversals_end_quiet(traversals);
    int r = enter(traversals, caller, step, &traversal, &has_waited);
    if (r < 0 || !traversal)
        return r < 0 ? r : REACH_NOT;
    int strays = traversal->reader ? traversal->strays : 0;
    struct prefetcher_options options = {.kind = READ_ROWS,
                                         .table = traversal->where.table,
                                         .range = traversal->where.range,
                                         .since = step->since,
                                         .is_traversal = true};
    if (!traversal->reader)
        r = row_reader_create(&traversals->source, &options, caller, &traversal->reader);
    if (r == 0)
        r = row_reader_reach(traversal->reader, caller, step->position, step->must_fit, ret_page);
    if (r == REACH_NOT && has_waited) /* another thread has passed it: no stray */
        r = REACH_IN_CACHE;
    leave(traversals, traversal, r, r == REACH_NOT ? strays + 1 : 0);
    return caller_forgive(caller, r);
}

/* The process's traversal, made BUSY. NULL: it cannot serve the position, or a thread uses it. */
static struct traversal *enter_known(struct traversals *traversals, uint64_t process,
                                     const char *table, struct bytes position)
{
    INSIDE(&traversals->monitor);
    struct traversal *traversal = process != 0 ? find_locked(traversals, process, table) : NULL;
    if (traversal && (traversal->state == BUSY || !can_serve(traversal, position)))
        traversal = NULL;
    if (traversal)
        traversal->state = BUSY;
    return traversal;
}

void traversals_follow(struct traversals *traversals, uint64_t process, const char *table,
                       struct bytes position)
{
    struct traversal *traversal = enter_known(traversals, process, table, position);
    if (!traversal)
        return;
    row_reader_follow(traversal->reader, position);
    leave(traversals, traversal, REACH_IN_CACHE, traversal->strays);
}
