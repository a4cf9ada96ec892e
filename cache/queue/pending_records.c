/* SPDX-License-Identifier: MIT */
#include "cache/queue/pending_parts.h"

static int compare_keys(const struct record *a, const struct record *b)
{
    return address_compare(a->address, b->address);
}

RB_GENERATE_INTERNAL(record_tree, record, by_key, compare_keys, static __attribute__((unused)));

static struct record key_of(const char *table, struct bytes position)
{
    return (struct record){.address = {table ? table : "", position}};
}

struct record *pending_find_locked(struct pending *pending, const char *table,
                                   struct bytes position)
{
    struct record key = key_of(table, position);
    return RB_FIND(record_tree, &pending->records, &key);
}

struct record *pending_seek_locked(struct pending *pending, const char *table,
                                   struct bytes position)
{
    struct record key = key_of(table, position);
    struct record *record = RB_NFIND(record_tree, &pending->records, &key);
    return record && strcmp(record->address.table, key.address.table) == 0 ? record : NULL;
}

struct record *pending_after_locked(struct record *record)
{
    struct record *next = RB_NEXT(record_tree, NULL, record); /* RB_NEXT ignores the tree */
    return next && strcmp(next->address.table, record->address.table) == 0 ? next : NULL;
}

struct record *pending_behind_locked(struct pending *pending, struct address address)
{
    struct record key = {.address = address};
    struct record *record = RB_NFIND(record_tree, &pending->records, &key);
    bool is_it = record && address_compare(record->address, address) == 0;
    return is_it ? RB_NEXT(record_tree, NULL, record) : record;
}

struct record *pending_find_or_add_locked(struct pending *pending, const char *table,
                                          struct bytes position)
{
    struct record *record = pending_find_locked(pending, table, position);
    if (record)
        return record;
    struct record key = key_of(table, position);
    record = calloc(1, sizeof(*record) + address_size(key.address));
    if (!record)
        return NULL;
    record->address = address_copy(key.address, record->text);
    TAILQ_INIT(&record->waiters);
    (void)RB_INSERT(record_tree, &pending->records, record);
    return record;
}

void pending_free_if_unused_locked(struct pending *pending, struct record *record)
{
    if (record->state != FREE || record->mask)
        return;
    (void)RB_REMOVE(record_tree, &pending->records, record);
    free(record);
}

void watches_note_end_locked(struct pending *pending, const char *table)
{
    struct table_watch *watch;
    LIST_FOREACH(watch, &pending->watches, entry)
    if (strcmp(watch->table, table) == 0)
        watch->has_ended = true;
}

void pending_set_claimed_locked(struct pending *pending, struct record *record)
{
    struct table_watch *watch;
    record->state = CLAIMED;
    pending->claims++;
    LIST_FOREACH(watch, &pending->watches, entry)
    if (strcmp(watch->table, record->address.table) == 0)
        watch->has_changed = true;
}

void pending_pass_on_locked(struct pending *pending, struct record *record)
{
    struct waiter *next = TAILQ_FIRST(&record->waiters);
    record->state = FREE;
    if (next) {
        TAILQ_REMOVE(&record->waiters, next, entry);
        next->has_claim = true;
        pending_set_claimed_locked(pending, record);
        monitor_notify(&pending->monitor);
    }
    pending_free_if_unused_locked(pending, record);
}

void pending_release_locked(struct pending *pending, struct record *record)
{
    pending_pass_on_locked(pending, record); /* first: pending_is_changing */
    pending->claims--;
}

int pending_check_locked(struct pending *pending, struct call *call, const char *late)
{
    monitor_leave(&pending->monitor);
    int r = call_check(call, pending->clock, late);
    monitor_enter(&pending->monitor);
    return r;
}
