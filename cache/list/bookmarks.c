/* SPDX-License-Identifier: MIT */
#include "cache/list/bookmarks.h"
#include "client/base/position.h"

void bookmarks_init(struct bookmarks *bookmarks, uint64_t spacing)
{
    *bookmarks = (struct bookmarks){.spacing = spacing};
}

void bookmarks_clear(struct bookmarks *bookmarks)
{
    for (size_t i = 0; i < bookmarks->n; i++)
        buffer_finish(&bookmarks->entries[i].position);
    bookmarks->n = 0;
}

/* Keeps every other bookmark. */
static void thin_out(struct bookmarks *bookmarks)
{
    size_t kept = 0;
    for (size_t i = 0; i < bookmarks->n; i++) {
        if (i % 2 == 0)
            bookmarks->entries[kept++] = bookmarks->entries[i];
        else
            buffer_finish(&bookmarks->entries[i].position);
    }
    bookmarks->n = kept;
    bookmarks->spacing *= 2;
}

void bookmarks_add(struct bookmarks *bookmarks, uint64_t cookie, struct bytes position)
{
    if (bookmarks->n > 0 &&
        cookie < bookmarks->entries[bookmarks->n - 1].cookie + bookmarks->spacing)
        return;
    if (bookmarks->n == BOOKMARKS_MAX)
        thin_out(bookmarks);
    struct bookmark bookmark = {.cookie = cookie};
    buffer_init(&bookmark.position, POSITION_MAX_BYTES);
    if (buffer_append(&bookmark.position, position) < 0) {
        buffer_finish(&bookmark.position);
        return;
    }
    bookmarks->entries[bookmarks->n++] = bookmark;
}

const struct bookmark *bookmarks_find(const struct bookmarks *bookmarks, uint64_t cookie)
{
    const struct bookmark *found = NULL;
    for (size_t i = 0; i < bookmarks->n && bookmarks->entries[i].cookie <= cookie; i++)
        found = &bookmarks->entries[i];
    return found;
}

const struct bookmark *bookmarks_find_position(const struct bookmarks *bookmarks,
                                               struct bytes position)
{
    const struct bookmark *found = NULL;
    for (size_t i = 0; i < bookmarks->n; i++) {
        const struct bookmark *next = &bookmarks->entries[i];
        if (bytes_compare(buffer_bytes(&next->position), position) > 0)
            return found;
        found = next;
    }
    return found;
}
