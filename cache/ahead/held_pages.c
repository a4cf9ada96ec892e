/* SPDX-License-Identifier: MIT */
#include "cache/ahead/held_pages.h"

struct held_page {
    TAILQ_ENTRY(held_page) link;
    struct page *page;
};

void held_pages_init(struct held_pages *held)
{
    *held = (struct held_pages){0};
    TAILQ_INIT(&held->list);
}

static void drop_first(struct held_pages *held)
{
    struct held_page *first = TAILQ_FIRST(&held->list);
    TAILQ_REMOVE(&held->list, first, link);
    held->bytes -= page_bytes(first->page);
    page_unref(first->page);
    free(first);
}

void held_pages_finish(struct held_pages *held)
{
    while (!TAILQ_EMPTY(&held->list))
        drop_first(held);
}

void held_pages_add(struct held_pages *held, struct page *page)
{
    struct held_page *last = calloc(1, sizeof(*last));
    if (!last)
        return;
    last->page = page_ref(page);
    TAILQ_INSERT_TAIL(&held->list, last, link);
    held->bytes += page_bytes(page);
}

void held_pages_pass(struct held_pages *held, struct bytes position)
{
    const struct held_page *first;
    while ((first = TAILQ_FIRST(&held->list)) &&
           bytes_compare(page_range(first->page).hi, position) <= 0)
        drop_first(held);
}

void held_pages_limit(struct held_pages *held, size_t max_bytes)
{
    while (held->bytes > max_bytes &&
           TAILQ_FIRST(&held->list) != TAILQ_LAST(&held->list, held_list))
        drop_first(held);
}

bool held_pages_have_room(const struct held_pages *held, size_t max_bytes)
{
    const struct held_page *last = TAILQ_LAST(&held->list, held_list);
    return !last || held->bytes + page_bytes(last->page) <= max_bytes;
}
