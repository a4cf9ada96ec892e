/* SPDX-License-Identifier: MIT */
#include "cache/write/etag_memory.h"

struct remembered {
    RB_ENTRY(remembered) by_address;
    TAILQ_ENTRY(remembered) by_use;
    struct address address;
    struct bytes etag;
    struct later_etag *later; /* NULL: `etag` is known */
    int64_t until_ms;
    size_t bytes;
    char text[]; /* table, NUL, position, ETag */
};

static int compare(const struct remembered *a, const struct remembered *b)
{
    return address_compare(a->address, b->address);
}

RB_GENERATE_INTERNAL(remembered_tree, remembered, by_address, compare,
                     static __attribute__((unused)));

void etag_memory_init(struct etag_memory *memory, size_t max_count, size_t max_bytes)
{
    *memory = (struct etag_memory){.max_count = max_count, .max_bytes = max_bytes};
    RB_INIT(&memory->by_address);
    TAILQ_INIT(&memory->by_use);
}

static void drop(struct etag_memory *memory, struct remembered *remembered)
{
    (void)RB_REMOVE(remembered_tree, &memory->by_address, remembered);
    TAILQ_REMOVE(&memory->by_use, remembered, by_use);
    memory->count--;
    memory->bytes -= remembered->bytes;
    later_etag_unref(remembered->later);
    free(remembered);
}

void etag_memory_finish(struct etag_memory *memory)
{
    for (struct remembered *first; (first = TAILQ_FIRST(&memory->by_use)) != NULL;)
        drop(memory, first);
}

static struct remembered *find(struct etag_memory *memory, struct address address)
{
    struct remembered key = {.address = address};
    return RB_FIND(remembered_tree, &memory->by_address, &key);
}

/* NULL: no memory. */
static struct remembered *create(struct address address, struct bytes etag)
{
    size_t size = address_size(address), bytes = sizeof(struct remembered) + size + etag.size;
    struct remembered *remembered = calloc(1, bytes);
    if (!remembered)
        return NULL;
    remembered->address = address_copy(address, remembered->text);
    if (etag.size > 0)
        memcpy(remembered->text + size, etag.data, etag.size);
    remembered->etag = (struct bytes){remembered->text + size, etag.size};
    remembered->bytes = bytes;
    return remembered;
}

/* later: NULL: the ETag is known. */
static void note(struct etag_memory *memory, struct address address, struct bytes etag,
                 struct later_etag *later, int64_t until_ms)
{
    etag_memory_forget(memory, address);
    struct remembered *remembered = create(address, etag);
    if (!remembered)
        return;
    remembered->later = later ? later_etag_ref(later) : NULL;
    remembered->until_ms = until_ms;
    (void)RB_INSERT(remembered_tree, &memory->by_address, remembered);
    TAILQ_INSERT_HEAD(&memory->by_use, remembered, by_use);
    memory->count++;
    memory->bytes += remembered->bytes;
    while (memory->count > memory->max_count ||
           (memory->bytes > memory->max_bytes && memory->count > 1))
        drop(memory, TAILQ_LAST(&memory->by_use, remembered_list));
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

/* What still counts; NULL: nothing. */
static struct remembered *use(struct etag_memory *memory, struct address address, int64_t now_ms)
{
    struct remembered *found = find(memory, address);
    if (!found || now_ms >= found->until_ms)
        return NULL;
    TAILQ_REMOVE(&memory->by_use, found, by_use);
    TAILQ_INSERT_HEAD(&memory->by_use, found, by_use);
    return found;
}

struct bytes etag_memory_find(struct etag_memory *memory, struct address address, int64_t now_ms)
{
    const struct remembered *found = use(memory, address, now_ms);
    if (!found)
        return (struct bytes){0};
    return found->later ? later_etag_get(found->later) : found->etag;
}

struct later_etag *etag_memory_find_later(struct etag_memory *memory, struct address address,
                                          int64_t now_ms)
{
    const struct remembered *found = use(memory, address, now_ms);
    return found ? found->later : NULL;
}

void etag_memory_forget(struct etag_memory *memory, struct address address)
{
    struct remembered *found = find(memory, address);
    if (found)
        drop(memory, found);
}
