/* SPDX-License-Identifier: MIT */
#include "fs/tree/long_names.h"
#include "client/base/locked.h"
#include "client/base/map.h"

/* Its key in the map is its kind and its digits. What they stand for is after that. */
struct long_name {
    struct map_item item;
    size_t size;
};

struct long_names {
    size_t max_bytes;
    pthread_mutex_t lock;
    /* guarded by lock */
    struct map map;
};

int long_names_create(size_t max_bytes, struct long_names **ret)
{
    struct long_names *names = calloc(1, sizeof(*names));
    if (!names)
        return -ENOMEM;
    (void)pthread_mutex_init(&names->lock, NULL);
    map_init(&names->map);
    names->max_bytes = max_bytes;
    *ret = names;
    return 0;
}

static void remove_oldest_locked(struct long_names *names)
{
    struct long_name *name = map_oldest(&names->map);
    map_remove(&names->map, name);
    free(name);
}

void long_names_destroy(struct long_names *names)
{
    if (!names)
        return;
    while (names->map.count > 0)
        remove_oldest_locked(names);
    (void)pthread_mutex_destroy(&names->lock);
    free(names);
}

static struct bytes key_of(const struct long_name *name)
{
    struct bytes digits = name->item.key;
    return (struct bytes){digits.data + digits.size, name->size};
}

void long_names_put(struct long_names *names, struct bytes name, enum name_kind kind,
                    struct bytes key)
{
    struct bytes digits;
    if (!names_digits(name, kind, &digits) || position_is_unsettled(key) || key.size == 0)
        return;
    LOCKED(&names->lock);
    struct map_key map_key = {{(const char *)&kind, sizeof(kind)}, digits};
    if (map_use(&names->map, map_key))
        return;
    struct long_name *made = map_create(sizeof(*made), map_key, key.size);
    if (!made)
        return;
    made->size = key.size;
    memcpy((char *)key_of(made).data, key.data, key.size);
    map_add(&names->map, made);
    while (names->map.bytes > names->max_bytes)
        remove_oldest_locked(names);
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
    const struct long_name *found =
        map_use(&names->map, (struct map_key){{(const char *)&kind, sizeof(kind)}, digits});
    if (found)
        r = buffer_append(ret_key, key_of(found));
    (void)pthread_mutex_unlock(&names->lock);
    return !found || r < 0 ? r : names_is_of(name, kind, buffer_bytes(ret_key));
}
