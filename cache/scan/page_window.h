/* SPDX-License-Identifier: MIT */
#ifndef CACHE_SCAN_PAGE_WINDOW_H
#define CACHE_SCAN_PAGE_WINDOW_H
/* Page window: how many pages of a scan may wait to be taken or be in flight. The limit is in
 * bytes; a page in flight counts as much as the mean page so far. Pure; one thread. */
#include "client/store/page.h"

#define PAGE_WINDOW_UNBOUNDED 1e9 /* pages */

struct page_window {
    size_t limit_bytes; /* 0: unbounded */
    size_t page_rows;   /* of a full page */
    size_t reported_rows, reported_bytes, waiting_bytes;
    double taken_pages;
};

void page_window_add(struct page_window *window, const struct page *page); /* it waits now */
void page_window_take(struct page_window *window, const struct run *run);  /* it was handed out */
void page_window_drop(struct page_window *window, size_t bytes); /* waiting pages are gone */

/* The size of the window in pages. */
double page_window_pages(const struct page_window *window);
/* How many pages may be asked for while `asked` are in flight. The window opens slowly: at first 8
 * pages, then 2 more for each page that was taken. Early estimates are poor; a page that is far
 * ahead by mistake would fill the window for long. */
double page_window_room(const struct page_window *window, size_t asked);

#endif
