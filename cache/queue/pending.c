/* SPDX-License-Identifier: MIT */
#include "cache/queue/pending_parts.h"

#include <assert.h>

int pending_create(const struct pending_limits *limits, const struct clock *clock,
                   struct pending **ret)
{
    struct pending *pending = calloc(1, sizeof(*pending));
    if (!pending)
        return -ENOMEM;
    monitor_init(&pending->monitor);
    pending->clock = clock;
    pending->limits = *limits;
    pending->limits.batch_writes = MIN(limits->batch_writes, PENDING_BATCH_MAX);
    TAILQ_INIT(&pending->tables);
    TAILQ_INIT(&pending->queue.failures);
    TAILQ_INIT(&pending->queue.holds);
    LIST_INIT(&pending->watches);
    *ret = pending;
    return 0;
}

static bool is_table(const struct record *record)
{
    return record->address.table[0] == '\0';
}

static void set_mask_locked(struct pending *pending, struct record *record, struct mask *mask)
{
    pending->masks++;
    record->mask = mask;
    if (!is_table(record))
        return;
    TAILQ_INSERT_TAIL(&pending->tables, record, mask->in_tables);
    pending->table_count++;
}

static void clear_mask_locked(struct pending *pending, struct record *record)
{
    if (!record->mask)
        return;
    pending->ended++; /* first: pending_ended */
    pending->masks--;
    if (is_table(record)) {
        TAILQ_REMOVE(&pending->tables, record, mask->in_tables);
        pending->table_count--;
    }
    free(TAKE_PTR(record->mask));
}

void pending_destroy(struct pending *pending)
{
    if (!pending)
        return;
    for (struct record *record; (record = RB_ROOT(&pending->records)) != NULL;) {
        assert(record->state == FREE);
        clear_mask_locked(pending, record);
        pending_free_if_unused_locked(pending, record);
    }
    assert(LIST_EMPTY(&pending->watches));
    queue_finish(&pending->queue);
    monitor_finish(&pending->monitor);
    free(pending);
}

static int wait_locked(struct pending *pending, struct record *record, struct call *call)
{
    struct waiter waiter = {0};
    int r = 0;
    TAILQ_INSERT_TAIL(&record->waiters, &waiter, entry);
    pending->waiting++;
    while (!waiter.has_claim && r == 0) {
        r = record->queued ? queue_check_answers_locked(pending, call) : 0;
        if (r < 0)
            break;
        monitor_wait(&pending->monitor);
        if (!waiter.has_claim)
            r = pending_check_locked(pending, call,
                                     "another change of the entity did not end in time");
    }
    pending->waiting--;
    if (r == 0)
        return 0;
    if (waiter.has_claim)
        pending_release_locked(pending, record);
    else
        TAILQ_REMOVE(&record->waiters, &waiter, entry);
    return r;
}

static int claim_locked(struct pending *pending, const char *table, struct bytes position,
                        struct call *call)
{
    struct record *record = pending_find_or_add_locked(pending, table, position);
    if (!record)
        return call_fail(call, -ENOMEM, "out of memory");
    if (record->queued)
        queue_hurry_locked(pending, record->queued);
    if (record->state != FREE)
        return wait_locked(pending, record, call);
    pending_set_claimed_locked(pending, record);
    return 0;
}

static void release_all_locked(struct pending *pending, const char *table,
                               const struct bytes *positions, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct record *record = pending_find_locked(pending, table, positions[i]);
        assert(record && record->state == CLAIMED);
        pending_release_locked(pending, record);
    }
}

int pending_claim(struct pending *pending, const char *table, const struct bytes *positions,
                  size_t n, struct call *call)
{
    int r = 0;
    INSIDE(&pending->monitor);
    for (size_t i = 0; i < n && r == 0; i++) {
        assert(i == 0 || bytes_compare(positions[i - 1], positions[i]) < 0);
        r = claim_locked(pending, table, positions[i], call);
        if (r < 0)
            release_all_locked(pending, table, positions, i);
    }
    return r;
}

void pending_release(struct pending *pending, const char *table, const struct bytes *positions,
                     size_t n)
{
    INSIDE(&pending->monitor);
    release_all_locked(pending, table, positions, n);
}

bool pending_is_changing(struct pending *pending, const char *table, struct bytes position)
{
    if (pending->claims == 0 && pending->queued == 0)
        return false;
    INSIDE(&pending->monitor);
    struct record *record = pending_find_locked(pending, table, position);
    return record && record->state != FREE;
}

bool pending_has_overlay(const struct pending *pending)
{
    return pending->masks > 0 || pending->queued > 0;
}

uint64_t pending_ended(const struct pending *pending)
{
    return pending->ended;
}

static struct record *next_overlaid_locked(struct pending *pending, const char *table,
                                           struct range range)
{
    struct record *record = pending_seek_locked(pending, table, range.lo);
    while (record && range_holds(range, record->address.position)) {
        if (record->mask || record->queued)
            return record;
        record = pending_after_locked(record);
    }
    return NULL;
}

enum overlaid pending_next(struct pending *pending, const char *table, struct range range,
                           struct entity *ret, struct position *ret_position)
{
    *ret = (struct entity){0};
    if (!pending_has_overlay(pending))
        return OVERLAID_NOT;
    INSIDE(&pending->monitor);
    struct record *record = next_overlaid_locked(pending, table, range);
    if (!record)
        return OVERLAID_NOT;
    position_set(ret_position, record->address.position);
    if (record->mask || !record->queued->text.page)
        return OVERLAID_GONE;
    *ret = (struct entity){page_ref(record->queued->text.page), record->queued->text.row};
    return OVERLAID_ROW;
}

/* NULL: out of memory. */
static struct mask *make_mask(struct bytes etag)
{
    struct mask *mask = calloc(1, sizeof(*mask));
    if (mask)
        etag_set(&mask->etag, etag);
    return mask;
}

int pending_mask(struct pending *pending, const char *table, struct bytes position,
                 struct bytes etag)
{
    INSIDE(&pending->monitor);
    if (etag.size > ETAG_SIZE_MAX)
        return -EFBIG;
    struct record *record = pending_find_or_add_locked(pending, table, position);
    struct mask *mask = record ? make_mask(etag) : NULL;
    if (mask) {
        clear_mask_locked(pending, record); /* the new one is the last in `tables` */
        set_mask_locked(pending, record, mask);
    } else if (record) {
        pending_free_if_unused_locked(pending, record);
    }
    while (pending->table_count > PENDING_TABLES_MAX) {
        record = TAILQ_FIRST(&pending->tables);
        clear_mask_locked(pending, record);
        pending_free_if_unused_locked(pending, record);
    }
    return mask ? 0 : -ENOMEM;
}

bool pending_masked(struct pending *pending, const char *table, struct bytes position,
                    struct etag *ret_etag)
{
    ret_etag->size = 0;
    if (pending->masks == 0)
        return false;
    INSIDE(&pending->monitor);
    struct record *record = pending_find_locked(pending, table, position);
    bool is_masked = record && record->mask;
    if (is_masked)
        *ret_etag = record->mask->etag;
    return is_masked;
}

/* etag NULL: whatever it is. */
static bool unmask(struct pending *pending, const char *table, struct bytes position,
                   const struct bytes *etag)
{
    INSIDE(&pending->monitor);
    struct record *record = pending_find_locked(pending, table, position);
    bool is_match =
        record && record->mask && (!etag || bytes_equal(etag_bytes(&record->mask->etag), *etag));
    if (is_match) {
        clear_mask_locked(pending, record);
        pending_free_if_unused_locked(pending, record);
    }
    return is_match;
}

void pending_unmask(struct pending *pending, const char *table, struct bytes position)
{
    (void)unmask(pending, table, position, NULL);
}

bool pending_unmask_version(struct pending *pending, const char *table, struct bytes position,
                            struct bytes etag)
{
    return unmask(pending, table, position, &etag);
}

void pending_stats(struct pending *pending, struct pending_stats *ret)
{
    INSIDE(&pending->monitor);
    *ret = (struct pending_stats){.claims = pending->claims,
                                  .waiting = pending->waiting,
                                  .masks = pending->masks,
                                  .queued = pending->queued,
                                  .queued_bytes = pending->queue.bytes,
                                  .reserved = pending->reserved};
}
