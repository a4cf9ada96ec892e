/* SPDX-License-Identifier: MIT */
#include "cache/scan/page_window.h"

/* Without them "single", 1,000,000, 32 slots, window of 128 pages: 1,018/51 -> 1,065/96. */
#define FIRST_PAGES 8
#define SLOW_START  2 /* more pages for each page that was taken */

void page_window_add(struct page_window *window, const struct page *page)
{
    window->reported_rows += page_rows(page);
    window->reported_bytes += page_bytes(page);
    window->waiting_bytes += page_bytes(page);
}

void page_window_take(struct page_window *window, const struct run *run)
{
    window->waiting_bytes -= page_bytes(run->page);
    window->taken_pages += (double)(run->end - run->begin) / (double)window->page_rows;
}

void page_window_drop(struct page_window *window, size_t bytes)
{
    window->waiting_bytes -= bytes;
}

/* Bytes of a full page; 0: not known yet. */
static double page_weight(const struct page_window *window)
{
    if (window->reported_rows == 0)
        return 0;
    return (double)window->reported_bytes / (double)window->reported_rows *
           (double)window->page_rows;
}

double page_window_pages(const struct page_window *window)
{
    double weight = page_weight(window);
    return window->limit_bytes == 0 || weight <= 0 ? PAGE_WINDOW_UNBOUNDED
                                                   : (double)window->limit_bytes / weight;
}

double page_window_room(const struct page_window *window, size_t in_flight)
{
    double pages = page_window_pages(window);
    if (pages >= PAGE_WINDOW_UNBOUNDED)
        return pages;
    return MIN(pages, SLOW_START * window->taken_pages + FIRST_PAGES) -
           (double)window->waiting_bytes / page_weight(window) - (double)in_flight;
}
