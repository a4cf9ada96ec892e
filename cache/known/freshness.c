/* SPDX-License-Identifier: MIT */
#include "cache/known/freshness.h"
#include "client/base/locked.h"

#define DIRECTORIES       8
#define NAMES             8 /* that a process may poll */
#define REACHED_MAX_BYTES ((size_t)16 << 10)

/* A directory that the process listed; none if `where` is not set. A traversal goes through it in
 * key order. */
struct listed {
    struct owned_range where;
    bool is_filtered;           /* the listing has shown what matches a filter alone */
    struct stamp began;         /* the oldest answer that the listing may have shown */
    int64_t started_ms;         /* when the listing was noted first */
    int64_t last_ms;            /* when it was read last */
    int64_t advanced_ms;        /* when it last reached a greater position; INT64_MIN: never */
    struct buffer listed_to;    /* begin of the last directory in it that was listed */
    struct buffer looked_up_to; /* the greatest position in it that was looked up */
};

struct record { /* of a process; its key is its number */
    struct map_item item;
    struct listed listed[DIRECTORIES]; /* the last used first */
    /* lo: the last position that was looked up and is not on the path to the one before, or the
     * directory that was listed since */
    struct owned_range last_lookup;
    struct {
        uint64_t name; /* hash of table and position; 0: none */
        int64_t first_ms;
    } lookups[NAMES]; /* of the last names, a ring */
    size_t next_lookup;
};

struct freshness {
    int64_t ttl_ms;
    const struct clock *clock;
    _Atomic uint64_t *orders;
    pthread_mutex_t lock;
    /* guarded by lock */
    struct map records;
};

int freshness_create(int64_t ttl_ms, const struct clock *clock, _Atomic uint64_t *orders,
                     struct freshness **ret)
{
    struct freshness *freshness = calloc(1, sizeof(*freshness));
    if (!freshness)
        return -ENOMEM;
    (void)pthread_mutex_init(&freshness->lock, NULL);
    freshness->ttl_ms = ttl_ms;
    freshness->clock = clock;
    freshness->orders = orders;
    map_init(&freshness->records);
    *ret = freshness;
    return 0;
}

static bool is_listing_of(const struct listed *listed, const struct directory *directory)
{
    const struct owned_range *where = &listed->where;
    return owned_range_is_set(where) && listed->is_filtered == (directory->filter != NULL) &&
           is_same_table(where->table, directory->table) &&
           bytes_equal(where->range.lo, directory->range.lo) &&
           bytes_equal(where->range.hi, directory->range.hi);
}

static bool holds_range(const struct listed *listed, const char *table, struct range range)
{
    const struct owned_range *where = &listed->where;
    if (!owned_range_is_set(where))
        return false;
    if (!where->table) /* the account holds everything */
        return true;
    return is_same_table(where->table, table) && range_holds_range(where->range, range);
}

static bool holds_directory(const struct listed *listed, const struct directory *directory)
{
    return holds_range(listed, directory->table, directory->range);
}

static bool holds_position(const struct listed *listed, const char *table, struct bytes position)
{
    const struct owned_range *where = &listed->where;
    if (!owned_range_is_set(where))
        return false;
    if (!where->table) /* it has shown names of tables, and nothing in them */
        return !table;
    if (!table) /* what was listed of a table shows that the table is there */
        return bytes_equal(bytes_of(where->table), position);
    return is_same_table(where->table, table) && range_holds(where->range, position);
}

static void listed_init(struct listed *listed)
{
    owned_range_init(&listed->where);
    buffer_init(&listed->listed_to, REACHED_MAX_BYTES);
    buffer_init(&listed->looked_up_to, REACHED_MAX_BYTES);
}

static void listed_finish(struct listed *listed)
{
    owned_range_finish(&listed->where);
    buffer_finish(&listed->listed_to);
    buffer_finish(&listed->looked_up_to);
}

static struct record *record_create(uint64_t number)
{
    struct record *record = map_create(sizeof(*record), MAP_NUMBER(number), 0);
    if (!record)
        return NULL;
    owned_range_init(&record->last_lookup);
    for (size_t i = 0; i < DIRECTORIES; i++)
        listed_init(&record->listed[i]);
    return record;
}

static void drop_locked(struct freshness *freshness, struct record *record)
{
    map_remove(&freshness->records, record);
    owned_range_finish(&record->last_lookup);
    for (size_t i = 0; i < DIRECTORIES; i++)
        listed_finish(&record->listed[i]);
    free(record);
}

void freshness_destroy(struct freshness *freshness)
{
    if (!freshness)
        return;
    while (freshness->records.count > 0)
        drop_locked(freshness, map_oldest(&freshness->records));
    (void)pthread_mutex_destroy(&freshness->lock);
    free(freshness);
}

/* The record of the process; NULL: there is none. */
static struct record *find_locked(struct freshness *freshness, uint64_t number)
{
    return map_use(&freshness->records, MAP_NUMBER(number));
}

/* The same; creates the record if there is none. NULL: process 0, or no memory. */
static struct record *find_or_add_locked(struct freshness *freshness, uint64_t number)
{
    struct record *record = find_locked(freshness, number);
    if (record || number == 0 || !(record = record_create(number)))
        return record;
    if (freshness->records.count == FRESHNESS_PROCESSES)
        drop_locked(freshness, map_oldest(&freshness->records));
    map_add(&freshness->records, record);
    return record;
}

/* The index of the directory, or of the one that it replaces: the least recently listed one that
 * does not hold it. A traversal returns to those that do. */
static size_t find_listed(const struct record *record, const struct directory *directory)
{
    for (size_t i = 0; i < DIRECTORIES; i++)
        if (is_listing_of(&record->listed[i], directory))
            return i;
    size_t i = DIRECTORIES - 1;
    while (i > 0 && holds_directory(&record->listed[i], directory))
        i--;
    return i;
}

/* Is the position greater than the greatest so far? Then it is kept, unless it is too long. */
static bool advance_to(struct buffer *reached, struct bytes position)
{
    if (bytes_compare(position, buffer_bytes(reached)) <= 0)
        return false;
    buffer_clear(reached);
    return buffer_append(reached, position) == 0;
}

static void begin_listed(struct listed *listed, const struct directory *directory,
                         struct stamp began, int64_t now_ms)
{
    (void)owned_range_set(&listed->where, directory->table, directory->range);
    listed->is_filtered = directory->filter;
    buffer_clear(&listed->listed_to);
    buffer_clear(&listed->looked_up_to);
    listed->began = began;
    listed->started_ms = now_ms;
    listed->advanced_ms = INT64_MIN;
}

static void note_listed(struct record *record, const struct directory *directory,
                        struct stamp began, int64_t now_ms)
{
    size_t i = find_listed(record, directory);
    struct listed listed = record->listed[i];
    memmove(&record->listed[1], &record->listed[0], i * sizeof(listed));
    if (!is_listing_of(&listed, directory) || listed.began.requested_ms != began.requested_ms)
        begin_listed(&listed, directory, began, now_ms);
    listed.last_ms = now_ms;
    record->listed[0] = listed;
    for (size_t k = 1; k < DIRECTORIES; k++) {
        struct listed *holder = &record->listed[k];
        if (holds_directory(holder, directory) &&
            advance_to(&holder->listed_to, directory->range.lo))
            holder->advanced_ms = now_ms;
    }
}

bool freshness_listed(struct freshness *freshness, uint64_t process,
                      const struct directory *directory, struct stamp began,
                      struct owned_range *ret_left)
{
    int64_t now_ms = clock_now_ms(freshness->clock);
    bool has_left = false;
    LOCKED(&freshness->lock);
    struct record *record = find_or_add_locked(freshness, process);
    if (record) {
        const struct listed *last = &record->listed[0];
        if (owned_range_is_set(&last->where) && !holds_directory(last, directory))
            has_left = owned_range_set(ret_left, last->where.table, last->where.range);
        note_listed(record, directory, began, now_ms);
        (void)owned_range_set(&record->last_lookup, directory->table,
                              (struct range){.lo = directory->range.lo});
    }
    return has_left;
}

bool freshness_has_listed_account(struct freshness *freshness, uint64_t process)
{
    bool has_listed = false;
    LOCKED(&freshness->lock);
    struct record *record = find_locked(freshness, process);
    for (size_t i = 0; record && i < DIRECTORIES && !has_listed; i++) {
        const struct owned_range *where = &record->listed[i].where;
        has_listed = owned_range_is_set(where) && !where->table;
    }
    return has_listed;
}

bool freshness_has_listed(struct freshness *freshness, uint64_t process,
                          const struct directory *directory)
{
    LOCKED(&freshness->lock);
    struct record *record = find_locked(freshness, process);
    bool has_listed = false;
    for (size_t i = 0; record && i < DIRECTORIES && !has_listed; i++)
        has_listed = is_listing_of(&record->listed[i], directory);
    return has_listed;
}

static bool is_recent(int64_t ms, int64_t now_ms)
{
    return ms > now_ms - FRESHNESS_KEPT_MS;
}

/* Accepts an answer as old as the one that the listing showed. */
static void serve(const struct listed *listed, int64_t now_ms, int64_t *oldest_ms)
{
    *oldest_ms = MIN(*oldest_ms, MAX(listed->began.requested_ms, now_ms - FRESHNESS_KEPT_MS));
}

/* Without a listing that decides, ttl 0 accepts only what is requested from now on. */
static struct stamp wanted(struct freshness *freshness, int64_t now_ms, int64_t oldest_ms,
                           bool is_served)
{
    return is_served || oldest_ms < now_ms ? stamp_since(oldest_ms)
                                           : stamp_from_now(freshness->orders, now_ms);
}

/* Does the listing of a larger directory serve one of this directory? It does if it was read
 * lately, or if the process traverses it and has not passed this directory yet. */
static bool leads_to_directory(const struct listed *listed, const struct directory *directory,
                               int64_t now_ms)
{
    if (!listed->where.table || !holds_directory(listed, directory))
        return false;
    return is_recent(listed->last_ms, now_ms) ||
           (is_recent(listed->advanced_ms, now_ms) &&
            bytes_compare(directory->range.lo, buffer_bytes(&listed->listed_to)) >= 0);
}

struct stamp freshness_begin_listing(struct freshness *freshness, uint64_t process,
                                     const struct directory *directory)
{
    int64_t now_ms = clock_now_ms(freshness->clock), oldest_ms = now_ms - freshness->ttl_ms;
    bool is_again = false, is_served = false;
    LOCKED(&freshness->lock);
    struct record *record = find_locked(freshness, process);
    for (size_t i = 0; record && i < DIRECTORIES; i++) {
        const struct listed *listed = &record->listed[i];
        if (is_listing_of(listed, directory)) {
            is_again = now_ms - listed->started_ms >= FRESHNESS_REPEAT_MS;
        } else if (leads_to_directory(listed, directory, now_ms)) {
            serve(listed, now_ms, &oldest_ms);
            is_served = true;
        }
    }
    if (is_again)
        return wanted(freshness, now_ms, now_ms - freshness->ttl_ms, false);
    return wanted(freshness, now_ms, oldest_ms, is_served);
}

struct stamp freshness_of_listing(const struct freshness *freshness, struct stamp began)
{
    int64_t kept_ms = MAX(FRESHNESS_KEPT_MS, freshness->ttl_ms);
    began.requested_ms = MAX(began.requested_ms, clock_now_ms(freshness->clock) - kept_ms);
    return began;
}

/* Is it a listing of more than the range, in which the process has read lately? Entries that a
 * filter leaves out are not visited next. */
static bool is_traversed(const struct listed *listed, const char *table, struct range range,
                         int64_t now_ms)
{
    const struct owned_range *where = &listed->where;
    bool is_larger =
        where->table && !listed->is_filtered && holds_range(listed, table, range) &&
        !(bytes_equal(where->range.lo, range.lo) && bytes_equal(where->range.hi, range.hi));
    return is_larger &&
           (is_recent(listed->last_ms, now_ms) || is_recent(listed->advanced_ms, now_ms));
}

bool freshness_traverses(struct freshness *freshness, uint64_t process, const char *table,
                         struct range range, struct owned_range *ret_whole)
{
    int64_t now_ms = clock_now_ms(freshness->clock);
    const struct listed *whole = NULL;
    LOCKED(&freshness->lock);
    struct record *record = table ? find_locked(freshness, process) : NULL;
    for (size_t i = 0; record && i < DIRECTORIES; i++) {
        const struct listed *listed = &record->listed[i];
        if (is_traversed(listed, table, range, now_ms) &&
            (!whole || holds_range(listed, table, whole->where.range)))
            whole = listed;
    }
    return whole && owned_range_set(ret_whole, whole->where.table, whole->where.range);
}

void freshness_read_to(struct freshness *freshness, uint64_t process,
                       const struct directory *directory, struct position *ret)
{
    ret->size = 0;
    LOCKED(&freshness->lock);
    struct record *record = find_locked(freshness, process);
    for (size_t i = 0; record && i < DIRECTORIES; i++)
        if (is_listing_of(&record->listed[i], directory))
            position_set(ret, buffer_bytes(&record->listed[i].looked_up_to));
}

/* Is it a table or directory on the path to the position of `lookup`? */
static bool leads_to(const char *table, struct bytes position, const struct owned_range *lookup)
{
    if (!table)
        return lookup->table && bytes_equal(position, bytes_of(lookup->table));
    return is_same_table(table, lookup->table) && position_row_key(position).size == 0 &&
           bytes_start_with(lookup->range.lo, position);
}

static uint64_t hash_name(const char *table, struct bytes position)
{
    uint64_t hash = BYTES_HASH_START;
    if (table) /* with its NUL, which no name of a table has */
        hash = bytes_hash(hash, (struct bytes){table, strlen(table) + 1});
    return bytes_hash(hash, position) | 1;
}

/* Notes the lookup. Returns true for one of a few names that the process looks up again and again.
 * A directory on the path to the last name is not counted: the kernel looks it up whenever its own
 * answer expires. */
static bool is_repeated_lookup(struct record *record, const char *table, struct bytes position,
                               int64_t now_ms)
{
    struct owned_range *last = &record->last_lookup;
    uint64_t name = hash_name(table, position);
    bool is_last = is_same_table(table, last->table) && bytes_equal(position, last->range.lo);
    if (owned_range_is_set(last) && !is_last && leads_to(table, position, last))
        return false;
    (void)owned_range_set(last, table, (struct range){.lo = position});
    for (size_t i = 0; i < NAMES; i++)
        if (record->lookups[i].name == name)
            return now_ms - record->lookups[i].first_ms >= FRESHNESS_REPEAT_MS;
    record->lookups[record->next_lookup].name = name;
    record->lookups[record->next_lookup].first_ms = now_ms;
    record->next_lookup = (record->next_lookup + 1) % NAMES;
    return false;
}

/* Does the listing serve a lookup of a position in it? It does if it was read lately; or if the
 * process traverses it, and the position is greater than all before, or on the path to the
 * greatest. */
static struct served serves(struct listed *listed, struct bytes position, int64_t now_ms)
{
    bool is_advancing = is_recent(listed->advanced_ms, now_ms);
    bool is_on_path = bytes_start_with(buffer_bytes(&listed->looked_up_to), position);
    bool advances = advance_to(&listed->looked_up_to, position);
    if (advances && is_advancing)
        listed->advanced_ms = now_ms;
    bool is_served =
        is_recent(listed->last_ms, now_ms) || (is_advancing && (is_on_path || advances));
    return (struct served){is_served, is_served && advances};
}

struct stamp freshness_oldest(struct freshness *freshness, uint64_t process, const char *table,
                              struct bytes position, struct served *ret)
{
    int64_t now_ms = clock_now_ms(freshness->clock), oldest_ms = now_ms - freshness->ttl_ms;
    *ret = (struct served){0};
    LOCKED(&freshness->lock);
    struct record *record = find_locked(freshness, process);
    bool may_serve = record && !is_repeated_lookup(record, table, position, now_ms);
    for (size_t i = 0; may_serve && i < DIRECTORIES; i++) {
        struct listed *listed = &record->listed[i];
        if (!holds_position(listed, table, position))
            continue;
        struct served served = serves(listed, position, now_ms);
        if (served.is_served)
            serve(listed, now_ms, &oldest_ms);
        ret->is_served |= served.is_served;
        ret->is_in_order |= served.is_in_order;
    }
    return wanted(freshness, now_ms, oldest_ms, ret->is_served);
}

int64_t freshness_valid_ms(const struct freshness *freshness, int64_t requested_ms)
{
    int64_t age_ms = clock_now_ms(freshness->clock) - requested_ms;
    return MAX(freshness->ttl_ms - MAX(age_ms, 0), 0);
}

int64_t freshness_hold_ms(const struct freshness *freshness, int64_t valid_ms)
{
    return MAX(valid_ms, MIN(FRESHNESS_REPEAT_MS, freshness->ttl_ms));
}
