/* SPDX-License-Identifier: MIT */
#ifndef CACHE_KNOWN_TABLE_PAGE_H
#define CACHE_KNOWN_TABLE_PAGE_H
/* Pages whose rows are tables: what the range cache holds for the account itself (table NULL). The
 * position of a row is the table's name. Its text is empty, but the page is no page of keys,
 * because a table has no more to read. Pure. */
#include "client/store/page.h"

/* A page of all tables. names: each with a NUL behind it, in any order, because the service has an
 * order of its own; a name may occur twice. 0, -ENOMEM, or -EFBIG: a page cannot hold them all. */
int table_page_of_all(struct bytes names, struct page **ret);
/* A page over one name: with the table, or without a row. 0, -ENOMEM. */
int table_page_of_one(const char *name, bool is_there, struct page **ret);

#endif
