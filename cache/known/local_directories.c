/* SPDX-License-Identifier: MIT */
#include "cache/known/local_directories.h"
#include "client/base/locked.h"

#include <bsd/sys/tree.h>
#include <pthread.h>
#include <sys/queue.h>

struct entry {
    RB_ENTRY(entry) by_range, by_parent;
    TAILQ_ENTRY(entry) by_use;
    const char *table;
    struct bytes lo, parent_lo;
    size_t bytes;
    uint64_t order; /* of the youngest stamp when it was last added */
    bool is_empty;
    char text[]; /* table, NUL, parent_lo, lo */
};

static int compare_ranges(const struct entry *a, const struct entry *b)
{
    int order = strcmp(a->table, b->table);
    return order != 0 ? order : bytes_compare(a->lo, b->lo);
}

static int compare_parents(const struct entry *a, const struct entry *b)
{
    int order = strcmp(a->table, b->table);
    if (order == 0)
        order = bytes_compare(a->parent_lo, b->parent_lo);
    return order != 0 ? order : bytes_compare(a->lo, b->lo);
}

RB_HEAD(range_tree, entry);
RB_HEAD(parent_tree, entry);
TAILQ_HEAD(entry_list, entry);
RB_GENERATE_INTERNAL(range_tree, entry, by_range, compare_ranges, static __attribute__((unused)));
RB_GENERATE_INTERNAL(parent_tree, entry, by_parent, compare_parents,
                     static __attribute__((unused)));

struct local_directories {
    const _Atomic uint64_t *orders;
    pthread_mutex_t lock;
    /* guarded by lock */
    struct range_tree ranges;
    struct parent_tree parents;
    struct entry_list by_use; /* the last used first */
    size_t count, bytes;
};

int local_directories_create(const _Atomic uint64_t *orders, struct local_directories **ret)
{
    struct local_directories *local = calloc(1, sizeof(*local));
    if (!local)
        return -ENOMEM;
    (void)pthread_mutex_init(&local->lock, NULL);
    TAILQ_INIT(&local->by_use);
    local->orders = orders;
    *ret = local;
    return 0;
}

static void remove_locked(struct local_directories *local, struct entry *entry)
{
    (void)RB_REMOVE(range_tree, &local->ranges, entry);
    (void)RB_REMOVE(parent_tree, &local->parents, entry);
    TAILQ_REMOVE(&local->by_use, entry, by_use);
    local->count--;
    local->bytes -= entry->bytes;
    free(entry);
}

void local_directories_destroy(struct local_directories *local)
{
    if (!local)
        return;
    for (struct entry *entry; (entry = TAILQ_FIRST(&local->by_use)) != NULL;)
        remove_locked(local, entry);
    (void)pthread_mutex_destroy(&local->lock);
    free(local);
}

static char *copy(char *to, struct bytes from)
{
    if (from.size > 0)
        memcpy(to, from.data, from.size);
    return to + from.size;
}

/* An entry that is in no map yet. NULL: out of memory. */
static struct entry *entry_create(const char *table, struct bytes lo, struct bytes parent_lo)
{
    size_t table_size = strlen(table) + 1;
    size_t bytes = sizeof(struct entry) + table_size + parent_lo.size + lo.size;
    struct entry *entry = calloc(1, bytes);
    if (!entry)
        return NULL;
    char *parent_text = copy(entry->text, (struct bytes){table, table_size});
    char *text = copy(parent_text, parent_lo);
    (void)copy(text, lo);
    entry->table = entry->text;
    entry->parent_lo = (struct bytes){parent_text, parent_lo.size};
    entry->lo = (struct bytes){text, lo.size};
    entry->bytes = bytes;
    return entry;
}

/* NULL: not local. It counts as used. */
static struct entry *find_locked(struct local_directories *local, const struct directory *directory)
{
    struct entry key = {.table = directory->table, .lo = directory->range.lo};
    struct entry *entry = key.table ? RB_FIND(range_tree, &local->ranges, &key) : NULL;
    if (entry) {
        TAILQ_REMOVE(&local->by_use, entry, by_use);
        TAILQ_INSERT_HEAD(&local->by_use, entry, by_use);
    }
    return entry;
}

static void enter_locked(struct local_directories *local, struct entry *entry)
{
    (void)RB_INSERT(range_tree, &local->ranges, entry);
    (void)RB_INSERT(parent_tree, &local->parents, entry);
    TAILQ_INSERT_HEAD(&local->by_use, entry, by_use);
    local->count++;
    local->bytes += entry->bytes;
    while (local->count > LOCAL_DIRECTORIES_MAX || local->bytes > LOCAL_DIRECTORIES_MAX_BYTES)
        remove_locked(local, TAILQ_LAST(&local->by_use, entry_list));
}

int local_directories_add(struct local_directories *local, const struct directory *directory,
                          const struct directory *parent, bool is_empty)
{
    LOCKED(&local->lock);
    struct entry *entry = find_locked(local, directory);
    bool was_local = entry != NULL;
    if (was_local) {
        entry->is_empty = entry->is_empty && is_empty;
    } else {
        entry = entry_create(directory->table, directory->range.lo, parent->range.lo);
        if (entry) {
            entry->is_empty = is_empty;
            enter_locked(local, entry);
        }
    }
    if (entry)
        entry->order = *local->orders;
    return entry ? was_local : -ENOMEM;
}

bool local_directories_has(struct local_directories *local, const struct directory *directory)
{
    LOCKED(&local->lock);
    return find_locked(local, directory) != NULL;
}

bool local_directories_has_below(struct local_directories *local, const struct directory *directory)
{
    LOCKED(&local->lock);
    struct range range = directory->range;
    struct entry key = {.table = directory->table, .lo = range.lo};
    struct entry *entry = key.table ? RB_NFIND(range_tree, &local->ranges, &key) : NULL;
    if (entry && compare_ranges(entry, &key) == 0)
        entry = RB_NEXT(range_tree, &local->ranges, entry);
    return entry && strcmp(entry->table, key.table) == 0 && range_holds(range, entry->lo);
}

void local_directories_remove(struct local_directories *local, const struct directory *directory)
{
    LOCKED(&local->lock);
    struct entry *entry = find_locked(local, directory);
    if (entry)
        remove_locked(local, entry);
}

/* The greatest of the table that is not after `lo`. */
static struct entry *last_until_locked(struct local_directories *local, const char *table,
                                       struct bytes lo)
{
    struct entry key = {.table = table, .lo = lo};
    struct entry *found = NULL, *entry = RB_ROOT(&local->ranges);
    while (entry) {
        bool is_until = compare_ranges(entry, &key) <= 0;
        found = is_until ? entry : found;
        entry = is_until ? RB_RIGHT(entry, by_range) : RB_LEFT(entry, by_range);
    }
    return found && strcmp(found->table, table) == 0 ? found : NULL;
}

static size_t common_size(struct bytes a, struct bytes b)
{
    size_t n = 0;
    while (n < MIN(a.size, b.size) && a.data[n] == b.data[n])
        n++;
    return n;
}

/* A directory holds the position if its range.lo is a prefix of it. The search starts with the
 * longest candidate. One that does not hold the position shows how long the next one can be. */
void local_directories_filled(struct local_directories *local, struct address address)
{
    struct bytes rest = address.position;
    struct entry *entry;
    LOCKED(&local->lock);
    while (rest.size > 0 && (entry = last_until_locked(local, address.table, rest)) != NULL) {
        size_t common = common_size(rest, entry->lo);
        bool holds = common == entry->lo.size;
        if (holds)
            entry->is_empty = false;
        rest.size = holds && common > 0 ? common - 1 : common;
    }
}

int local_directories_settle(struct local_directories *local, const struct settlement *settlement)
{
    LOCKED(&local->lock);
    struct entry key = {.table = settlement->table, .lo = settlement->from};
    /* only a partition has an unsettled key, so there is one at most */
    struct entry *entry = RB_NFIND(range_tree, &local->ranges, &key);
    if (!entry || !settlement_is_of(settlement, (struct address){entry->table, entry->lo}))
        return 0;
    _cleanup_(buffer_finish) struct buffer lo = {.max = POSITION_MAX_BYTES};
    int r = settlement_append(settlement, entry->lo, &lo);
    struct entry *settled =
        r == 0 ? entry_create(entry->table, buffer_bytes(&lo), entry->parent_lo) : NULL;
    if (!settled)
        return -ENOMEM;
    settled->is_empty = entry->is_empty;
    settled->order = entry->order;
    remove_locked(local, entry);
    if (RB_FIND(range_tree, &local->ranges, settled))
        free(settled);
    else
        enter_locked(local, settled);
    return 0;
}

void local_directories_remove_table(struct local_directories *local, const char *table)
{
    struct entry key = {.table = table};
    struct entry *entry, *next;
    LOCKED(&local->lock);
    for (entry = RB_NFIND(range_tree, &local->ranges, &key);
         entry && strcmp(entry->table, table) == 0; entry = next) {
        next = RB_NEXT(range_tree, &local->ranges, entry);
        remove_locked(local, entry);
    }
}

static bool is_of_table(const struct page *tables, struct bytes name)
{
    size_t row = page_seek(tables, name);
    return row < page_rows(tables) && bytes_equal(page_position(tables, row), name);
}

void local_directories_keep_tables(struct local_directories *local, const struct page *tables,
                                   struct stamp requested)
{
    struct range range = page_range(tables);
    struct entry *entry, *next;
    LOCKED(&local->lock);
    for (entry = RB_MIN(range_tree, &local->ranges); entry; entry = next) {
        struct bytes name = bytes_of(entry->table);
        next = RB_NEXT(range_tree, &local->ranges, entry);
        if (entry->order < requested.order && range_holds(range, name) &&
            !is_of_table(tables, name))
            remove_locked(local, entry);
    }
}

static struct entry *next_of_level(struct local_directories *local, struct entry *key)
{
    struct entry *entry = RB_NFIND(parent_tree, &local->parents, key);
    if (entry && compare_parents(entry, key) == 0)
        entry = RB_NEXT(parent_tree, &local->parents, entry);
    bool is_here = entry && strcmp(entry->table, key->table) == 0 &&
                   bytes_equal(entry->parent_lo, key->parent_lo);
    return is_here ? entry : NULL;
}

static bool is_partition(struct bytes lo)
{
    return position_has_row(lo) && position_row_key(lo).size == 0;
}

/* `after` is not before the range. */
static struct entry *next_of_flat(struct local_directories *local, struct entry *after,
                                  struct range range)
{
    struct entry *entry = RB_NFIND(range_tree, &local->ranges, after);
    while (entry && strcmp(entry->table, after->table) == 0 && range_holds(range, entry->lo)) {
        if (is_partition(entry->lo) && compare_ranges(entry, after) > 0)
            return entry;
        entry = RB_NEXT(range_tree, &local->ranges, entry);
    }
    return NULL;
}

static struct entry *next_locked(struct local_directories *local, const struct directory *parent,
                                 struct bytes after)
{
    struct bytes lo = parent->range.lo;
    struct entry key = {.table = parent->table, .parent_lo = lo, .lo = after};
    if (parent->kind == DIRECTORY_AUTO)
        return next_of_level(local, &key);
    if (parent->kind != DIRECTORY_FLAT)
        return NULL;
    if (bytes_compare(after, lo) < 0)
        key.lo = lo;
    return next_of_flat(local, &key, parent->range);
}

bool local_directories_next(struct local_directories *local, const struct directory *parent,
                            struct bytes after, struct position *ret, bool *ret_is_empty)
{
    LOCKED(&local->lock);
    const struct entry *entry = next_locked(local, parent, after);
    if (!entry)
        return false;
    position_set(ret, entry->lo);
    *ret_is_empty = entry->is_empty;
    return true;
}
