/* SPDX-License-Identifier: MIT */
#include "cache/write/confirmed_drops.h"
#include "client/text/table_name.h"

#include <pthread.h>

struct confirmation {
    uint64_t process; /* 0: the place is free */
    int64_t added_ms;
    char table[TABLE_NAME_SIZE];
};

struct confirmed_drops {
    pthread_mutex_t lock;
    /* guarded by lock */
    struct confirmation all[CONFIRMED_DROPS_SIZE];
};

int confirmed_drops_create(struct confirmed_drops **ret)
{
    struct confirmed_drops *drops = calloc(1, sizeof(*drops));
    if (!drops || pthread_mutex_init(&drops->lock, NULL) != 0) {
        free(drops);
        return -ENOMEM;
    }
    *ret = drops;
    return 0;
}

void confirmed_drops_destroy(struct confirmed_drops *drops)
{
    if (!drops)
        return;
    (void)pthread_mutex_destroy(&drops->lock);
    free(drops);
}

/* Forgets the confirmation. Was there one that is still good? */
static bool take_locked(struct confirmed_drops *drops, uint64_t process, const char *table,
                        int64_t now_ms)
{
    for (size_t i = 0; i < CONFIRMED_DROPS_SIZE; i++) {
        struct confirmation *it = &drops->all[i];
        if (it->process != process || strcmp(it->table, table) != 0)
            continue;
        it->process = 0;
        return now_ms - it->added_ms < CONFIRMED_DROPS_MS;
    }
    return false;
}

/* A free place, or else the one of the oldest. */
static struct confirmation *place_locked(struct confirmed_drops *drops)
{
    struct confirmation *oldest = &drops->all[0];
    for (size_t i = 0; i < CONFIRMED_DROPS_SIZE; i++) {
        struct confirmation *it = &drops->all[i];
        if (it->process == 0)
            return it;
        if (it->added_ms < oldest->added_ms)
            oldest = it;
    }
    return oldest;
}

bool confirmed_drops_add(struct confirmed_drops *drops, uint64_t process, const char *table,
                         int64_t now_ms)
{
    if (process == 0 || strlen(table) >= TABLE_NAME_SIZE)
        return false;
    (void)pthread_mutex_lock(&drops->lock);
    (void)take_locked(drops, process, table, now_ms);
    struct confirmation *added = place_locked(drops);
    *added = (struct confirmation){.process = process, .added_ms = now_ms};
    (void)snprintf(added->table, sizeof(added->table), "%s", table);
    (void)pthread_mutex_unlock(&drops->lock);
    return true;
}

bool confirmed_drops_take(struct confirmed_drops *drops, uint64_t process, const char *table,
                          int64_t now_ms)
{
    if (process == 0)
        return false;
    (void)pthread_mutex_lock(&drops->lock);
    bool is_confirmed = take_locked(drops, process, table, now_ms);
    (void)pthread_mutex_unlock(&drops->lock);
    return is_confirmed;
}
