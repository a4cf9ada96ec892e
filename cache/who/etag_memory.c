/* SPDX-License-Identifier: MIT */
#include "cache/who/etag_memory.h"

struct remembered {
    struct map_item item; /* the ETag is after the key */
    size_t etag_size;
    struct later_etag *later; /* NULL: the ETag is known */
    int64_t until_ms;
};

void etag_memory_init(struct etag_memory *memory, size_t max_count, size_t max_bytes)
{
    map_init(&memory->map);
    memory->max_count = max_count;
    memory->max_bytes = max_bytes;
}

/* Takes NULL. */
static void drop(struct etag_memory *memory, struct remembered *remembered)
{
    if (!remembered)
        return;
    map_remove(&memory->map, remembered);
    later_etag_unref(remembered->later);
    free(remembered);
}

void etag_memory_finish(struct etag_memory *memory)
{
    while (memory->map.count > 0)
        drop(memory, map_oldest(&memory->map));
}

static struct bytes etag_of(const struct remembered *remembered)
{
    struct bytes key = remembered->item.key;
    return (struct bytes){key.data + key.size, remembered->etag_size};
}

/* later: NULL: the ETag is known. */
static void note(struct etag_memory *memory, struct address address, struct bytes etag,
                 struct later_etag *later, int64_t until_ms)
{
    etag_memory_forget(memory, address);
    struct remembered *remembered =
        map_create(sizeof(*remembered), address_key(address), etag.size);
    if (!remembered)
        return;
    remembered->etag_size = etag.size;
    if (etag.size > 0)
        memcpy((char *)etag_of(remembered).data, etag.data, etag.size);
    remembered->later = later ? later_etag_ref(later) : NULL;
    remembered->until_ms = until_ms;
    map_add(&memory->map, remembered);
    while (memory->map.count > memory->max_count ||
           (memory->map.bytes > memory->max_bytes && memory->map.count > 1))
        drop(memory, map_oldest(&memory->map));
}

void etag_memory_note(struct etag_memory *memory, struct address address, struct bytes etag,
                      int64_t until_ms)
{
    note(memory, address, etag, NULL, until_ms);
}

void etag_memory_note_later(struct etag_memory *memory, struct address address,
                            struct later_etag *later, int64_t until_ms)
{
    note(memory, address, (struct bytes){0}, later, until_ms);
}

/* What is remembered and still valid; NULL: nothing. */
static struct remembered *use(struct etag_memory *memory, struct address address, int64_t now_ms)
{
    struct remembered *found = map_use(&memory->map, address_key(address));
    return found && now_ms < found->until_ms ? found : NULL;
}

struct bytes etag_memory_find(struct etag_memory *memory, struct address address, int64_t now_ms)
{
    const struct remembered *found = use(memory, address, now_ms);
    if (!found)
        return (struct bytes){0};
    return found->later ? later_etag_get(found->later) : etag_of(found);
}

struct later_etag *etag_memory_find_later(struct etag_memory *memory, struct address address,
                                          int64_t now_ms)
{
    const struct remembered *found = use(memory, address, now_ms);
    return found ? found->later : NULL;
}

void etag_memory_forget(struct etag_memory *memory, struct address address)
{
    drop(memory, map_find(&memory->map, address_key(address)));
}
