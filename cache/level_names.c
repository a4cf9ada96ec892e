#include "cache/level_names.h"

#include <stdatomic.h>

#define NAMES_MAX_BYTES ((size_t)256 << 20)

struct item { /* of the key at `start`, up to the next one's */
    size_t start;
    bool is_prefix;
};

struct level_names {
    atomic_size_t references;
    struct buffer keys, items; /* items: struct item */
};

int level_names_create(struct level_names **ret)
{
    struct level_names *names = calloc(1, sizeof(*names));
    if (!names)
        return -ENOMEM;
    atomic_init(&names->references, 1);
    buffer_init(&names->keys, NAMES_MAX_BYTES);
    buffer_init(&names->items, NAMES_MAX_BYTES);
    *ret = names;
    return 0;
}

struct level_names *level_names_ref(struct level_names *names)
{
    atomic_fetch_add(&names->references, 1);
    return names;
}

void level_names_unref(struct level_names *names)
{
    if (!names || atomic_fetch_sub(&names->references, 1) > 1)
        return;
    buffer_finish(&names->keys);
    buffer_finish(&names->items);
    free(names);
}

int level_names_append(struct level_names *names, struct level_name name)
{
    struct item item = {.start = names->keys.size, .is_prefix = name.is_prefix};
    int r = buffer_append(&names->keys, name.key);
    if (r < 0)
        return r;
    r = buffer_append(&names->items, (struct bytes){(const char *)&item, sizeof(item)});
    if (r < 0)
        names->keys.size = item.start;
    return r;
}

size_t level_names_count(const struct level_names *names)
{
    return names->items.size / sizeof(struct item);
}

static struct item item_at(const struct level_names *names, size_t i)
{
    struct item item;
    memcpy(&item, names->items.data + i * sizeof(item), sizeof(item));
    return item;
}

struct level_name level_names_at(const struct level_names *names, size_t i)
{
    struct item item = item_at(names, i);
    bool is_last = i + 1 == level_names_count(names);
    size_t end = is_last ? names->keys.size : item_at(names, i + 1).start;
    struct bytes key = bytes_skip(buffer_bytes(&names->keys), item.start);
    return (struct level_name){item.is_prefix, bytes_first(key, end - item.start)};
}

size_t level_names_bytes(const struct level_names *names)
{
    return names->keys.size + names->items.size;
}
