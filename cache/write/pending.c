#include "cache/write/pending.h"
#include "client/monitor.h"

#include <assert.h>
#include <bsd/sys/tree.h>
#include <stdatomic.h>
#include <sys/queue.h>

struct waiter { /* on the stack of its thread */
    TAILQ_ENTRY(waiter) entry;
    bool has_claim; /* the position was handed over to it */
};

TAILQ_HEAD(waiter_list, waiter);

enum record_state { FREE, CLAIMED };

struct record { /* of a position that is claimed or masked */
    RB_ENTRY(record) by_key;
    struct address address; /* table "": the position is a table's name */
    enum record_state state;
    struct waiter_list waiters; /* in the order in which they came; none while FREE */
    bool is_masked;
    TAILQ_ENTRY(record) in_tables; /* of a masked table */
    struct buffer etag;            /* of the masked version */
    char text[];                   /* table, NUL, position */
};

static int compare_keys(const struct record *a, const struct record *b)
{
    return address_compare(a->address, b->address);
}

RB_HEAD(record_tree, record);
TAILQ_HEAD(record_list, record);
RB_GENERATE_INTERNAL(record_tree, record, by_key, compare_keys, static __attribute__((unused)));

struct pending {
    const struct clock *clock;
    struct monitor monitor;
    _Atomic size_t masks, claims; /* change inside the monitor */
    /* guarded by monitor */
    struct record_tree records;
    struct record_list tables; /* that are masked; the one that was masked first is first */
    size_t table_count;
    size_t waiting;
};

int pending_create(const struct clock *clock, struct pending **ret)
{
    struct pending *pending = calloc(1, sizeof(*pending));
    if (!pending || monitor_init(&pending->monitor) < 0) {
        free(pending);
        return -ENOMEM;
    }
    pending->clock = clock;
    TAILQ_INIT(&pending->tables);
    *ret = pending;
    return 0;
}

static struct record key_of(const char *table, struct bytes position)
{
    return (struct record){.address = {table ? table : "", position}};
}

static struct record *find_locked(struct pending *pending, const char *table, struct bytes position)
{
    struct record key = key_of(table, position);
    return RB_FIND(record_tree, &pending->records, &key);
}

/* NULL: out of memory. */
static struct record *find_or_add_locked(struct pending *pending, const char *table,
                                         struct bytes position)
{
    struct record *record = find_locked(pending, table, position);
    if (record)
        return record;
    struct record key = key_of(table, position);
    record = calloc(1, sizeof(*record) + address_size(key.address));
    if (!record)
        return NULL;
    record->address = address_copy(key.address, record->text);
    TAILQ_INIT(&record->waiters);
    buffer_init(&record->etag, PENDING_ETAG_MAX_BYTES);
    (void)RB_INSERT(record_tree, &pending->records, record);
    return record;
}

static bool is_table(const struct record *record)
{
    return record->address.table[0] == '\0';
}

static void set_mask_locked(struct pending *pending, struct record *record)
{
    pending->masks++;
    record->is_masked = true;
    if (!is_table(record))
        return;
    TAILQ_INSERT_TAIL(&pending->tables, record, in_tables);
    pending->table_count++;
}

static void clear_mask_locked(struct pending *pending, struct record *record)
{
    if (!record->is_masked)
        return;
    pending->masks--;
    record->is_masked = false;
    if (!is_table(record))
        return;
    TAILQ_REMOVE(&pending->tables, record, in_tables);
    pending->table_count--;
}

static void free_if_unused_locked(struct pending *pending, struct record *record)
{
    if (record->state != FREE || record->is_masked)
        return;
    (void)RB_REMOVE(record_tree, &pending->records, record);
    buffer_finish(&record->etag);
    free(record);
}

void pending_destroy(struct pending *pending)
{
    if (!pending)
        return;
    struct record *record, *next;
    for (record = RB_MIN(record_tree, &pending->records); record; record = next) {
        next = RB_NEXT(record_tree, &pending->records, record);
        assert(record->state == FREE);
        clear_mask_locked(pending, record);
        free_if_unused_locked(pending, record);
    }
    monitor_finish(&pending->monitor);
    free(pending);
}

static void release_locked(struct pending *pending, struct record *record)
{
    struct waiter *next = TAILQ_FIRST(&record->waiters);
    if (next) { /* it stays CLAIMED */
        TAILQ_REMOVE(&record->waiters, next, entry);
        next->has_claim = true;
        monitor_tell(&pending->monitor);
        return;
    }
    record->state = FREE;
    pending->claims--;
    free_if_unused_locked(pending, record);
}

/* The monitor is left while the call is checked. */
static int wait_locked(struct pending *pending, struct record *record, struct call *call)
{
    struct waiter waiter = {0};
    int r = 0;
    TAILQ_INSERT_TAIL(&record->waiters, &waiter, entry);
    pending->waiting++;
    while (!waiter.has_claim && r == 0) {
        monitor_wait(&pending->monitor);
        if (waiter.has_claim)
            break;
        monitor_leave(&pending->monitor);
        r = call_check(call, pending->clock, "another change of the entity did not end in time");
        monitor_enter(&pending->monitor);
    }
    pending->waiting--;
    if (r == 0)
        return 0;
    if (waiter.has_claim)
        release_locked(pending, record);
    else
        TAILQ_REMOVE(&record->waiters, &waiter, entry);
    return r;
}

static int claim_locked(struct pending *pending, const char *table, struct bytes position,
                        struct call *call)
{
    struct record *record = find_or_add_locked(pending, table, position);
    if (!record)
        return call_fail(call, -ENOMEM, "out of memory");
    if (record->state == CLAIMED)
        return wait_locked(pending, record, call);
    record->state = CLAIMED;
    pending->claims++;
    return 0;
}

static void release_all_locked(struct pending *pending, const char *table,
                               const struct bytes *positions, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct record *record = find_locked(pending, table, positions[i]);
        assert(record && record->state == CLAIMED);
        release_locked(pending, record);
    }
}

int pending_claim(struct pending *pending, const char *table, const struct bytes *positions,
                  size_t n, struct call *call)
{
    int r = 0;
    monitor_enter(&pending->monitor);
    for (size_t i = 0; i < n && r == 0; i++) {
        assert(i == 0 || bytes_compare(positions[i - 1], positions[i]) < 0);
        r = claim_locked(pending, table, positions[i], call);
        if (r < 0)
            release_all_locked(pending, table, positions, i);
    }
    monitor_leave(&pending->monitor);
    return r;
}

void pending_release(struct pending *pending, const char *table, const struct bytes *positions,
                     size_t n)
{
    monitor_enter(&pending->monitor);
    release_all_locked(pending, table, positions, n);
    monitor_leave(&pending->monitor);
}

bool pending_is_claimed(struct pending *pending, const char *table, struct bytes position)
{
    if (pending->claims == 0)
        return false;
    monitor_enter(&pending->monitor);
    struct record *record = find_locked(pending, table, position);
    bool is_claimed = record && record->state == CLAIMED;
    monitor_leave(&pending->monitor);
    return is_claimed;
}

bool pending_has_claim(struct pending *pending, const char *table)
{
    struct record key = key_of(table, (struct bytes){0});
    monitor_enter(&pending->monitor);
    struct record *record = RB_NFIND(record_tree, &pending->records, &key);
    while (record && strcmp(record->address.table, key.address.table) == 0 &&
           record->state != CLAIMED)
        record = RB_NEXT(record_tree, &pending->records, record);
    bool has_claim = record && strcmp(record->address.table, key.address.table) == 0;
    monitor_leave(&pending->monitor);
    return has_claim;
}

bool pending_has_masks(const struct pending *pending)
{
    return pending->masks > 0;
}

static struct record *next_masked_locked(struct pending *pending, const char *table,
                                         struct range range)
{
    struct record key = key_of(table, range.lo);
    struct record *record = RB_NFIND(record_tree, &pending->records, &key);
    while (record && strcmp(record->address.table, key.address.table) == 0 &&
           range_holds(range, record->address.position)) {
        if (record->is_masked)
            return record;
        record = RB_NEXT(record_tree, &pending->records, record);
    }
    return NULL;
}

int pending_next(struct pending *pending, const char *table, struct range range,
                 struct buffer *ret_position)
{
    buffer_clear(ret_position);
    if (!pending_has_masks(pending))
        return OVERLAID_NOT;
    monitor_enter(&pending->monitor);
    struct record *record = next_masked_locked(pending, table, range);
    int r = record ? buffer_append(ret_position, record->address.position) : 0;
    monitor_leave(&pending->monitor);
    if (r < 0)
        return r;
    return record ? OVERLAID_GONE : OVERLAID_NOT;
}

static int mask_locked(struct pending *pending, const char *table, struct bytes position,
                       struct bytes etag)
{
    struct record *record = find_or_add_locked(pending, table, position);
    if (!record)
        return -ENOMEM;
    int r = buffer_set(&record->etag, etag);
    if (r == 0) {
        clear_mask_locked(pending, record); /* then it is the youngest */
        set_mask_locked(pending, record);
    }
    free_if_unused_locked(pending, record);
    while (pending->table_count > PENDING_TABLES_MAX) {
        record = TAILQ_FIRST(&pending->tables);
        clear_mask_locked(pending, record);
        free_if_unused_locked(pending, record);
    }
    return r;
}

int pending_mask(struct pending *pending, const char *table, struct bytes position,
                 struct bytes etag)
{
    monitor_enter(&pending->monitor);
    int r = mask_locked(pending, table, position, etag);
    monitor_leave(&pending->monitor);
    return r;
}

int pending_masked(struct pending *pending, const char *table, struct bytes position,
                   struct buffer *ret_etag)
{
    buffer_clear(ret_etag);
    if (!pending_has_masks(pending))
        return 0;
    monitor_enter(&pending->monitor);
    struct record *record = find_locked(pending, table, position);
    bool is_masked = record && record->is_masked;
    int r = is_masked ? buffer_append(ret_etag, buffer_bytes(&record->etag)) : 0;
    monitor_leave(&pending->monitor);
    return r < 0 ? r : is_masked;
}

/* etag NULL: whatever it is. */
static bool unmask(struct pending *pending, const char *table, struct bytes position,
                   const struct bytes *etag)
{
    monitor_enter(&pending->monitor);
    struct record *record = find_locked(pending, table, position);
    bool is_its =
        record && record->is_masked && (!etag || bytes_equal(buffer_bytes(&record->etag), *etag));
    if (is_its) {
        clear_mask_locked(pending, record);
        free_if_unused_locked(pending, record);
    }
    monitor_leave(&pending->monitor);
    return is_its;
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
    monitor_enter(&pending->monitor);
    *ret = (struct pending_stats){
        .claims = pending->claims, .waiting = pending->waiting, .masks = pending->masks};
    monitor_leave(&pending->monitor);
}

static bool is_consistent_locked(struct pending *pending)
{
    size_t claims = 0, masks = 0, tables = 0, waiting = 0;
    struct record *record, *before = NULL;
    for (record = RB_MIN(record_tree, &pending->records); record;
         record = RB_NEXT(record_tree, &pending->records, record)) {
        struct waiter *waiter;
        bool is_used = record->state == CLAIMED || record->is_masked;
        bool has_waiters = !TAILQ_EMPTY(&record->waiters);
        if (!is_used || (has_waiters && record->state == FREE) ||
            (before && compare_keys(before, record) >= 0))
            return false;
        TAILQ_FOREACH(waiter, &record->waiters, entry)
        waiting += !waiter->has_claim;
        claims += record->state == CLAIMED;
        masks += record->is_masked;
        tables += record->is_masked && is_table(record);
        before = record;
    }
    /* a caller that was handed a position counts as waiting until its thread runs */
    return claims == pending->claims && masks == pending->masks && tables == pending->table_count &&
           waiting <= pending->waiting;
}

bool pending_is_consistent(struct pending *pending)
{
    monitor_enter(&pending->monitor);
    bool is_consistent = is_consistent_locked(pending);
    monitor_leave(&pending->monitor);
    return is_consistent;
}
