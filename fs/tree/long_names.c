/* SPDX-License-Identifier: MIT */
#include "fs/tree/long_names.h"
#include "client/locked.h"

#include <bsd/sys/tree.h>
#include <pthread.h>
#include <sys/queue.h>

struct long_name { /* its key; its name is found by its digits */
    RB_ENTRY(long_name) by_digits;
    TAILQ_ENTRY(long_name) by_use;
    enum name_kind kind;
    char digits[NAME_DIGEST_CHARS];
    size_t size;
    char key[];
};

static int compare(const struct long_name *a, const struct long_name *b)
{
    int order = (a->kind > b->kind) - (a->kind < b->kind);
    return order != 0 ? order : memcmp(a->digits, b->digits, sizeof(a->digits));
}

RB_HEAD(digits_map, long_name);
TAILQ_HEAD(use_list, long_name);
RB_GENERATE_INTERNAL(digits_map, long_name, by_digits, compare, static __attribute__((unused)));

struct long_names {
    size_t max_bytes;
    pthread_mutex_t lock;
    /* guarded by lock */
    struct digits_map map;
    struct use_list by_use; /* the last used first */
    size_t bytes;
};

int long_names_create(size_t max_bytes, struct long_names **ret)
{
    struct long_names *names = calloc(1, sizeof(*names));
    if (!names)
        return -ENOMEM;
    (void)pthread_mutex_init(&names->lock, NULL);
    TAILQ_INIT(&names->by_use);
    names->max_bytes = max_bytes;
    *ret = names;
    return 0;
}

static size_t bytes_of_name(const struct long_name *name)
{
    return sizeof(*name) + name->size;
}

static void remove_locked(struct long_names *names, struct long_name *name)
{
    (void)RB_REMOVE(digits_map, &names->map, name);
    TAILQ_REMOVE(&names->by_use, name, by_use);
    names->bytes -= bytes_of_name(name);
    free(name);
}

void long_names_destroy(struct long_names *names)
{
    if (!names)
        return;
    for (struct long_name *name; (name = TAILQ_FIRST(&names->by_use)) != NULL;)
        remove_locked(names, name);
    (void)pthread_mutex_destroy(&names->lock);
    free(names);
}

/* What is known of the digits, which counts as used. NULL: nothing. */
static struct long_name *find_locked(struct long_names *names, enum name_kind kind,
                                     struct bytes digits)
{
    struct long_name probe = {.kind = kind};
    memcpy(probe.digits, digits.data, sizeof(probe.digits));
    struct long_name *name = RB_FIND(digits_map, &names->map, &probe);
    if (name) {
        TAILQ_REMOVE(&names->by_use, name, by_use);
        TAILQ_INSERT_HEAD(&names->by_use, name, by_use);
    }
    return name;
}

/* NULL: out of memory. */
static struct long_name *name_create(enum name_kind kind, struct bytes digits, struct bytes key)
{
    struct long_name *name = calloc(1, sizeof(*name) + key.size);
    if (!name)
        return NULL;
    name->kind = kind;
    name->size = key.size;
    memcpy(name->digits, digits.data, sizeof(name->digits));
    memcpy(name->key, key.data, key.size);
    return name;
}

static void enter_locked(struct long_names *names, struct long_name *name)
{
    (void)RB_INSERT(digits_map, &names->map, name);
    TAILQ_INSERT_HEAD(&names->by_use, name, by_use);
    names->bytes += bytes_of_name(name);
    while (names->bytes > names->max_bytes)
        remove_locked(names, TAILQ_LAST(&names->by_use, use_list));
}

void long_names_put(struct long_names *names, struct bytes name, enum name_kind kind,
                    struct bytes key)
{
    struct bytes digits;
    if (!names_digits(name, kind, &digits) || position_is_unsettled(key) || key.size == 0)
        return;
    LOCKED(&names->lock);
    if (!find_locked(names, kind, digits)) {
        struct long_name *made = name_create(kind, digits, key);
        if (made)
            enter_locked(names, made);
    }
}

/* The digits alone do not prove that it is the name's key. */
int long_names_find(struct long_names *names, struct bytes name, enum name_kind kind,
                    struct buffer *ret_key)
{
    struct bytes digits;
    int r = 0;
    buffer_clear(ret_key);
    if (!names_digits(name, kind, &digits))
        return 0;
    (void)pthread_mutex_lock(&names->lock);
    const struct long_name *found = find_locked(names, kind, digits);
    if (found)
        r = buffer_append(ret_key, (struct bytes){found->key, found->size});
    (void)pthread_mutex_unlock(&names->lock);
    return !found || r < 0 ? r : names_is_of(name, kind, buffer_bytes(ret_key));
}
