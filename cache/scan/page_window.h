/* SPDX-License-Identifier: MIT */
#ifndef CACHE_SCAN_PAGE_WINDOW_H
#define CACHE_SCAN_PAGE_WINDOW_H
/* Page window: how many pages of a scan may wait to be taken or be in flight. The limit is in
 * bytes; a page in flight counts with the mean size of the pages so far. Pure; one thread. */
#include "client/store/page.h"

#define PAGE_WINDOW_UNBOUNDED 1e9 /* pages */

struct page_window {
    size_t limit_bytes; /* 0: unbounded */
    size_t page_rows;   /* of a full page */
    size_t reported_rows, reported_bytes, waiting_bytes;
    double taken_pages;
};

void page_window_add(struct page_window *window, const struct page *page); /* arrived, waits */
void page_window_take(struct page_window *window, const struct run *run);  /* no longer waits */
void page_window_drop(struct page_window *window, size_t bytes); /* waiting pages were dropped */

/* The size of the window in pages. */
double page_window_pages(const struct page_window *window);
/* How many more pages may be requested, besides the `in_flight` ones. The window grows slowly: at
 * first 8 pages, then 2 more for each page taken. For early estimates are poor, and a page too far
 * ahead would fill the window for a long time. */
double page_window_room(const struct page_window *window, size_t in_flight);

#endif
