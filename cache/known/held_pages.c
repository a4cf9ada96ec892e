/* SPDX-License-Identifier: MIT */
#include "cache/known/held_pages.h"

void held_pages_init(struct held_pages *held)
{
    *held = (struct held_pages){0};
    TAILQ_INIT(&held->list);
}

static void move_first(struct held_pages *held, struct held_pages *ret)
{
    struct held_page *first = TAILQ_FIRST(&held->list);
    TAILQ_REMOVE(&held->list, first, link);
    held->bytes -= page_bytes(first->page);
    held_pages_add(ret, first);
}

void held_pages_finish(struct held_pages *held)
{
    struct held_page *page;
    while ((page = TAILQ_FIRST(&held->list))) {
        TAILQ_REMOVE(&held->list, page, link);
        page_unref(page->page);
        free(page);
    }
    held->bytes = 0;
}

struct held_page *held_page_create(struct page *page)
{
    struct held_page *held = calloc(1, sizeof(*held));
    if (held)
        held->page = page_ref(page);
    return held;
}

void held_pages_add(struct held_pages *held, struct held_page *page)
{
    TAILQ_INSERT_TAIL(&held->list, page, link);
    held->bytes += page_bytes(page->page);
}

void held_pages_pass(struct held_pages *held, struct bytes position, struct held_pages *ret_passed)
{
    const struct held_page *first;
    while ((first = TAILQ_FIRST(&held->list)) &&
           bytes_compare(page_range(first->page).hi, position) <= 0)
        move_first(held, ret_passed);
}

void held_pages_limit(struct held_pages *held, size_t max_bytes, struct held_pages *ret_given)
{
    while (held->bytes > max_bytes &&
           TAILQ_FIRST(&held->list) != TAILQ_LAST(&held->list, held_list))
        move_first(held, ret_given);
}

bool held_pages_have_room(const struct held_pages *held, size_t max_bytes)
{
    const struct held_page *last = TAILQ_LAST(&held->list, held_list);
    return !last || held->bytes + page_bytes(last->page) <= max_bytes;
}
