/* SPDX-License-Identifier: MIT */
#include "cache/list/level_names.h"

#define NAMES_MAX_BYTES ((size_t)256 << 20)

struct item { /* of the key at `start`, up to the next one's */
    size_t start;
    bool is_prefix;
};

void level_names_init(struct level_names *names)
{
    buffer_init(&names->keys, NAMES_MAX_BYTES);
    buffer_init(&names->items, NAMES_MAX_BYTES);
}

void level_names_finish(struct level_names *names)
{
    buffer_finish(&names->keys);
    buffer_finish(&names->items);
}

void level_names_clear(struct level_names *names)
{
    buffer_clear(&names->keys);
    buffer_clear(&names->items);
}

int level_names_append(struct level_names *names, struct level_name name)
{
    struct item item = {.start = names->keys.size, .is_prefix = name.is_prefix};
    size_t items_size = names->items.size;
    (void)buffer_append(&names->keys, name.key);
    (void)buffer_append(&names->items, (struct bytes){(const char *)&item, sizeof(item)});
    int r = MIN(names->keys.error, names->items.error);
    if (r == 0)
        return 0;
    names->keys.size = item.start; /* either may have been appended: it may be tried again */
    names->items.size = items_size;
    names->keys.error = names->items.error = 0;
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

size_t level_names_seek(const struct level_names *names, struct bytes key)
{
    size_t lo = 0, hi = level_names_count(names);
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (bytes_compare(level_names_at(names, middle).key, key) < 0)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}
