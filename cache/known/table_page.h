/* SPDX-License-Identifier: MIT */
#ifndef CACHE_KNOWN_TABLE_PAGE_H
#define CACHE_KNOWN_TABLE_PAGE_H
/* Pages whose rows are tables, which the range cache has for the account (table NULL). The position
 * of a row is the table's name. Its text is empty. Still the page counts as one with texts: of a
 * table there is nothing more to read. Pure. */
#include "client/store/page.h"

/* A page of all tables. names: each with a NUL after it, in any order, since the service's order
 * is another one; a name may occur twice. 0, -ENOMEM, or -EFBIG: too many for a page. */
int table_page_of_all(struct bytes names, struct page **ret);
/* A page that covers one name: with one row, or without (the table does not exist). 0, -ENOMEM. */
int table_page_of_one(const char *name, bool is_there, struct page **ret);

#endif
