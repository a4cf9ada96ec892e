#ifndef CACHE_READ_TABLE_PAGE_H
#define CACHE_READ_TABLE_PAGE_H
/* Pages whose rows are tables: what the range cache keeps of the account itself. A row's position
 * is the table's name, its text is empty, and yet the page has more than keys: there is no more to
 * know. Pure. */
#include "client/page.h"

/* All tables: names with a NUL behind each, in any order (the service's is its own), also twice. 0,
 * -ENOMEM, -EFBIG: more than a page holds. */
int table_page_of_all(struct bytes names, struct page **ret);
/* What there is by this name alone: the table, or nothing. 0, -ENOMEM. */
int table_page_of_one(const char *name, bool is_there, struct page **ret);

#endif
