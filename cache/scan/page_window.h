#ifndef CACHE_SCAN_PAGE_WINDOW_H
#define CACHE_SCAN_PAGE_WINDOW_H
/* Page window: how many pages of a scan may wait to be taken, or be on their way. It counts bytes,
 * and takes a page that was not seen yet for as heavy as those that were. Pure; one thread. */
#include "client/page.h"

#define PAGE_WINDOW_UNBOUNDED 1e9 /* pages */

struct page_window {
    size_t limit_bytes; /* 0: unbounded */
    size_t page_rows;   /* of a full page */
    size_t told_rows, told_bytes, waiting_bytes;
    double taken_pages;
};

void page_window_tell(struct page_window *window, const struct page *page);
void page_window_take(struct page_window *window, const struct run *run); /* it was handed out */
void page_window_drop(struct page_window *window, size_t bytes);

/* How far ahead of what is taken pages may be. */
double page_window_pages(const struct page_window *window);
/* Pages that may be asked for while `asked` are on their way. What waits may at first be little
 * more than what was taken: before much is known, pages far ahead would fill the window for long.
 */
double page_window_room(const struct page_window *window, size_t asked);

#endif
