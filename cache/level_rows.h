#ifndef CACHE_LEVEL_ROWS_H
#define CACHE_LEVEL_ROWS_H
/* Reads the rows of a directory of partitions before its names are sought, where that costs no
 * request more: then the names are there, and so is what a walk reads next. Any thread, no lock of
 * its own; blocks for the pages that it waits for. */
#include "cache/view.h"

/* What is missed of the question's range. For one who walks here, a quarter of the cache: it visits
 * what is below next. For others where nothing of it is known, until it counts more partitions than
 * `fanout`, or one of as many rows as a page may have, or several pages more than partitions: to
 * jump from key to key would take as many requests. Never more than three quarters of the cache.
 * What ran ahead of that is left to the process's walk, if it comes to one. 0 or -errno with the
 * reason in caller->call. */
int level_rows_read(struct view *view, struct caller *caller, const struct question *question);

#endif
